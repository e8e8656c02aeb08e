"""`masked-words`: how well a pretrained model guesses words that it isn't shown."""
