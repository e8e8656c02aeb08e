"""The scan of heads: predictions with each head switched off in turn, by replay and by running everything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from benchmarks.options import BATCH, Options, sentences
from benchmarks.plain import Padding, batches, classifier, logits, plain_model
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models.replay import predict_without

PADDED, DYNAMIC, OURS = "mask and rerun, padded to 128", "mask and rerun, dynamic padding", "bertscope (replay)"


def run(options: Options) -> Report:
    data = sentences(options, "dev.tsv", options.size(872, 6))
    encoder, model = classifier(options.device), plain_model(options)
    heads = spread(encoder.n_layers, encoder.n_heads, options.size(options.heads, 1))

    def rerun(padding: Padding) -> Callable[[Examples], Work]:
        def scan(examples: Examples) -> np.ndarray:
            inputs = batches(encoder.tokenizer, examples.text, padding, options.device)
            outputs = []
            for head in heads:
                with _masked(model, head):
                    outputs.append(logits(model, inputs))
            return np.stack(outputs)

        return lambda examples: lambda: scan(examples)

    variants = [
        Variant(PADDED, rerun("max_length")),
        Variant(DYNAMIC, rerun("longest")),
        Variant(OURS, lambda examples: lambda: predict_without(encoder, examples, [[head] for head in heads]).logits),
    ]
    every = encoder.n_layers * encoder.n_heads
    report = compare(
        f"the scan of {len(heads)} of {every} heads, pocket, zeroed; transformers in file order, {BATCH} at a time",
        variants, data, options, repeats=3, passes=len(heads),
        claims=[Claim(OURS, DYNAMIC, 3), Claim(OURS, PADDED, 9)],
    )  # fmt: skip
    if len(heads) < every:
        report.notes.append(
            f"every variant scans the same {len(heads)} heads, {len(heads) // encoder.n_layers} in each layer; over "
            f"all {every} (--heads {encoder.n_heads}) replay gains a little more: its full pass serves more heads"
        )
    return report


def spread(n_layers: int, n_heads: int, per_layer: int) -> list[Unit]:
    """The same number of heads in every layer, since what replay saves depends on the layer."""
    per_layer = min(per_layer, n_heads)
    return [
        Unit("head", layer, 1 + (layer + place * n_heads // per_layer) % n_heads)
        for layer in range(1, n_layers + 1)
        for place in range(per_layer)
    ]


@contextmanager
def _masked(model: Any, head: Unit) -> Iterator[None]:
    """Zero a head's slice of what its layer's output projection reads."""
    width = model.config.hidden_size // model.config.num_attention_heads
    at = slice(head.index * width, (head.index + 1) * width)
    factor = torch.ones(model.config.hidden_size, device=model.device)
    factor[at] = 0
    dense = model.base_model.encoder.layer[head.layer_index].attention.output.dense
    hook = dense.register_forward_pre_hook(lambda module, args: (args[0] * factor,))
    try:
        yield
    finally:
        hook.remove()
