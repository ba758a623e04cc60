"""The language of RASP: from text to s-ops and selectors."""
