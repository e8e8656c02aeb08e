"""`lottery`: `question` plans it, `ticket` trains a subnetwork again, `result` and `figures` tell what came of it."""
