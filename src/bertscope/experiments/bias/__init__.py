"""`bias`: a part of the training data is left out; `swap` is the step that exchanges words."""
