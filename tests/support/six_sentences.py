"""Six texts that many tests read."""

# Lengths differ on purpose: every batch of these has padding.
SENTENCES = (
    "the food was good .",
    "she never said that the long road to the old house by the river was closed in winter .",
    "no .",
    "although the room was small , the people who lived there were kind and the view was wonderful .",
    "he gave the book to his mother before the train left .",
    "it rained .",
)
