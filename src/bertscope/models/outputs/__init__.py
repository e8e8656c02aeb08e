"""What a model gives for each kind of output, a file for each (see `models/outputs/base.py`)."""
