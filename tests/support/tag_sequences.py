"""Tags, well formed and not, that entity F1 is compared on: of a seed alone, on any version of any library."""

from __future__ import annotations

from random import Random

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-creative-work", "I-creative-work")


def tag_sequences(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Gold and predicted tags of six sentences, some of them empty. What is predicted is mostly gold's, at a rate
    that differs from seed to seed; nothing keeps an I from standing where no entity began."""
    random = Random(seed)  # its random() is the same in every Python
    weights = [random.random() ** 2 for _ in TAGS]
    other = random.random()

    def drawn() -> str:
        at = random.random() * sum(weights)
        for tag, weight in zip(TAGS, weights, strict=True):
            at -= weight
            if at < 0:
                return tag
        return TAGS[0]

    gold = [[drawn() for _ in range(int(random.random() * 9))] for _ in range(6)]
    predicted = [[drawn() if random.random() < other else tag for tag in sentence] for sentence in gold]
    return gold, predicted
