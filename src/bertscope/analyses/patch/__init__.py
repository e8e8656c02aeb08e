"""`patch`: which activation carries the difference between two texts."""
