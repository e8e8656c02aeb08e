"""Models that add up a number of each word, and texts for them."""

from __future__ import annotations

import numpy as np
import torch

from bertscope.core.examples import Examples
from bertscope.models.outputs.classifier import OneLabel


class Bag(OneLabel):
    """A model that adds up a number of each word: what it says is linear in its words."""

    def run(self, batch):
        read = self.encoder.model.get_input_embeddings()(batch.inputs["input_ids"])[..., 0]
        total = (read * batch.inputs["attention_mask"]).sum(1)
        return torch.stack([-total / 2, total / 2], 1)


class OpenBag(Bag):
    """The same, with what is added up in the place of the probability."""

    def probability(self, raw, batch, targets):
        return raw[torch.from_numpy(targets.example), torch.from_numpy(targets.label)] * 2


def bag(tiny, numbers: dict[str, float], kind=Bag):
    weight = tiny.model.get_input_embeddings().weight
    with torch.no_grad():
        weight.zero_()
        for word, number in numbers.items():
            weight[tiny.tokenizer.convert_tokens_to_ids(word), 0] = number
    return kind(tiny)


def fillers(n: int, least: int = 4, most: int = 16, seed: int = 0) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    words = np.array(["house", "was", "never", "by", "a", "long", "road", "said", "it", "him"])
    return [list(generator.choice(words, generator.integers(least, most))) for _ in range(n)]


def examples(texts: list[list[str]]) -> Examples:
    return Examples(tuple(map(str, range(len(texts)))), tuple(map(" ".join, texts)))


def with_word(word: str, n: int) -> Examples:
    generator = np.random.default_rng(1)
    made = [[*text[: (at := generator.integers(len(text)))], word, *text[at:]] for text in fillers(n)]
    return examples(made)
