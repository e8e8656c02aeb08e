"""`versus`: two models answer the same rows, and what the second mends and breaks is told."""
