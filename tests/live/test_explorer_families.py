"""In every family: predictions and maps with parts off or exchanged, computed from the first layer that changes on,
are those of the whole model."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.examples import Examples
from bertscope.live.explorer import Explorer
from bertscope.live.messages import Change, LookAt, Reading
from bertscope.models.load import load
from device import DEVICE
from explored import another, is_untouched, plain_maps, said, unpacked, with_layers_of
from families import MARKED, tiny_model

TEXT = "the old man by the river was never seen again"
OFF = (["head:1.2"], ["head:2.1", "mlp:3"], ["layer:2"], ["heads:3"], ["mlp:1", "head:3.4"], ["layer:3"])


@pytest.fixture(scope="module", params=MARKED)
def pair(request, _pocket):
    tuned = load(tiny_model(request.param).to(DEVICE), tokenizer=_pocket.tokenizer)
    base = another(tuned)
    return tuned, base, Explorer.open(tuned, base)


def shares(encoder, off=(), mode="zero"):
    logits = said(encoder, Examples(("1",), (TEXT,)), None, list(off), mode, None).logits[0].astype(float)
    return np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()


def told(encoder, prediction):
    by_label = {one.label: one.p for one in prediction.shares}
    return [by_label[label] for label in encoder.labels]


@pytest.mark.parametrize("off", OFF, ids=" ".join)
def test_parts_off(pair, off):
    tuned, _, explorer = pair
    seen = explorer.look(LookAt(Reading(TEXT), [Change(off)])).seen[0]
    np.testing.assert_allclose(told(tuned, seen.after), shares(tuned, off), atol=1e-5)
    np.testing.assert_allclose(told(tuned, seen.before), shares(tuned), atol=1e-5)
    assert np.abs(shares(tuned, off) - shares(tuned)).max() > 1e-4


@pytest.mark.parametrize("off", OFF, ids=" ".join)
def test_maps_with_parts_off(pair, off):
    tuned, _, explorer = pair
    asked = LookAt(Reading(TEXT), [Change(off)])
    whole = plain_maps(tuned, Examples(("1",), (TEXT,)), off)
    for found, wanted in zip(explorer.maps(asked).maps, whole, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    seen = explorer.look(asked).seen[0]
    first = min(int(part.partition(":")[2][0]) for part in off)
    assert seen.maps.first == first and len(seen.maps.patterns) == tuned.n_layers - first + 1
    packed = unpacked(seen.maps, sum(tuned.head_counts[first - 1 :]), len(seen.tokens))
    np.testing.assert_allclose(packed, np.concatenate(whole[first - 1 :]), atol=seen.maps.step / 2 + 1e-5)
    before = plain_maps(tuned, Examples(("1",), (TEXT,)), [])
    assert all(np.abs(one - two).max() < 1e-6 for one, two in zip(before[:first], whole[:first], strict=True))


def test_uniform_heads(pair):
    tuned, _, explorer = pair
    if "uniform" not in explorer.about().modes:
        pytest.skip("its values are rotated")
    seen = explorer.look(LookAt(Reading(TEXT), [Change(["head:2.2"], "uniform")])).seen[0]
    np.testing.assert_allclose(told(tuned, seen.after), shares(tuned, ["head:2.2"], "uniform"), atol=1e-5)


def test_layers_of_the_other(pair):
    tuned, base, explorer = pair
    if tuned.shares_blocks:
        assert "one block" in explorer.about().graft
        return
    assert explorer.about().graft == ""
    for graft, layers in ((["layer:2"], [1]), (["layer:1", "layer:3"], [0, 2])):
        change = Change(["head:3.1"], graft=graft)
        seen = explorer.look(LookAt(Reading(TEXT), [change, change]))
        for side, (own, lent) in zip(seen.seen, ((tuned, base), (base, tuned)), strict=True):
            mixed = with_layers_of(own, lent, layers)
            np.testing.assert_allclose(told(own, side.after), shares(mixed, ["head:3.1"]), atol=1e-5)
        maps = plain_maps(with_layers_of(tuned, base, layers), Examples(("1",), (TEXT,)), ["head:3.1"])
        for found, wanted in zip(explorer.maps(LookAt(Reading(TEXT), [change])).maps, maps, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_model_is_left_as_it_was(pair):
    tuned, base, explorer = pair
    explorer.look(LookAt(Reading(TEXT), [Change(["head:1.1"])] * 2))
    assert is_untouched(tuned) and is_untouched(base)
