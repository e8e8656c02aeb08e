"""What parts give on average is of what the task's output reads: candidates, masks, windows."""

from __future__ import annotations

import pytest
import torch

from bertscope.models.taps import Tap, tapped
from planted_kinds import PLANTED


class _Sums(Tap):
    def __init__(self, layers: int) -> None:
        self.mlps = [torch.zeros(()) for _ in range(layers)]
        self.real: torch.Tensor | None = None
        self.tokens = 0.0

    def on_mlp(self, layer, output):
        assert self.real is not None
        self.mlps[layer] = self.mlps[layer] + (output * self.real[..., None]).double().sum((0, 1))
        return output


@pytest.mark.parametrize("kind", ["classification", "choices", "masked", "tokens"])
def test_means_are_of_what_is_read(kind, _pocket):
    from bertscope.models.outputs.kinds import model_output

    model = PLANTED[kind].model(_pocket.tokenizer)
    task = PLANTED[kind].task(12).asked_of(model)
    asked, sums = model_output(model, task.output), _Sums(model.n_layers)
    with torch.inference_mode(), tapped(model, sums):
        for batch in asked.batches(task.validation):
            sums.real = batch.inputs["attention_mask"]
            sums.tokens += float(sums.real.sum())
            asked.run(batch)
    plain = torch.stack(sums.mlps) / sums.tokens
    torch.testing.assert_close(model.means(task.validation, task.output).mlps, plain, rtol=1e-5, atol=1e-6)
