"""What the model reads: tasks, their splits and metrics, and the demo language."""
