"""What a prediction is, a file for each kind of task (see `core.output`)."""
