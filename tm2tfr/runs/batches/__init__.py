"""Many inputs of one decoder in one call: run, and compared with the reference, compiled and in several threads."""
