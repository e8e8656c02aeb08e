"""Heads switched off together by the loss: against plain losses, against nothing, and when it leads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

import bertscope.analyses.redundancy.interactions as told
from bertscope.analyses.redundancy.interactions import Interactions, Together, interactions, together
from bertscope.analyses.redundancy.off_together import _over_pairs
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.core.null_panel import fails, panel
from bertscope.core.number import Number
from bertscope.core.reliability import Reliability
from bertscope.core.result import Result
from bertscope.core.statistics import Effects
from bertscope.core.units import Unit
from toy import task_of

PAIRS = [(Unit("head", 1, 1), Unit("head", 1, 2)), (Unit("head", 2, 1), Unit("head", 3, 4))]
PARTNERS = [(Unit("head", 1, 3), Unit("head", 1, 4)), None]


def logits_without(encoder, task, off) -> np.ndarray:
    with encoder.gates(off=off, mode="zero"):
        return log_softmax(encoder.predict(task.test).logits.astype(float), -1)


def test_interactions_by_the_loss_are_those_of_plain_losses(tiny, many):
    task = task_of(many, tiny)
    found = interactions(tiny, task, PAIRS, PARTNERS, mode="zero", repeats=200)

    def losses(off):
        return -logits_without(tiny, task, off)[np.arange(len(task.test)), task.test.label]

    whole = logits_without(tiny, task, [])
    for place, pair in enumerate([*PAIRS, PARTNERS[0]]):
        one, other, both = ([pair[0]], [pair[1]], list(pair))
        plain = losses(both) - losses(one) - losses(other) + losses([])
        np.testing.assert_allclose(found.losses[place], plain, atol=1e-5)
        rises = [(losses(off) - losses([])).mean() for off in (one, other, both)]
        np.testing.assert_allclose(found.rises[:, place], rises, atol=1e-5)
        without = logits_without(tiny, task, both)
        assert found.kl[0, place] == pytest.approx((np.exp(whole) * (whole - without)).sum(1).mean(), abs=1e-5)
        assert found.flips[0, place] == (whole.argmax(1) != without.argmax(1)).mean()
    np.testing.assert_allclose(found.by_loss.effect, found.losses.mean(1))
    np.testing.assert_allclose(found.loss_draws[0], found.losses.mean(1))
    assert found.matched.tolist() == [[0], [2]], "the second pair has no partner"
    assert found.random_weights is None


def test_named_heads_by_the_loss(tiny, many):
    task = task_of(many, tiny)
    found = together(tiny, task, ["head:1.1", "head:2.2"], random_sets=6, mode="zero", repeats=200, null=True)
    plain = [logits_without(tiny, task, off) for off in ([], ["head:1.1", "head:2.2"])]
    rise = -np.subtract(*(each[np.arange(len(task.test)), task.test.label].mean() for each in plain[::-1]))
    assert found.rises[0, 0] == pytest.approx(rise, abs=1e-5)
    assert found.p_by_loss == (1 + (found.rises[0, 1:] >= found.rises[0, 0]).sum()) / 7
    assert found.random_weights.shape == (7,) and np.abs(found.random_weights).max() > 0
    assert not np.allclose(found.random_weights, found.rises[0])


def made(losses: np.ndarray, *, score: float = 0.1) -> Interactions:
    """Pairs whose losses interact so [pair, example], half of them the others' partners."""
    pairs, draws = len(losses), np.zeros((101, len(losses)))
    by_loss = told.paired_effects(told.mean_of, *told.from_nothing(losses), repeats=100)
    half = np.arange(pairs // 2)
    reliability = {"score": Reliability(score, score), "loss": Reliability(0.8, 0.8)}
    return Interactions(
        *np.zeros((3, pairs)), draws, np.zeros((3, pairs)), losses, by_loss, draws, draws, draws, reliability,
        np.stack([half, half + pairs // 2]),
    )  # fmt: skip


def result_of(found: dict[str, np.ndarray]) -> Result:
    return Result("redundancy", 1, {"null": panel(found)})


@pytest.mark.parametrize("signal", [0.0, 3.0])
def test_the_panel_passes_whether_or_not_there_is_something_to_find(signal):
    """Exchanging the sides makes nothing of what is there."""
    random = np.random.default_rng(0)
    skewed = random.exponential(size=(20, 150)) * random.choice([-1, 1], (20, 150)) + signal
    found = made(skewed)
    assert (found.by_loss.p < 0.001).all() == (signal > 0)
    nothing = found.found_in_nothing(0)
    assert set(nothing) == {"pair", "similar_against_random"} and not fails(result_of(nothing))
    assert found.against_random.p[0] > 0.01, "random pairs interact as much"


def test_the_panel_fails_without_the_correction(monkeypatch):
    found = made(np.random.default_rng(1).normal(size=(20, 150)))
    monkeypatch.setattr(told, "holm", lambda p: p)
    assert fails(result_of(found.found_in_nothing(0)))


def test_similar_pairs_that_interact_more_than_their_partners_are_found():
    losses = np.random.default_rng(2).normal(size=(20, 150))
    losses[:10] += 1
    found = made(losses)
    assert found.against_random.p[0] < 0.01
    assert found.against_random.effect[0] == pytest.approx(losses[:10].mean() - losses[10:].mean())


def test_which_set_is_the_named_one_is_exchanged_too():
    random = np.random.default_rng(3)
    draws = np.zeros((101, 41))
    rises = draws.copy()
    rises[0] = np.arange(41)[::-1]  # the named one is the worst of all
    losses = random.normal([[0.0], [9.0]], size=(2, 200))
    found = Together(draws, rises, draws, draws, losses)
    assert found.p_by_loss == 1 / 41 and found.p == 1
    assert found.by_loss.p[0] == 1e-4
    nothing = found.found_in_nothing(0)
    assert not fails(result_of(nothing)) and 0 < nothing["together_against_random"].mean() < 0.1


@pytest.mark.parametrize(("score", "shown"), [(0.2, "loss_interaction"), (0.7, "interaction")])
def test_the_loss_leads_where_the_score_ranks_by_chance(tiny, many, monkeypatch, score, shown):
    real = told.split_half
    monkeypatch.setattr(told, "split_half", lambda *args, **how: replace(real(*args, **how), pearson=score))
    task = task_of(many, tiny)
    result = redundancy(tiny, task, RedundancyConfig(repeats=200, pairs=3, mode="zero"))
    (figure,) = (figure for figure in result.figures if figure.key == "pairs")
    assert figure.x == shown and f"{score:.2f} by the score" in figure.caption
    first = next(number.key for number in result.headline if "interaction" in number.key)
    assert first == shown
    by_loss = shown == "loss_interaction"
    assert ("mostly by chance" in figure.caption) == by_loss
    assert any("so the loss leads" in note for note in result.notes) == by_loss
    assert [number.of["measure"] for number in result.numbers("reliability")] == ["score", "loss"]


def test_with_the_panel_random_weights_stand_beside_and_nothing_else_changes(tiny, many):
    task = task_of(many, tiny)
    config = RedundancyConfig(repeats=200, pairs=3, mode="zero", together=("head:1.1",))
    plain, asked = (redundancy(tiny, task, replace(config, null=null)) for null in (False, True))
    for table in ("pairs", "together"):
        assert "random_weights" not in plain.tables[table]
        pd.testing.assert_frame_equal(asked.tables[table].drop(columns="random_weights"), plain.tables[table])
    null = asked.tables["null"]
    assert null["checkpoint"].unique().tolist() == [tiny.id] and (null["draws"] == 200).all()
    assert null["tests"].tolist() == ["pair", "similar_against_random", "together", "together_against_random"]
    assert asked.in_words().tables["null"]["tests"][0] == "each pair's interaction"
    assert any(note.startswith("null panel: ") for note in asked.notes) and "null" not in plain.tables


def test_effects_that_are_nothing_have_a_p_of_one():
    assert isinstance(made(np.zeros((4, 30))).by_loss, Effects)
    np.testing.assert_array_equal(made(np.zeros((4, 30))).by_loss.p, 1)


def test_the_difference_of_pairs_is_over_pairs_too():
    """Ten pairs of each kind, alike but for the luck of the draw, each known exactly: texts alone would decide."""
    draw, held = np.random.default_rng(0), 0
    for _ in range(400):
        similar, random = draw.normal(0, 0.01, (2, 10))
        apart = float(similar.mean() - random.mean())
        found = _over_pairs(Number("interaction_difference", apart, apart - 1e-4, apart + 1e-4), similar, random)
        held += found.low <= 0 <= found.high
    assert 0.92 <= held / 400 <= 0.98
