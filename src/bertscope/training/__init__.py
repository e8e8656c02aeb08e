"""Training encoders on tasks."""
