"""The contract of a source: the record `source.Source`, its reference, model, options, and texts for exports."""
