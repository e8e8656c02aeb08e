"""`patterns`: `question` asks for the shape of every head, `reader` takes it from the maps."""
