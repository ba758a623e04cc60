"""The chapter's construction, one step a file."""
