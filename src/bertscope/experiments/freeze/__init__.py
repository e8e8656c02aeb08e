"""`freeze`: `question` plans trainings with frozen parts, `movement` says how far the layers moved."""
