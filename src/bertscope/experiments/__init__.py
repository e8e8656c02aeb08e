"""Change a model, train it, measure it: one question, one file."""
