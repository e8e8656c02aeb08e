"""Rows of a JSONL file, with links between words, between characters, and between two texts."""

from __future__ import annotations

WORDS = {"words": ["Anna", "gave", "it", "away"], "links": [{"name": "Donor", "source": [0], "target": [3, 1]}]}
TEXT = {
    "id": "mine",
    "text": "Anna gave, it away",
    "links": [{"name": "Theme", "source": [10, 13], "target": [6, 8], "frame": "Giving", "core": False}],
}
PAIR = {
    "text": "Anna left.", "text_pair": "She was tired.", "words": ["Anna", "left", ".", "She", "was", "tired", "."],
    "first_words": 3, "heads": [1, -1, 1, 5, 5, -1, 5], "gender": ["f", "", "", "f", "", "", ""],
    "answers": [[4, 13]], "label": "why",
}  # fmt: skip
