"""Many questions at once: what to run, in which order."""
