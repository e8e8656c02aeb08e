"""`contrast`: `question` plans the contrastive trainings, `result` and `figures` tell what they changed."""
