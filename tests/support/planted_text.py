"""Plain text of a language that can be learnt in seconds: all of a document's words are one topic's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TOPICS = [(f"ba{one}", f"ku{one}") for one in "bcdfghjklmnp"]


def write_text(path: Path, *, documents: int = 150, on_topic: bool = True, seed: int = 0) -> Path:
    """Documents of ten sentences of six words, each of them either word of the document's topic; or, where they
    aren't `on_topic`, either word of any: nothing tells what it is."""
    generator = np.random.default_rng(seed)
    with path.open("w") as file:
        for number in range(documents):
            topics = np.full((10, 6), generator.integers(len(TOPICS)))
            if not on_topic:
                topics = generator.integers(len(TOPICS), size=(10, 6))
            file.write(f"{number}.\n")
            for sentence in topics:
                words = [TOPICS[topic][generator.integers(2)] for topic in sentence]
                file.write(" ".join(words) + ".\n")
            file.write("\n")
    return path
