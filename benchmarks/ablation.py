"""The scan of heads: predictions with each head switched off in turn, by replay and by running everything again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from benchmarks.options import BATCH, Options, sentences
from benchmarks.plain import Padding, batches, classifier, logits, plain_model
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference, now
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models.judge import predict_without

PADDED, DYNAMIC, OURS = "mask and rerun, padded to 128", "mask and rerun, dynamic padding", "bertscope (replay)"


def run(options: Options) -> Report:
    data = sentences(options, "dev.tsv", options.size(872, 2))
    encoder, model = classifier(options.device), plain_model(options)
    every = spread(encoder.n_layers, encoder.n_heads, options.size(encoder.n_heads, 1))
    rerun = spread(encoder.n_layers, encoder.n_heads, options.size(options.heads, 1))

    def scan(inputs: Any) -> np.ndarray:
        outputs = []
        for head in rerun:
            with _masked(model, head):
                outputs.append(logits(model, inputs))
        return np.stack(outputs)

    def mask_and_rerun(padding: Padding) -> Callable[[Examples], Work]:
        def seconds(examples: Examples) -> float:
            started = now(options.device)
            inputs = batches(encoder.tokenizer, examples.text, padding, options.device)
            tokenised = now(options.device)
            scan(inputs)
            return tokenised - started + (now(options.device) - tokenised) * len(every) / len(rerun)

        return lambda examples: lambda: seconds(examples)

    def replay(heads: list[Unit], examples: Examples) -> np.ndarray:
        return predict_without(encoder, examples, [[head] for head in heads]).logits

    some = data.examples.take(range(min(2 * BATCH, len(data))))
    agreement = difference(
        [scan(batches(encoder.tokenizer, some.text, "max_length", options.device)), replay(rerun, some)]
    )
    variants = [
        Variant(PADDED, mask_and_rerun("max_length")),
        Variant(DYNAMIC, mask_and_rerun("longest")),
        Variant(OURS, lambda examples: lambda: replay(every, examples)),
    ]
    report = compare(
        f"the scan of {len(every)} heads, pocket, zeroed; transformers in file order, {BATCH} at a time",
        variants, data, options, repeats=2, passes=len(every), agreement=agreement,
        claims=[Claim(OURS, DYNAMIC, 3), Claim(OURS, PADDED, 9)],
    )  # fmt: skip
    if len(rerun) < len(every):
        report.notes.append(
            f"running again costs the same for every head: {len(rerun)} heads, spread over the layers, were run, and "
            f"their seconds taken {len(every) / len(rerun):g} times; replay scanned all {len(every)}"
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
