"""RASP programs: the language of Weiss, Goldberg and Yahav (2021), "Thinking Like Transformers"."""
