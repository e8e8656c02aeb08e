"""Pseudo-log-likelihoods of minimal pairs, beside a plain loop that runs one text at a time."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from benchmarks.options import Options, sentences
from benchmarks.patching import pairs_of
from benchmarks.side_by_side import Report, Variant, compare
from bertscope.analyses.minimal_pairs.question import minimal_pairs
from bertscope.core.examples import Examples
from bertscope.models.load import load

LOOP, OURS = "one text at a time, its masked copies together", "bertscope"


def run(options: Options) -> Report:
    encoder = load("pocket", device=options.device)
    model = copy.deepcopy(encoder.model).eval()
    data = pairs_of(sentences(options, "dev.tsv", options.size(872, 12)), encoder.tokenizer, options)

    def loop(examples: Examples) -> np.ndarray:
        assert examples.pair is not None
        sides = (examples.text, examples.pair)
        found = np.array([[plainly(model, encoder.tokenizer, text) for text in side] for side in sides])
        return found / _words(examples)

    def ours(examples: Examples) -> np.ndarray:
        assert examples.pair is not None
        pairs = list(zip(examples.text, examples.pair, strict=True))
        found = minimal_pairs(encoder, pairs, rows=len(pairs)).tables["pairs"][["good", "bad"]].to_numpy().T
        return found / _words(examples)

    return compare(
        "pseudo-log-likelihoods (PLL-word-l2r) of both texts of each pair, pocket; tokenising included",
        [
            Variant(LOOP, lambda examples: lambda: loop(examples)),
            Variant(OURS, lambda examples: lambda: ours(examples)),
        ],
        data, options, repeats=3, passes=2,
        notes=["compared are the values by word; bertscope's accuracies are tested in its time, too"],
    )  # fmt: skip


def _words(examples: Examples) -> np.ndarray:
    return np.array([len(text.split()) for text in examples.text])


@torch.inference_mode()
def plainly(model: Any, tokenizer: Any, text: str) -> float:
    """The sum over pieces of log p, each masked with the later pieces of its word."""
    inputs = tokenizer(text, return_tensors="pt")
    ids, words = inputs["input_ids"][0], inputs.word_ids(0)
    places = [place for place, word in enumerate(words) if word is not None]
    masked = ids.repeat(len(places), 1)
    for row, place in zip(masked, places, strict=True):
        later = [at for at in places if at >= place and words[at] == words[place]]
        row[later] = tokenizer.mask_token_id
    copies = {name: each.repeat(len(places), 1) for name, each in inputs.items()} | {"input_ids": masked}
    logits = model(**{name: each.to(model.device) for name, each in copies.items()}).prediction_logits
    at = torch.arange(len(places)), torch.tensor(places)
    of_pieces = logits[at].log_softmax(-1)
    return float(of_pieces[torch.arange(len(places)), ids[places].to(model.device)].double().sum())
