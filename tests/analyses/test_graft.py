"""`graft`: a planted layer or head is found, and only it; shares, the line and the panel are what they must be."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from bertscope.analyses.graft.measure import _Ends, _line, _Scored
from bertscope.analyses.graft.question import GraftConfig, graft
from bertscope.analyses.graft.result import _carried
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.models.grafting import Weights
from bertscope.models.load import load
from judging import one_row
from planted_kinds import PLANTED
from planted_outputs import ROWS
from toy import learned, task

QUICK = {"repeats": 200, "permutations": 999}


def otherwise(encoder, places, *, noise=None):
    """A copy of the encoder with 0, or something added, at these places."""
    other = load(copy.deepcopy(encoder.model), tokenizer=encoder.tokenizer)
    own, generator = Weights(other).parameters, torch.Generator().manual_seed(5)
    with torch.no_grad():
        for place in places:
            at = slice(None) if place.at is None else list(place.at)
            where = (at,) if place.axis == 0 else (slice(None), at)
            before = own[place.name][where]
            drawn = torch.randn(before.shape, generator=generator).to(before)
            own[place.name][where] = 0 if noise is None else before + noise * drawn
    return other


@pytest.fixture(scope="module")
def toy(toy_task, _toy_model):
    return toy_task, _toy_model


@pytest.fixture(scope="module")
def found(toy):
    """The tuned model differs from its base in the second layer only."""
    made, tuned = toy
    return graft(otherwise(tuned, Weights(tuned).of(layers=[1]), noise=0.5), tuned, made, **QUICK)


def rows(result, kind, direction):
    table = result.tables["grafts"]
    return table[(table["kind"] == kind) & (table["direction"] == direction)]


def test_the_layer_that_differs_has_all_of_it_and_the_others_nothing(found):
    for direction in ("enough", "needed"):
        layers = rows(found, "layer", direction).set_index("layer")
        assert layers.loc[2, "share"] == pytest.approx(1, abs=1e-6) and layers.loc[2, "certain"]
        others = layers.drop(2)
        np.testing.assert_allclose(others["share"].astype(float), 0, atol=1e-6)
        assert not others["certain"].any() and (others["p"] == 1).all() and (others["moved"] == 0).all()
    assert layers.loc[2, "moved"] > 0


def test_layer_upon_layer_the_whole_of_it_comes_with_the_second(found):
    below = rows(found, "bottom_up", "enough").set_index("layer")["share"]
    above = rows(found, "top_down", "enough").set_index("layer")["share"]
    np.testing.assert_allclose(below.astype(float), [0, 1, 1, 1], atol=1e-6)
    np.testing.assert_allclose(above.astype(float), [1, 1, 0, 0], atol=1e-6)
    assert found["enough_half"].value == 3  # layers 2, 3 and 4
    assert not len(rows(found, "bottom_up", "needed"))  # what is needed from above is enough from below


def test_attention_and_mlp_share_it_out(found, toy):
    """Needed and enough of a part are those of models made by hand."""
    made, tuned = toy
    weights = Weights(tuned)
    base = otherwise(tuned, weights.of(layers=[1]), noise=0.5)
    state = dict(base.model.base_model.named_parameters())
    losses = {}
    for name, names in {
        "tuned": [], "base": [place.name for place in weights.of(layers=[1])],
        "needed": [place.name for place in weights.of_layer(1, "mlp")],
        "enough": [place.name for kind in ("attention", "norm") for place in weights.of_layer(1, kind)],
    }.items():  # fmt: skip
        model = load(copy.deepcopy(tuned.model), tokenizer=tuned.tokenizer)
        own = dict(model.model.base_model.named_parameters())
        with torch.no_grad():
            for each in names:
                own[each].copy_(state[each])
        losses[name] = made.losses(model.predict(made.test)).mean()
    between = losses["base"] - losses["tuned"]
    mlp = {each: rows(found, "mlp", each).set_index("layer").loc[2] for each in ("needed", "enough")}
    assert mlp["needed"]["share"] == pytest.approx((losses["needed"] - losses["tuned"]) / between, abs=1e-4)
    assert mlp["enough"]["share"] == pytest.approx((losses["base"] - losses["enough"]) / between, abs=1e-4)
    assert mlp["needed"]["loss"] == pytest.approx(losses["needed"], abs=1e-5)
    assert found["loss"].value == pytest.approx(losses["tuned"], abs=1e-6)
    assert found["base_loss"].value == pytest.approx(losses["base"], abs=1e-5)


def test_the_line_ends_at_both_and_its_chord_is_theirs(found):
    line = found.tables["line"].set_index("way")
    assert line.index[0] == 0 and line.index[-1] == pytest.approx(1.5) and len(line) == 16
    assert line.loc[0, "loss"] == pytest.approx(found["base_loss"].value, abs=1e-6)
    assert line.loc[1.0, "loss"] == pytest.approx(found["loss"].value, abs=1e-6)
    inside = line[line["above_chord"].notna()]
    way = inside.index.to_numpy()
    chord = (1 - way) * found["base_loss"].value + way * found["loss"].value
    np.testing.assert_allclose(inside["above_chord"], inside["loss"] - chord, atol=1e-6)
    assert found["barrier"].value == pytest.approx(max(0, (inside["loss"] - chord).max()), abs=1e-6)
    assert way.max() <= 1 and line["above_chord"].isna().sum() == 5


@pytest.mark.parametrize("bump", [-0.02, 0.0, 0.01, 0.1])
def test_the_interval_of_the_barrier_covers_it(bump, toy):
    """Texts lie above the chord here and below it there; also where the sample's own line is below it everywhere,
    the barrier may be more than nothing."""
    way, n, draws = np.linspace(0, 1.5, 16), 60, 150
    shapes = np.stack([np.sin(np.pi * way), np.sin(2 * np.pi * way)])
    held, truth, none = 0, max(bump, 0.0), GraftConfig(repeats=300)
    for seed in range(draws):
        drawn = np.random.default_rng(seed).normal(size=(2, n)) * np.array([[0.2], [0.02]])
        drawn[0] += bump
        losses = 1 - 0.5 * way[:, None] + (shapes[:, :, None] * drawn[:, None]).sum(0)
        moments = np.zeros((len(way), n, 1))
        ends = _Ends(_Scored(moments[0], losses[0]), _Scored(moments[10], losses[10]))
        _, barrier = _line(toy[0], ends, way, _Scored(moments, losses), none)
        assert 0 <= barrier.low <= barrier.value <= barrier.high
        held += barrier.low <= truth <= barrier.high
    assert held >= 0.9 * draws, held


@pytest.mark.parametrize("kind", list(PLANTED))
def test_of_every_output_the_planted_head_is_what_was_learnt(kind, _pocket):
    """The base lacks the needed head: it gives all, it is needed, and no other head has anything."""
    model = PLANTED[kind].model(_pocket.tokenizer)
    made, needed = PLANTED[kind].task(ROWS), set(PLANTED[kind].needed)
    weights = Weights(model)
    base = otherwise(model, [place for name in needed for place in weights.of_head(Unit.parse(name))])
    result = graft(base, model, made, units=("layer", "head"), **QUICK)
    heads = rows(result, "head", "needed").set_index("unit")
    assert set(heads.index[heads["certain"]]) == needed
    assert heads.drop(list(needed))["share"].abs().max() < 1e-5
    if len(needed) == 1:
        assert rows(result, "head", "enough").set_index("unit").loc[next(iter(needed)), "share"] == pytest.approx(1)


def test_where_nothing_was_learnt_nothing_is_shared_out(toy):
    made, tuned = toy
    result = graft(tuned, tuned, made, units=("layer",), **QUICK)
    assert result.table["share"].isna().all() and not result.table["certain"].any()
    assert any("can't be told apart" in note for note in result.notes)
    assert result["barrier"].value == pytest.approx(0, abs=1e-9)


def test_where_the_tuned_model_is_worse_nothing_is_said_to_be_learnt(toy):
    made, tuned = toy
    harmed = otherwise(tuned, Weights(tuned).of(layers=[1]), noise=0.5)
    result = graft(tuned, harmed, made, units=("layer", "top_down"), **QUICK)
    assert result["loss"].value > result["base_loss"].value and result.table["share"].notna().any()
    assert not result.numbers(key="enough_half") and graft.sentence(result) is None
    assert any("shares are of that harm" in note for note in result.notes)


def test_a_permuted_change_is_found_to_be_nothing_and_the_real_one_not(toy):
    made, tuned = toy
    base = otherwise(tuned, Weights(tuned).of(layers=[1, 2]), noise=0.1)
    result = graft(base, tuned, made, units=("layer",), null=True, **QUICK)
    assert null_panel.verdict(result) == "passes"
    layers = rows(result, "layer", "enough").set_index("layer")
    assert set(layers.index[layers["above_permuted"].fillna(False)]) == {2, 3}
    assert result["layers_above_permuted"].value == 2
    assert layers["permuted"].notna().all() and result.tables["null"]["draws"].tolist() == [50]


def test_albert_exchanges_kinds_only(_pocket):
    made = task()
    tuned = learned(made, _pocket.tokenizer, "albert", embedding_size=16)
    base = otherwise(tuned, Weights(tuned).of(kinds=["mlp"]), noise=0.3)
    result = graft(base, tuned, made, **QUICK)
    assert set(result.table["kind"]) == {"kind"}
    assert rows(result, "kind", "needed").set_index("unit").loc["mlp", "share"] == pytest.approx(1, abs=1e-6)
    assert any("one block for many layers" in note for note in result.notes)


def test_mistakes_are_told(toy):
    made, tuned = toy
    with pytest.raises(UserError, match="no weights to exchange"):
        GraftConfig(units=())
    with pytest.raises(UserError, match="unknown kind of part"):
        GraftConfig(units=("haed",))
    with pytest.raises(UserError, match="the null is about layers"):
        GraftConfig(units=("head",), null=True)
    with pytest.raises(UserError, match="pocket has no task head, and "):
        graft(tuned, "pocket", made)
    with pytest.raises(UserError, match="nothing can be exchanged"):
        graft(tuned.cut("head:1.1"), tuned, made)


def test_it_is_told_in_a_sentence_and_the_models_are_left_alone(toy, found):
    made, tuned = toy
    before = tuned.id
    base = otherwise(tuned, Weights(tuned).of(layers=[3]), noise=0.5)
    graft(base, tuned, made, units=("layer",), **QUICK)
    assert tuned.id == before
    said = graft.sentence(found)
    assert said is not None and said.main == 3 and said.written(3) == "3 layers"
    assert said.sentence == (
        "It takes layers 2 to 4 to carry half of what was learnt: with tuned weights there alone, the base is 100% "
        "of the way to the tuned model, by the loss. Of single layers, layer 2 is missed most: without what it "
        "learnt, 100% is lost."
    )


def test_the_ledger_reads_it(found):
    """Whose base nobody recorded: the numbers are read, and decide nothing."""
    for claim, layers in (("last-two-layers-carry", 3), ("top-layers-carry", 3)):
        row = one_row(claim, [found])
        share = rows(found, "top_down", "enough").set_index("layer").loc[layers, "score_share"]
        assert row["effect"] == pytest.approx(share) and row["note"] == "2 of 4 layers" and row["null"] == "not_asked"
        assert row["verdict"] == "underpowered" and "isn't recorded" in row["why"]


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [(12, 12, "Layer 12 carries at least half"), (11, 12, "Layers 11 and 12 carry at least half"),
     (7, 12, "Layers 7 to 12 carry at least half"), (6, 12, "It takes layers 6 to 12 to carry half"),
     (1, 12, "It takes layers 1 to 12 to carry half"), (1, 1, "Layer 1 carries at least half")],
)  # fmt: skip
def test_layers_are_called_as_people_call_them(first, last, told):
    assert _carried(first, last) == told


def test_shares_by_the_score_have_intervals_and_chance_is_told(toy, found):
    made, _ = toy
    layers = rows(found, "layer", "enough").set_index("layer")
    assert layers.loc[2, "score_share"] == 1 and (layers["score_share_low"] <= layers["score_share"]).all()
    assert (layers["score_share"] <= layers["score_share_high"]).all()
    by_example = found.arrays["top_down"]  # whose mean is the share
    assert by_example.shape == (4, len(made.test))
    np.testing.assert_allclose(by_example.mean(1), rows(found, "top_down", "enough")["score_share"], atol=1e-4)
    assert found["chance"].value == pytest.approx(np.bincount(made.test.label).max() / len(made.test), abs=0.02)
