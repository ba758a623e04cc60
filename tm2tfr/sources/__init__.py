"""The sources: what programs are written in, each with its evaluator, its compiler, and its specification."""
