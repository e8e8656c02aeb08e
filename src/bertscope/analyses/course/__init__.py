"""`course`: the answers to a question along the checkpoints of a training, as lines over its steps."""
