"""`change`: `question` compares two checkpoints' attention by what `reader` takes from each map."""
