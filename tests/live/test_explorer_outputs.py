"""What an explorer says of a reading with parts changed is what the library says, whatever kind of output."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.attributions import Wanted
from bertscope.core.examples import Examples
from bertscope.data.outputs.classes import log_shares
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskRows, Change, Compare, LookAt, Prediction, Reading
from bertscope.models.outputs.kinds import model_output
from explored import another, numbers, said, with_layers_of
from planted_kinds import PLANTED

KINDS = [kind for kind in PLANTED if kind != "masked"]
OFF = ["head:1.2", "mlp:2"]


@pytest.fixture(scope="module", params=KINDS)
def planted(request, _pocket):
    """A model, one with other weights, their task, and an explorer of both."""
    model, task = PLANTED[request.param].model(_pocket.tokenizer), PLANTED[request.param].task(16)
    other = another(model, 0.02)
    return model, other, task.asked_of(model), Explorer.open(model, other, task)


def row_of(explorer: Explorer, task, at: int) -> tuple[Reading, Examples]:
    reading = explorer.rows(AskRows(order="file", first=at, count=1)).rows[0].reading
    return reading, task.test.take([at])


def told_by_library(encoder, task, examples: Examples, off: list[str], mode: str = "zero") -> dict[str, float]:
    """The same numbers from what `Encoder.predict` keeps; what it keeps no probability of, with its own."""
    means = encoder.means(task.validation, task.output) if mode == "mean" else None
    found = said(encoder, examples, task.output, off, mode, means)
    outputs, kind = task.outputs(found)[0], task.kind
    if kind in ("classification", "choices", "one_logit"):
        logits = np.array([-outputs[0], outputs[0]]) / 2 if kind == "one_logit" else outputs
        names = examples.choices[0] if kind == "choices" else task.labels
        shares = np.exp(log_shares(logits))
        return {"p": shares.max()} | {f"share {name}": share for name, share in zip(names, shares, strict=True)}
    if kind == "several":
        shares = 1 / (1 + np.exp(-outputs[:-1].astype(float)))
        return {f"share {name}": share for name, share in zip(task.labels, shares, strict=True)}
    if kind in ("regression", "vectors"):
        return {f"value {'cosine' if kind == 'vectors' else 'score'}": float(outputs[0])}
    asked = model_output(encoder, task.output)
    (batch,) = asked.batches(examples)
    with encoder.gates(off=off, mode=mode, reference=means), torch.no_grad():
        raw = asked.run(batch)
        targets = asked.targets(raw, batch, Wanted(every_word=True))
        p = asked.probability(raw, batch, targets).cpu().numpy()
        if kind == "trees":
            governors = torch.from_numpy(targets.label)[None].to(encoder.device)
            p = p * raw.relations(governors)[0].softmax(-1).amax(-1).cpu().numpy()
    if kind == "spans":
        return {"p": float(p[0]), f"mark {int(outputs[0])} answer": float(p[0])}
    return {"p": float(p.min())} | {f"word {place}": float(one) for place, one in enumerate(p)}


def told_by_page(found: Prediction) -> dict[str, float]:
    told = numbers(found)
    if found.kind in ("tokens", "trees"):
        told |= {f"word {place}": mark.p for place, mark in enumerate(found.marks)}
    return told


def assert_same(found: Prediction, wanted: dict[str, float]) -> None:
    told = told_by_page(found)
    assert wanted and {name: told[name] for name in wanted} == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("mode", ["zero", "uniform", "mean"])
def test_with_parts_off(planted, mode):
    model, other, task, explorer = planted
    for row in range(3):
        reading, examples = row_of(explorer, task, row)
        change = Change(OFF, mode)
        seen = explorer.look(LookAt(reading, [change, change])).seen
        for side, encoder in zip(seen, (model, other), strict=True):
            assert_same(side.before, told_by_library(encoder, task, examples, []))
            assert_same(side.after, told_by_library(encoder, task, examples, OFF, mode))


def test_with_a_layer_of_the_other_and_a_head_off(planted):
    model, other, task, explorer = planted
    reading, examples = row_of(explorer, task, 1)
    change = Change(["head:2.3"], graft=["layer:1"])
    seen = explorer.look(LookAt(reading, [change, change])).seen
    for side, (own, lent) in zip(seen, ((model, other), (other, model)), strict=True):
        mixed = with_layers_of(own, lent, [0])
        assert_same(side.after, told_by_library(mixed, task, examples, ["head:2.3"]))
        assert told_by_page(side.after) != pytest.approx(told_by_page(side.before), abs=1e-4)


def test_what_is_right_and_what_is_said_of_rows(planted):
    model, _, task, explorer = planted
    rows = explorer.rows(AskRows(order="file", count=16)).rows
    says = task.outputs_to_predictions(model.predict(task.test, task.output))
    right = task.output.correct(says, task.output.gold(task.test))
    assert [row.right for row in rows] == [None if np.isnan(one) else bool(one) for one in right]
    assert [row.id for row in rows] == list(task.test.ids)
    for row in rows[:4]:
        after = explorer.look(LookAt(row.reading, maps=False)).seen[0].after
        if row.p[0] is not None:
            assert row.p[0] == pytest.approx(after.p, abs=1e-5)
        if task.kind not in ("trees",):  # whose rows name governors, too
            assert row.said[0] == after.said


def test_how_far_predictions_move(planted):
    _, _, task, explorer = planted
    readings = [row_of(explorer, task, at)[0] for at in range(4)]
    moved = explorer.compare(Compare(readings, [Change(["head:1.2"])])).moved
    assert len(moved) == 4
    for of_reading in moved:
        assert of_reading[1].distance == 0 and of_reading[0].distance > 1e-3
        if task.kind in ("classification", "choices", "one_logit"):
            before, after = ({one.label: one.p for one in each.shares}
                             for each in (of_reading[0].before, of_reading[0].after))  # fmt: skip
            apart = sum(abs(before[name] - after[name]) for name in before) / 2
            assert of_reading[0].distance == pytest.approx(apart)


def test_typed_masks_are_guessed(_pocket):
    explorer = Explorer.open(_pocket)
    text = "the old man opened the [MASK] and the [MASK] ."
    change = Change(["head:3.2", "layer:7"])
    found = explorer.look(LookAt(Reading(text), [change])).seen[0]
    coded = _pocket.tokenizer(text, return_tensors="pt").to(_pocket.device)
    at = (coded["input_ids"][0] == _pocket.tokenizer.mask_token_id).nonzero()[:, 0]
    for off, prediction in (([], found.before), (change.off, found.after)):
        with _pocket.gates(off=off), torch.no_grad():
            output = _pocket.model(**coded)
        logits = (output.prediction_logits if "prediction_logits" in output else output.logits)[0, at]
        p, pieces = logits.softmax(-1).topk(10)
        assert [each.token for each in prediction.guesses] == at.tolist()
        for each, shares, ids in zip(prediction.guesses, p.tolist(), pieces.tolist(), strict=True):
            assert [one.p for one in each.words] == pytest.approx(shares, abs=1e-5)
            assert [one.label for one in each.words] == [_pocket.tokenizer.decode([one]).strip() for one in ids]
    assert [token.text for token in found.tokens][at[0]] == "[MASK]"
    without = explorer.look(LookAt(Reading("the old man"))).seen[0].after
    assert "[MASK]" in without.said and without.p is None and not without.guesses


def test_a_pair_is_compared_by_a_model_without_scores(_pocket):
    found = Explorer.open(_pocket).look(LookAt(Reading("a good man", "an old house"))).seen[0]
    assert found.after.kind == "vectors" and -1 <= found.after.shares[0].value <= 1
    sides = [token.side for token in found.tokens]
    assert sides[0] == -1 and {0, 1} <= set(sides) and sides.index(1) > sides.index(0)
