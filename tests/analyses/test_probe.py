"""`probe`: the question, from states or models to tables and headline; its settings and mistakes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.analyses.probe.consequence import consequences
from bertscope.analyses.probe.sample import TEST, VALIDATION, text_parts
from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from made_states import made_store, one_hot
from planted_probe import POS, TEXTS

QUICK = bertscope.ProbeConfig(words=300, repeats=100, types=5)


def what_follows(**targets: tuple[float, float, float]) -> list[str]:
    """Of a result whose targets have this accuracy, the majority's, and that of a word's usual label."""
    headline = [
        Number("accuracy", right, right - 0.01, right + 0.01, of={"model": "m", "target": target, "layer": "2"})
        for target, (right, _, _) in targets.items()
    ]
    bars = [
        {"target": target, "majority": most, "usual_label": usual} for target, (_, most, usual) in targets.items()
    ]
    model = ModelRecord("m", "m")
    result = Result("probe", 2, {"targets": pd.DataFrame(bars)}, headline=headline, models={"m": model})
    return [one.text for one in consequences(result)]


def test_which_word_it_is_is_no_knowledge_of_a_layer_and_texts_are_no_words():
    word, pos, label = (0.99, 0.1, np.nan), (0.9, 0.2, 0.8), (0.7, 0.5, np.nan)
    of_words = "Layer 2 knows the pos of words in context: 90 of 100 right; the word alone gives 80 of 100."
    assert what_follows(word=word, pos=pos) == [of_words]
    assert what_follows(word=word) == []
    of_texts = "Layer 2 knows the label of a text: 70 of 100 right; always the same answer gives 50 of 100."
    assert what_follows(pos=pos, label=label) == [of_texts]


@pytest.mark.slow
def test_checkpoints_side_by_side(tiny):
    examples = bertscope.read_examples("demo/corpus", limit=120)
    store = bertscope.hidden_states(tiny, examples)
    result = bertscope.probe([store, store], examples, replace(QUICK, targets=("pos", "relation", "length")))
    probes = result.tables["probes"]
    names = ["BertForSequenceClassification", "BertForSequenceClassification (2)"]
    assert list(probes["checkpoint"].unique()) == list(result.models) == [tiny.id, f"{tiny.id}-2"]
    assert list(result.in_words().tables["probes"]["checkpoint"].unique()) == names
    assert sorted(probes["layer"].unique()) == [0, 1, 2, 3] and set(probes["probe"]) == {"linear", "mlp"}
    changes = result.tables["changes"]
    assert len(changes) == 3 * 2 * 4 and (changes[["change", "low", "high"]] == 0).all(axis=None)
    assert set(result.tables["selectivity"]["target"]) == {"pos", "relation"}
    assert set(result.tables["expected"]["target"]) == {"pos", "relation", "length"}
    about = result.tables["targets"].set_index("target")
    uniform = about.loc["pos", "train"] * np.log2(about.loc["pos", "classes"])
    linear = probes.query("probe == 'linear' and target == 'pos'")
    np.testing.assert_allclose(linear["compression"], uniform / linear["codelength"])
    lengths = probes.query("probe == 'linear' and target == 'length'")
    assert about.loc["length", "train"] > 2 * about.loc["length", "test"]
    np.testing.assert_allclose(lengths["bits_per_label"], lengths["codelength"] / about.loc["length", "train"])
    assert probes.query("probe == 'mlp'")["codelength"].isna().all()
    selective = result.tables["selectivity"]
    np.testing.assert_allclose(selective["selectivity"], selective["accuracy"] - selective["control"])
    assert (selective["control"] != selective["accuracy"]).any()
    assert (probes["low"] <= probes["accuracy"]).all() and (probes["accuracy"] <= probes["high"]).all()
    assert result["mean_accuracy"].low is not None
    assert any("no control task for length" in note for note in result.notes)


def test_the_headline_has_the_layer_that_validation_chooses(tiny):
    examples = bertscope.read_examples("demo/corpus", limit=120)
    result = bertscope.probe(tiny, examples, replace(QUICK, targets=("pos",), probes=("linear",), code=False))
    probes = result.tables["probes"]
    best = probes.loc[probes["validation_loss"].idxmin()]
    number = result.headline[1]
    assert number is result["accuracy"] and number.of["layer"] == str(best["layer"]) and number.of["model"] == tiny.id
    assert number.label == f"pos, layer {best['layer']}" and number.value == best["accuracy"]
    assert {each.key for each in result.headline} == set(bertscope.probe.numbers)
    assert set(result.tables["curves"]["series"]) == {"probe", "control", "majority", "usual_label"}
    assert "the word's usual label" in set(result.in_words().tables["curves"]["series"])
    assert [figure.key for figure in result.figures] == ["accuracy", "selectivity", "expected"]
    assert "codelength" not in probes


def test_nothing_is_chosen_on_test():
    """Layer 0 tells the label in train and validation, layer 1 in train and test: validation takes the one that
    then fails."""
    part = np.repeat(text_parts(TEXTS, QUICK.seed), 8)
    telling, noise = one_hot(POS, 3), one_hot(np.random.default_rng(0).permutation(POS), 3)
    layers = [np.where((part == hidden)[:, None], noise, telling) for hidden in (TEST, VALIDATION)]
    result = bertscope.probe(made_store(TEXTS, layers), TEXTS, replace(QUICK, targets=("pos",), probes=("linear",)))
    accuracy = result.tables["probes"].set_index("layer")["accuracy"]
    assert accuracy[0] < accuracy[1] < 0.6, "where validation says that nothing is learned, a probe stays as it began"
    (number,) = result.numbers(key="accuracy", target="pos", layer=0)
    assert number.value == accuracy[0]


@pytest.mark.slow
def test_checkpoints_of_different_widths_are_probed_alike():
    stores = [made_store(TEXTS, [one_hot(POS, dim)] * 2, name=f"dim {dim}") for dim in (4, 7)]
    result = bertscope.probe(stores, TEXTS, replace(QUICK, targets=("pos",), probes=("linear",)))
    assert (result.tables["probes"]["accuracy"] == 1).all() and len(result.tables["probes"]) == 4
    assert (result.tables["changes"]["change"] == 0).all()


def test_the_last_checkpoint_is_the_one_given_last_whatever_its_width():
    noise = np.random.default_rng(0).normal(size=(1200, 4))
    given = {"first": noise, "wide": np.hstack([noise, noise]), "last": one_hot(POS, 4)}
    stores = [made_store(TEXTS, [layer] * 2, name=name) for name, layer in given.items()]
    result = bertscope.probe(stores, TEXTS, replace(QUICK, targets=("pos",), code=False))
    for table in ("probes", "expected"):
        assert list(result.tables[table]["checkpoint"].unique()) == [*given], table
    assert result["mean_accuracy"].value == 1 and "the numbers are those of last" in result.notes
    assert set(result.tables["changes"].query("checkpoint == 'last'")["change"]) == {
        1 - result.tables["probes"]["accuracy"][0]
    }


@pytest.mark.slow
def test_nothing_is_claimed_of_a_gain_that_may_be_noise():
    noise = [np.random.default_rng(layer).normal(size=(1200, 3)) for layer in range(3)]
    result = bertscope.probe(made_store(TEXTS, noise), TEXTS, replace(QUICK, targets=("pos",), probes=("linear",)))
    row = result.tables["expected"].iloc[0]
    assert row["gain_low"] <= row["gain"] / 2 and np.isnan(row["expected"]) and np.isnan(row["low"])
    noise[2] = noise[2] + 8 * one_hot(POS, 3)
    result = bertscope.probe(made_store(TEXTS, noise), TEXTS, replace(QUICK, targets=("pos",), probes=("linear",)))
    row = result.tables["expected"].iloc[0]
    assert row["expected"] == pytest.approx(2, abs=0.4) and row["low"] <= row["expected"] <= row["high"]


def test_an_expected_layer_needs_a_gain_known_to_within_half_of_itself(monkeypatch):
    """A gain of 0.4 in two steps, at 2.5% no less than 0.1 (surely there, but not by how much) or than 0.3."""
    store = made_store(TEXTS, [np.random.default_rng(0).normal(size=(1200, 3))] * 3)
    config = replace(QUICK, targets=("pos",), probes=("linear",), code=False)
    for least, given in ((0.1, False), (0.3, True)):
        gains = np.concatenate([[0.4], np.linspace(least, 0.8 - least, 101)])[:, None] * [0, 0.25, 1]
        monkeypatch.setattr("bertscope.analyses.probe.measure.cumulative", lambda *_, gains=gains: 0.5 + gains)
        row = bertscope.probe(store, TEXTS, config).tables["expected"].iloc[0]
        assert row["gain"] == pytest.approx(0.4) and 0 < row["gain_low"] < least + 0.02
        assert row["expected"] == pytest.approx(0.25 * 1 + 0.75 * 2) if given else np.isnan(row["expected"])


def test_a_target_of_too_few_texts_is_left_out_unless_it_was_asked_for():
    marked = tuple(tuple("xy"[at] if at < 2 and not row else "" for at in range(8)) for row in range(len(TEXTS)))
    few = replace(TEXTS, marks={**TEXTS.marks, "gender": marked}, label=None)  # one text has all there is
    store = made_store(few, [np.random.default_rng(0).normal(size=(1200, 3))])
    config = replace(QUICK, probes=("linear",), code=False, expected=False)
    result = bertscope.probe(store, few, config)
    assert set(result.tables["probes"]["target"]) == {"pos", "word"}
    assert any("left out: too few texts to probe for gender" in note for note in result.notes)
    with pytest.raises(UserError, match="too few texts to probe for gender"):
        bertscope.probe(store, few, replace(config, targets=("gender",)))


def test_it_is_a_step_that_shares_the_states(tmp_path, tiny):
    from bertscope.core.registry import find

    folder = tiny.save(tmp_path / "model")
    corpus = examples_root("demo/corpus", limit=120)
    config = replace(QUICK, targets=("gender",), probes=("linear",), expected=False)
    step = find("probe").plan(model_root(folder), corpus, config)
    assert [before.name for before in step.before()] == ["states"]
    store = Store(tmp_path / "store")
    run_steps([step], store)
    assert list(store.result(step).tables["probes"]["target"].unique()) == ["gender"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"probes": ("linaer",)}, "did you mean 'linear'"),
        ({"probes": ()}, "no probes"),
        ({"targets": ("pos", "poss")}, "unknown target 'poss'; did you mean 'pos'"),
        ({"words": 3}, "words is 3; it must be at least 10"),
        ({"repeats": 5}, "repeats is 5"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        bertscope.ProbeConfig(**wrong)
