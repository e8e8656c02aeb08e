"""Measure a model as it is: one question, one file."""
