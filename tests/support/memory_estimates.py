"""What a training on a GPU is said to take before it begins, beside what it then takes. Run this on one."""

from __future__ import annotations

import gc
import sys

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.load import load
from bertscope.training import loop
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.memory import still_to_take
from bertscope.training.objective import Labelled
from pocket_facts import PIECES

SIZES = ((4, 4, 128), (12, 12, 192), (6, 12, 384), (12, 12, 768))


def task(words: int, rows: int = 640) -> Task:
    """Texts of all lengths up to so many words."""
    generator = np.random.default_rng(0)
    vocabulary = np.array(["good", "bad", "old", "house", "was", "never", "by", "a", "long", "road"])
    text = tuple(" ".join(generator.choice(vocabulary, generator.integers(2, words))) for _ in range(rows))
    made = Examples(tuple(map(str, range(rows))), text, label=np.arange(rows) % 2)
    few = made.take(range(16))
    return Task("lengths", "classification", ("no", "yes"), made, few, few, "accuracy")


def measured(layers: int, heads: int, units: int, words: int) -> tuple[int, int]:
    """Bytes: estimated, and taken by the allocator."""
    config = BertConfig(
        vocab_size=PIECES, hidden_size=units, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * units, max_position_embeddings=512,
    )  # fmt: skip
    model = BertForSequenceClassification(config).to("cuda")
    encoder = load(model, tokenizer=load("pocket", device="cpu").tokenizer)
    asked = task(words)
    objective = Labelled(encoder, asked)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    settings = FinetuneConfig(epochs=2, batch_size=32).settled(units, len(asked.train))
    estimate = still_to_take(
        encoder, list(model.parameters()), 32, int(objective.lengths.max()), keeps_best=settings.keep == "best"
    )
    loop.train(encoder, objective, settings, out=None, resume=False)
    return estimate, torch.cuda.max_memory_reserved() - before


if __name__ == "__main__":
    for words in map(int, sys.argv[1:] or ("30", "120")):
        for size in SIZES:
            estimate, taken = measured(*size, words)
            print(
                f"{size} to {words} words: said {estimate / 2**20:,.0f} MB, taken {taken / 2**20:,.0f} MB", flush=True
            )
