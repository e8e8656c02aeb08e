"""No pass is run twice: what was read is kept, and a change costs the layers above it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.live.explorer import Explorer
from bertscope.live.messages import Change, Compare, Explain, LookAt, Patch, Reading
from bertscope.live.passes import Passes
from explored import another, is_untouched

TEXT = "the old man by the river was never seen again"


@pytest.fixture
def explorer(tiny):
    return Explorer.open(tiny, another(tiny))


def counted(encoder):
    """How often each layer's MLP is computed."""
    counts = [0] * encoder.n_layers

    def count(at):
        def hook(*_):
            counts[at] += 1

        return hook

    for at, block in enumerate(encoder.layers):
        encoder.parts(block)[3].register_forward_hook(count(at))
    return counts


def test_a_change_costs_the_layers_above_it(explorer):
    counts = counted(explorer._sides[0].encoder)
    explorer.look(LookAt(Reading(TEXT)))
    assert counts == [1, 1, 1]
    explorer.look(LookAt(Reading(TEXT), [Change(["head:3.1"])]))
    assert counts == [1, 1, 2]
    explorer.look(LookAt(Reading(TEXT), [Change(["mlp:2"])]))
    assert counts == [1, 2, 3]
    explorer.look(LookAt(Reading(TEXT), [Change(graft=["layer:3"])]))
    assert counts == [1, 2, 4]


def test_what_was_asked_is_answered_from_what_is_kept(explorer):
    asked = LookAt(Reading(TEXT), [Change(["head:2.1", "mlp:3"]), Change(["layer:2"])])
    first = explorer.look(asked)
    assert explorer._passes.runs == 4
    same = [Change(["mlp:3", "head:2.1", "mlp:3"]), Change(["layer:2"])]
    again = explorer.look(LookAt(Reading(TEXT), same))
    assert explorer._passes.runs == 4 and replace(again, milliseconds=0) == replace(first, milliseconds=0)
    explorer.compare(Compare([Reading(TEXT)], asked.changes))
    explorer.look(LookAt(Reading(TEXT)))
    assert explorer._passes.runs == 4
    explorer.look(LookAt(Reading(TEXT), [Change(["head:2.1"], "uniform")]))
    assert explorer._passes.runs == 5


def test_explanations_and_patches_are_kept(explorer, monkeypatch):
    counts = counted(explorer._sides[0].encoder)
    asked = Explain(Reading(TEXT), [Change(["head:2.1"])], "gradient")
    first = explorer.explain(asked)
    before = list(counts)
    assert explorer.explain(asked) is first and counts == before
    assert explorer.explain(replace(asked, changes=[Change(["head:2.2"])])) != first
    assert explorer.explain(replace(asked, method="leave_out")) != first


def test_maps_that_nobody_wanted_are_computed_when_somebody_does(explorer):
    change = [Change(["head:2.1"])]
    assert explorer.look(LookAt(Reading(TEXT), change, maps=False)).seen[0].maps is None
    found = explorer.look(LookAt(Reading(TEXT), change))
    assert found.seen[0].maps.first == 2 and len(found.change) == 3


def test_what_is_kept_has_a_bound(tiny, monkeypatch):
    explorer = Explorer.open(tiny)
    explorer._passes = Passes(explorer._sides, explorer._limits, room=300_000)
    expected = {}
    for number in range(12):
        for part in ("head:1.1", "mlp:2"):
            asked = LookAt(Reading(f"{TEXT} {'and so on ' * number}"), [Change([part])])
            expected[number, part] = asked, explorer.look(asked)
            kept = explorer._passes.kept
            assert len(kept) == 1 or sum(one.size for one in kept._held.values()) == kept.total <= 300_000
    assert 1 < len(explorer._passes.kept) < 20
    for asked, found in expected.values():  # whatever was dropped is computed again
        assert replace(explorer.look(asked), milliseconds=0) == replace(found, milliseconds=0)


def test_one_text_of_many_rows_is_not_anothers(explorer):
    """The same switches on other texts, in turn, as several clients would ask."""
    texts = [TEXT, "a good house", "never seen by him", TEXT + " ."]
    fresh = [Explorer.open(side.encoder) for side in explorer._sides[:1]]
    for text in texts * 2:
        for off in (["head:1.1"], ["head:2.2", "head:1.1"], []):
            found = explorer.look(LookAt(Reading(text), [Change(off)])).seen[0].after
            alone = Explorer.open(fresh[0]._sides[0].encoder).look(LookAt(Reading(text), [Change(off)])).seen[0].after
            assert found.p == pytest.approx(alone.p, abs=1e-6) and found.said == alone.said


class Broken(RuntimeError):
    pass


@pytest.mark.parametrize("where", [0, 2])
def test_a_model_is_as_it_was_after_whatever_breaks(explorer, where):
    one, other = (side.encoder for side in explorer._sides)
    before = [encoder.fingerprint for encoder in (one, other)]
    reading = Reading(TEXT)
    wanted = explorer.look(LookAt(reading, [Change(["head:1.3"])])).seen[0].after
    hook = one.layers[where].register_forward_hook(_break)
    change = [Change(["head:1.1"], graft=["layer:1", "head:2.2"])]
    for ask in (
        lambda: explorer.look(LookAt(reading, change)),
        lambda: explorer.look(LookAt(Reading("something else"), change)),
        lambda: explorer.explain(Explain(reading, change)),
        lambda: explorer.patch(Patch(reading, Reading(TEXT.replace("old", "good")))),
    ):
        with pytest.raises((Broken, UserError)):
            ask()
    hook.remove()
    assert is_untouched(one) and is_untouched(other)
    assert [encoder.fingerprint for encoder in (one, other)] == before
    assert torch.is_grad_enabled() and all(each.requires_grad for each in one.model.parameters())
    assert explorer.look(LookAt(reading, [Change(["head:1.3"])])).seen[0].after == wanted
    assert explorer.look(LookAt(reading, change)).seen[0].after.p is not None


def _break(*_):
    raise Broken
