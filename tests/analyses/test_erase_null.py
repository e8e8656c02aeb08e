"""`erase`: when a label is called used, and how often a random subspace in its place would be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

import bertscope
from bertscope.analyses.erase.leace import Whitened
from bertscope.analyses.erase.measure import Ability
from bertscope.analyses.erase.result import Check, Erasing, Measured, erase_result, null_findings
from bertscope.core.null_panel import fails
from bertscope.core.statistics import holm, one_more_p

CONFIG = bertscope.EraseConfig(random=3, repeats=100, like=("rank",))
LAYERS = [0, 1, 2, 3]


def judged(columns: np.ndarray, wobble: np.ndarray, sign: int, record, *, stand_ins: bool = False, **config):
    """The answer where each change costs so much [layer, eraser], and other texts make it wobble so much."""
    random = np.random.default_rng(0)
    flat, wide = np.append(0.0, columns), np.append(0.0, wobble)
    draws = sign * (flat + np.concatenate([np.zeros((1, len(flat))), random.normal(size=(200, len(flat)))]) * wide)
    eraser = Whitened(random.normal(size=(100, 12))).random(1, random)
    others = {layer: {"rank": [eraser] * (columns.shape[1] - 1 - stand_ins)} for layer in LAYERS}
    spare = {layer: {"rank": eraser} if stand_ins else {} for layer in LAYERS}
    erased = Erasing(
        "pos", dict.fromkeys(LAYERS, eraser), others, spare, {"as_they_are": Check(*np.zeros((2, 4)))}, 0.5
    )
    key = "score" if sign > 0 else "masked_lm_loss"
    ability = Ability(key, "points", sign, 10, lambda changes: measured)
    measured = Measured(draws + 7, -sign * draws + 7)  # the loss rises where the ability falls
    return erase_result(ability, measured, [erased], LAYERS, replace(CONFIG, **config), record, {}, [])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_label_is_used_where_it_surely_costs_more_than_random_subspaces_could(sign, tiny):
    """By layer: far more, surely; far more, but not surely so on other texts; more than each, but they vary as much;
    and a label that it is good to lose."""
    of_layers = np.array([[-5, -1, -1.02, -0.98], [-5, -1, -1.02, -0.98], [-5, -1, -3, -4], [5, 1, 1.02, 0.98]])
    wobble = np.full((4, 4), 0.1)
    wobble[1, 0] = 9
    result = judged(of_layers, wobble, sign, tiny.record)
    effects = result.tables["effects"]
    assert effects["used"].tolist() == [True, False, False, False] and result["layers_used"].value == 1
    assert effects["as_bad"].tolist() == [0, 0, 0, 3]
    by_hand = [2 * t.sf(abs(x - np.mean(o)) / (np.std(o, ddof=1) * (4 / 3) ** 0.5), 2) for x, *o in of_layers]
    np.testing.assert_allclose(effects["p"], by_hand)
    np.testing.assert_allclose(effects["p_holm"], holm(np.array(by_hand)))
    np.testing.assert_allclose(effects["excess"], sign * (of_layers[:, 0] - of_layers[:, 1:].mean(1)))
    assert "null" not in result.tables


def test_one_more_of_normal_values_is_found_as_often_as_it_says():
    values = np.random.default_rng(3).normal(size=(20_000, 6))
    p = one_more_p(values[:, 0], values[:, 1:])
    for level in (0.01, 0.05, 0.2):
        assert (p < level).mean() == pytest.approx(level, abs=4 * (level / 20_000) ** 0.5)
    away = one_more_p(values[:, 0] + 30, values[:, 1:])
    assert (away < 0.05).mean() > 0.99
    np.testing.assert_array_equal(one_more_p(np.array([0.0, 1.0]), np.zeros((2, 4))), [1, 0])


def test_the_panel_lets_random_subspaces_play_the_label_and_passes(tiny):
    """However clearly the label itself is used, it isn't among them."""
    columns = np.random.default_rng(1).normal(size=(4, 7))
    columns[:, 0] -= 500
    result = judged(columns, np.full((4, 7), 0.01), 1, tiny.record, stand_ins=True, null=True)
    assert result["layers_used"].value == 4
    (row,) = result.tables["null"].to_dict("records")
    assert (row["target"], row["like"], row["draws"], row["quantile"]) == ("pos", "rank", 200, 18)
    assert not fails(result) and any("null panel: passes" in note for note in result.notes)


def test_the_panel_fails_where_the_test_is_wrong(tiny, monkeypatch):
    """The rule of version 2: costs more than every random subspace. One of six does so, in each layer."""
    monkeypatch.setattr(
        "bertscope.analyses.erase.result.one_more_p", lambda value, others: (value <= others.max(-1)).astype(float)
    )
    columns = np.random.default_rng(1).normal(size=(4, 7))
    result = judged(columns, np.full((4, 7), 0.01), 1, tiny.record, stand_ins=True, null=True)
    assert fails(result)
    expected = 1 - (1 - 1 / 6) ** 4
    assert result.tables["null"]["findings"][0] / 200 == pytest.approx(expected, abs=0.12)


def test_a_draw_takes_one_of_all_and_compares_it_with_the_rest(monkeypatch):
    seen = []

    def watch(label, random):
        seen.append(np.sort(np.concatenate([label[0][:, None], random["rank"][0]], 1), 1))
        return real(label, random)

    import bertscope.analyses.erase.result as told

    real = told.tested_use
    monkeypatch.setattr(told, "tested_use", watch)
    draws = np.arange(2 * 3 * 6, dtype=float).reshape(2, 3, 6)
    every = told._Effects(draws[..., 0] - 1e6, {"rank": draws[..., :5]}, {"rank": draws[..., 5]})
    assert null_findings(every, 0, draws=20)["rank"].shape == (20,)
    for one in seen:
        np.testing.assert_array_equal(one, draws[0])
