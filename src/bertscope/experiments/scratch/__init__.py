"""`scratch`: `question` plans the arms, `untuned` is the one without training, `result` compares them."""
