"""One decoder for every machine, which is in its prompt: a construction beside the chapter's that shares its steps."""
