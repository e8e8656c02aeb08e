"""Time as it is planted: what a model takes follows from its shape."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from bertscope.experiments import comparison
from bertscope.experiments.shrink import costs, reaching
from bertscope.experiments.shrink.costs import Cost
from bertscope.models.latency import Times, in_torch


def planted_clock(monkeypatch: Any) -> SimpleNamespace:
    """Have `shrink` read this clock. Uneven models may take longer, which no fit to even ones knows.

    It remembers how many texts each timing was of, and whether a model was timed in training. What an ONNX file
    takes is said by `onnx`, by its key, in milliseconds; otherwise 1.
    """
    shape = Cost("ms", 1.0, 0.5, 0.25, 0.02)
    planted = SimpleNamespace(uneven=1.0, sizes=[], training=False, onnx={})

    def time_of(encoder):
        even = len(set(encoder.head_counts)) == len(set(encoder.neuron_counts)) == 1
        return shape.of(encoder) * (1.0 if even else planted.uneven)

    def run(encoder, output=None):
        really = in_torch(encoder, output)

        def call(inputs):
            really(inputs)

        call.encoder = encoder
        return call

    def timed(variants, batches, **how):
        planted.sizes.append(len(batches[0]["input_ids"]))
        taken = []
        for name, one in variants.items():
            if name.endswith(("_onnx", "_int8")):
                taken.append(planted.onnx.get(name, 1))
            else:
                planted.training |= one.encoder.model.training
                taken.append(time_of(one.encoder))
        return Times(tuple(variants), np.tile(np.array(taken, float)[:, None, None] / 1e3, (1, 7, len(batches))))

    for module in (costs, reaching, comparison):
        monkeypatch.setattr(module, "in_torch", run)
        monkeypatch.setattr(module, "time_in_turn", timed)
    return planted
