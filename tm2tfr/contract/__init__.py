"""What a source brings: the record `source.Source`, its reference, its model, its options, what it says of exports."""
