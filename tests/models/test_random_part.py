"""The random part in a head's place: of the head's rank and removed norm, and none of its directions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.units import Unit
from bertscope.models.judge import predict_without
from bertscope.models.random_part import RandomPart, _subspaces, random_part
from bertscope.models.taps import Tap, tapped
from random_parts import outputs_without_random_parts

HEADS = [Unit("head", layer, number) for layer in (1, 3) for number in (1, 4)]


class _Attention(Tap):
    """What each layer's attention gives, in one forward pass after the other."""

    def __init__(self) -> None:
        self.seen: list[torch.Tensor] = []

    def on_attention(self, layer: int, output: torch.Tensor) -> torch.Tensor:
        if layer == 1:
            self.seen.append(output)
        return output


@pytest.mark.parametrize("mode", ["zero", "uniform", "mean"])
def test_it_has_the_rank_and_at_each_token_the_norm_of_what_the_head_takes_out(tiny, texts, mode):
    head, seen = Unit("head", 2, 3), _Attention()
    subspace = _subspaces(tiny, 1, 1, 0)[0]
    inputs = tiny.tokenizer(list(texts.text[:4]), padding=True, return_tensors="pt").to(tiny.device)
    real = inputs["attention_mask"].bool()
    reference = tiny.means(texts) if mode == "mean" else None
    with torch.inference_mode(), tiny.gates(mode=mode, reference=reference) as gates:
        part = RandomPart(tiny, gates)
        with tapped(tiny, part), tapped(tiny, seen):
            tiny.model(**inputs)
            gates.switch_off(head)
            tiny.model(**inputs)
            gates.all_on()
            with part.off(head, subspace):
                tiny.model(**inputs)
            tiny.model(**inputs)
    plain, without_head, without_part, again = (each[real].double() for each in seen.seen)
    assert torch.equal(plain, again), "after the block the part is back"
    by_head, by_part = without_head - plain, without_part - plain
    assert by_head.norm(dim=-1).min() > 1e-4
    torch.testing.assert_close(by_part.norm(dim=-1), by_head.norm(dim=-1), rtol=2e-3, atol=1e-6)
    assert torch.linalg.matrix_rank(by_part, rtol=1e-4) == tiny.head_size == subspace.shape[1]
    basis = subspace.double()
    torch.testing.assert_close(by_part @ basis @ basis.T, by_part, rtol=0, atol=1e-5)
    assert (by_head @ basis @ basis.T - by_head).norm() > 0.5 * by_head.norm(), "the head has directions of its own"


def test_worked_out_by_hand():
    """Two heads of one dimension in three; the subspace is the first axis, where the heads say 3 together."""
    gone = torch.tensor([[[[1.0], [2.0]]]])
    projection = torch.tensor([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    axis = torch.tensor([[1.0], [0.0], [0.0]])
    assert random_part(gone, projection, 0, axis).tolist() == [[[1.0, 0.0, 0.0]]]  # as long as (1, 0, 0)
    found = random_part(gone, projection, 1, axis)[0, 0]  # as long as (2, 4, 0)
    np.testing.assert_allclose(found, [20**0.5, 0, 0], rtol=1e-6)
    assert random_part(gone * 0, projection, 0, axis).tolist() == [[[0.0, 0.0, 0.0]]]


def test_replay_equals_running_the_whole_model_and_the_model_stays_as_it_was(tiny, texts):
    plain = tiny.predict(texts).logits
    fast, slow = (
        outputs_without_random_parts(tiny, texts, HEADS, 2, "uniform", replay).reshape(4, 2, len(texts), 2)
        for replay in (True, False)
    )
    assert fast.shape == (4, 2, len(texts), 2)
    np.testing.assert_allclose(fast, slow, atol=1e-5)
    np.testing.assert_array_equal(tiny.predict(texts).logits, plain)
    off = predict_without(tiny, texts, [[head] for head in HEADS], mode="uniform").logits
    for other in (plain, off[:, None], fast[:, ::-1]):
        assert np.abs(fast - other).max((2, 3)).min() > 1e-5, "it is neither nothing, nor the head, nor its sibling"


def test_draws_are_orthonormal_in_no_preferred_direction_and_repeat(tiny):
    drawn = _subspaces(tiny, 0, 400, 0).double()
    square = drawn.mT @ drawn
    torch.testing.assert_close(square, torch.eye(tiny.head_size).expand_as(square).to(square), atol=1e-5, rtol=0)
    hidden = drawn.shape[1]
    mean = (drawn @ drawn.mT).mean(0)  # of a random projection: rank / hidden times the identity
    torch.testing.assert_close(mean, (torch.eye(hidden) * tiny.head_size / hidden).to(mean), atol=0.06, rtol=0)
    assert torch.equal(_subspaces(tiny, 0, 3, 0), _subspaces(tiny, 0, 3, 0))
    assert not torch.equal(_subspaces(tiny, 1, 3, 0), _subspaces(tiny, 0, 3, 0))
