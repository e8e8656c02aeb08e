"""`contrast`: contrastive trainings, and what they changed."""
