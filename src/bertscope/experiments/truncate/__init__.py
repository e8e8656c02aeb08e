"""`truncate`: `question` takes layers off the top, `shapes` says what is left, `result` and `figures` compare."""
