"""`probe`: targets, splits, control tasks, codes and the expected layer, on structure that is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.probe.measures import (
    accuracies,
    codelengths,
    cumulative,
    expected_layer,
    online_code,
    portion_ends,
    text_draws,
)
from bertscope.analyses.probe.question import TARGETS
from bertscope.analyses.probe.sample import (
    FIT,
    REPORT,
    SELECT,
    Sample,
    control_labels,
    draw_sample,
    majority,
    text_parts,
    usual_label,
)
from bertscope.analyses.probe.targets import Limits, Target, choose_targets
from bertscope.analyses.probe.training import Training, train_probes
from bertscope.analyses.probe.vectors import Rows, gather, have_vectors
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.core.resampling import Resampling
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.models.source import model_root
from planted_states import made_store, made_texts, one_hot

TWO = Examples(
    ids=("a", "b"),
    text=("She saw the man", "Rome fell"),
    words=(("She", "saw", "the", "man"), ("Rome", "fell")),
    marks={
        "pos": (("PRON", "VERB", "DET", "NOUN"), ("PROPN", "VERB")),
        "relation": (("nsubj:pass", "root", "det", "obj"), ("nsubj", "root")),
        "entity": (("", "", "", ""), ("LOC", "")),
        "gender": (("feminine", "", "", "masculine"), ("", "")),
    },
    heads=((1, ROOT, 3, 1), (1, ROOT)),
    links=(
        (Link("Perceiver", (0,), (1,), "Perception"), Link("Thing", (2, 3), (1,), "Perception")),
        (Link("Thing", (0,), (1,), "Motion"), Link("x", (0,), (1,))),
    ),
    label=np.array([1, 0]),
)


def told(target) -> set[tuple]:
    words = target.words.tolist()
    named = (target.classes[label] for label in target.label)
    return {(int(row), *at, name) for row, at, name in zip(target.example, words, named, strict=True)}


# Targets


def test_targets_are_what_the_corpus_says():
    found, notes = choose_targets(TWO, (), Limits(types=3, bins=2))
    by_name = {target.name: target for target in found}
    assert set(by_name) == set(TARGETS) - {"entity"} and "entity" in notes[0]  # one entity is no choice
    assert told(by_name["pos"]) >= {(0, 0, "PRON"), (1, 1, "VERB")} and len(by_name["pos"]) == 6
    assert told(by_name["relation"]) == {(0, 0, 1, "nsubj"), (0, 2, 3, "det"), (0, 3, 1, "obj"), (1, 0, 1, "nsubj")}
    assert told(by_name["frame"]) == {(0, 1, "Perception"), (1, 1, "Motion")}
    assert told(by_name["gender"]) == {(0, 0, "feminine"), (0, 3, "masculine")}
    assert told(by_name["label"]) == {(0, "1"), (1, "0")}
    assert told(by_name["length"]) == {(0, "4 to 4 words"), (1, "2 to 2 words")}
    assert [by_name[name].unit for name in ("pos", "relation", "label")] == ["word", "pair", "text"]
    assert [by_name[name].has_control for name in ("pos", "relation", "word", "length")] == [True, True, False, False]


def test_the_most_frequent_words_are_told_apart_whatever_their_case():
    examples = replace(TWO, words=(("The", "the", "man", "a"), ("man", "the")), links=None)
    (target,), _ = choose_targets(examples, ["word"], Limits(types=2))
    assert target.classes == ("man", "the") and len(target) == 5


def test_a_target_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UserError, match=r"don't tell entity .* they have: pos, relation, frame, gender, word, label"):
        choose_targets(TWO, ["pos", "entity"], Limits())
    scores = Examples(("a",), ("one text",), label=np.array([0.5]))
    with pytest.raises(UserError, match="nothing to probe for"):
        choose_targets(scores, (), Limits())


# Samples


@pytest.fixture(scope="module")
def texts() -> Examples:
    """1,200 words of 40 types, whose `pos` has nothing to do with the type."""
    random = np.random.default_rng(0)
    types, pos = random.integers(0, 40, 1200), random.choice(["A", "B", "C"], 1200, p=[0.5, 0.3, 0.2])
    words = np.array([f"w{number}" for number in types])
    return made_texts(words, {"pos": pos}, label=random.integers(0, 2, 150))


def sampled(examples: Examples, name: str = "pos", **limits):
    (target,), _ = choose_targets(examples, [name], Limits(**limits))
    return draw_sample(target, examples, Limits(**limits), 0, np.ones(len(target), dtype=bool))


def test_no_text_is_on_two_sides_and_equal_texts_are_on_one(texts):
    sample = sampled(texts)
    sides = [set(sample.target.example[sample.items(part)]) for part in (FIT, SELECT, REPORT)]
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
    assert 0.6 < len(sides[0]) / 150 < 0.8
    doubled = replace(texts, text=texts.text[:75] * 2)
    parts = text_parts(doubled, 0)
    assert (parts[:75] == parts[75:]).all() and len(set(parts)) == 3


def test_a_sample_depends_on_the_texts_alone(texts):
    order = np.random.default_rng(1).permutation(len(texts))
    one, other = sampled(texts, words=100), sampled(texts.take(order), words=100)
    said = [
        {
            (examples.ids[row], *at)
            for row, at in zip(sample.target.example, sample.target.words.tolist(), strict=True)
        }
        for examples, sample in ((texts, one), (texts.take(order), other))
    ]
    assert said[0] == said[1]
    assert [len(one.items(part)) for part in (FIT, SELECT, REPORT)] == [100, 13, 100]
    fit = one.target.example[one.items(FIT)]
    assert len(set(fit)) == 1 + (np.diff(fit) != 0).sum()  # the words of a text come together


def test_balanced_samples_take_from_the_frequent_first(texts):
    plain, balanced = (sampled(texts, words=60, balanced=balanced) for balanced in (False, True))
    counts = [np.bincount(sample.target.label[sample.items(FIT)]) for sample in (plain, balanced)]
    assert counts[0].argmax() == 0 and counts[0].sum() == 60
    assert counts[1].tolist() == [20, 20, 20]


def test_too_few_texts_are_refused(texts):
    with pytest.raises(UserError, match="too few texts to probe for pos"):
        sampled(texts.take([0, 1]))


def test_a_control_task_gives_each_type_a_label_drawn_from_fits(texts):
    sample = sampled(texts)
    labels = control_labels(sample, 0)
    assert sample.target.type is not None
    by_type = {kind: set(labels[sample.target.type == kind]) for kind in range(40)}
    assert all(len(found) == 1 for found in by_type.values())
    assert (control_labels(sample, 1) != labels).any()
    shares = np.bincount([*map(min, by_type.values())], minlength=3) / 40
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 0.2


def test_baselines_by_hand():
    words = np.array(["x", "x", "y", "z"] * 40)
    pos = np.array(["A", "A", "B", "B"] * 40)
    sample = sampled(made_texts(words, {"pos": pos}, per_text=4))
    report = sample.items(REPORT)
    assert usual_label(sample).all()
    # A and B are equally frequent in fit: the first is the majority.
    assert (majority(sample) == (sample.target.label[report] == 0)).all()
    unseen = replace(sample.target, type=sample.target.type.copy())
    unseen.type[report] = 0
    swapped = replace(sample, target=replace(unseen, types=("new", "x", "y", "z")))
    swapped.target.type[sample.items(FIT)] += 1
    assert usual_label(swapped).tolist() == (sample.target.label[report] == 0).tolist()  # a new word: the majority


def by_hand(part: list[int], types: list[int], labels: list[int]) -> Sample:
    """Words, one to a text, in these parts, of these types and with these labels."""
    n = len(part)
    target = Target(
        "pos", np.arange(n), np.zeros((n, 1), dtype=int), np.array(labels), tuple("ABC"),
        tuple(f"w{at}" for at in range(max(types) + 1)), np.array(types),
    )  # fmt: skip
    return Sample(target, np.array(part))


def test_what_stands_beside_a_probe_is_learned_from_fit_alone():
    """Word 0 is mostly A in fit and always B in report; A is the majority in fit, B in report."""
    sample = by_hand([FIT] * 5 + [REPORT] * 4, [0, 0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 1, 1, 1, 0])
    assert majority(sample).tolist() == [False, False, False, True]
    assert usual_label(sample).tolist() == [False, False, False, True]


def test_control_labels_are_as_frequent_as_fits():
    many = [*range(5000)] * 2
    sample = by_hand([FIT] * 5000 + [REPORT] * 5000, many, [0] * 3500 + [1] * 1500 + [2] * 5000)
    labels = control_labels(sample, 0)
    assert (labels[:5000] == labels[5000:]).all()
    np.testing.assert_allclose(np.bincount(labels, minlength=3) / 1e4, [0.7, 0.3, 0], atol=0.02)


# What is measured


def stack_of(examples: Examples, *layers: np.ndarray, name: str = "pos", **limits):
    rows = {"planted": Rows(made_store(examples, layers), examples)}
    sample = sampled(examples, name, **limits)
    (vectors,) = gather(rows, sample, "cpu")
    return vectors, sample


def test_selectivity_tells_a_label_from_a_type(texts):
    types = np.array([int(word[1:]) for row in texts.words for word in row])
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    vectors, sample = stack_of(texts, one_hot(types, 41), one_hot(pos, 41))
    found = accuracies(vectors, sample, Training(rate=0.05), Resampling(texts.ids, repeats=100))
    (type_accuracy, label_accuracy), (type_control, label_control) = found.target[0], found.control[0]
    assert label_accuracy == 1 and type_control > 0.97  # what is in the vectors is read
    report = sample.items(REPORT)
    frequent, frequent_control = (
        np.bincount(labels[report]).max() / len(report) for labels in (sample.target.label, control_labels(sample, 0))
    )
    assert type_accuracy < frequent + 0.03 and label_control < frequent_control + 0.03  # what isn't, isn't
    assert found.select_loss.argmin() == 1


def test_an_accuracy_is_as_sure_as_its_texts_are_many(texts):
    """Every second text of report has another label's vectors: all of a text's words are right, or none is."""
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    wrong = np.flatnonzero(text_parts(texts, 0) == REPORT)[::2]
    shown = np.where(np.isin(np.repeat(np.arange(150), 8), wrong), (pos + 1) % 3, pos)
    vectors, sample = stack_of(texts, one_hot(shown, 3))
    draws = accuracies(vectors, sample, Training(rate=0.05), Resampling(texts.ids, repeats=2000)).target[:, 0]
    held_out = len(np.unique(sample.target.example[sample.items(REPORT)]))
    share = 1 - len(wrong) / held_out
    assert draws[0] == pytest.approx(share)
    assert draws[1:].std() == pytest.approx(math.sqrt(share * (1 - share) / held_out), rel=0.1)


def test_vectors_are_those_of_the_words_and_standardised_over_fit(texts):
    random = np.random.default_rng(0)
    layer = random.normal(3, 5, size=(1200, 6))
    vectors, sample = stack_of(texts, layer, layer * 2)
    fit = sample.items(FIT)
    place = sample.target.example * 8 + sample.target.words[:, 0]
    expected = (layer[place] - layer[place[fit]].mean(0)) / layer[place[fit]].std(0)
    read = vectors.read(torch.arange(len(place)))[0]
    np.testing.assert_allclose(read[:, 0].numpy(), expected, atol=1e-4)
    np.testing.assert_allclose(read[:, 1].numpy(), expected, atol=1e-4)  # twice as long is the same


def test_a_texts_vector_is_the_mean_of_its_words(texts):
    layer = np.random.default_rng(0).normal(size=(1200, 3))
    rows = Rows(made_store(texts, [layer]), texts)
    (target,), _ = choose_targets(texts, ["label"], Limits())
    means = rows.vectors(0, "text", rows.of(target)[:, 0])
    np.testing.assert_allclose(means, layer.reshape(150, 8, 3).mean(1), atol=1e-6)


def test_a_word_without_a_vector_is_left_out_everywhere(texts):
    store = made_store(texts, [np.ones((1200, 2))])
    some = replace(store, starts=np.concatenate([[0], store.starts[1:] - 1]), words=store.words[1:],
                   array=store.array[1:])  # fmt: skip
    (target,), _ = choose_targets(texts, ["pos"], Limits())
    assert not have_vectors({"a": Rows(store, texts), "b": Rows(some, texts)}, target)[0]
    assert have_vectors({"a": Rows(store, texts), "b": Rows(some, texts)}, target)[1:].all()


def test_the_portions_of_an_online_code():
    assert portion_ends(1000) == [1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000]
    assert portion_ends(10) == [1, 2, 5, 10]
    # 3 labels of 4 classes at 2 bits, then two portions that cost 1.5 and 2 bits.
    nats = np.array([[1.5], [2.0]]) * math.log(2)
    assert online_code(3, 4, nats).tolist() == pytest.approx([9.5])


def test_a_code_is_what_each_portion_costs_a_probe_of_those_before_it(texts):
    random = np.random.default_rng(0)
    vectors, sample = stack_of(texts, random.normal(size=(1200, 4)), random.normal(size=(1200, 4)), words=200)
    training = Training(looks=5)
    fit, label = sample.items(FIT), torch.from_numpy(sample.target.label)
    expected = portion_ends(len(fit))[0] * math.log2(3) * np.ones(2)
    for end, after in zip(portion_ends(200), portion_ends(200)[1:], strict=False):
        answers = label.expand(2, -1)
        select = torch.from_numpy(sample.items(SELECT))
        probes = train_probes(vectors, [[0], [1]], answers, 3, torch.from_numpy(fit[:end]), select, training)
        said = torch.cat([said for _, said in probes.log_probabilities(torch.from_numpy(fit[end:after]))], 1)
        for probe in range(2):
            for place, item in enumerate(fit[end:after]):
                expected[probe] -= said[probe, place, label[item]].item() / math.log(2)
    np.testing.assert_allclose(codelengths(vectors, sample, training), expected, rtol=1e-5)


def test_a_label_in_the_vectors_makes_a_short_code_and_noise_none(texts):
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    noise = np.random.default_rng(0).normal(size=(1200, 3))
    vectors, sample = stack_of(texts, noise, one_hot(pos, 3))
    n = len(sample.items(FIT))
    of_noise, of_label = n * math.log2(3) / codelengths(vectors, sample, Training(rate=0.05))
    counts = np.bincount(sample.target.label[sample.items(FIT)])
    prior = -(counts / n * np.log2(counts / n)).sum()
    assert 0.95 < of_noise < math.log2(3) / prior + 0.01  # at best the labels' frequencies
    assert of_label > 8


def test_the_expected_layer_by_hand():
    # Gains of 0.2 at layers 1 and 2: in the middle. Losses count as losses.
    assert expected_layer(np.array([0.5, 0.7, 0.9, 0.9]), [0, 1, 2, 3]) == pytest.approx(1.5)
    assert expected_layer(np.array([0.5, 0.4, 0.9]), [0, 1, 2]) == pytest.approx((-0.1 * 1 + 0.5 * 2) / 0.4)
    both = expected_layer(np.array([[0.5, 0.5, 1.0], [0.9, 0.8, 0.9]]), [0, 1, 2])
    assert both[0] == 2 and np.isnan(both[1])  # nothing was gained


def test_a_mix_gains_where_the_label_comes_in(texts):
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    random = np.random.default_rng(0)
    noise = [random.normal(size=(1200, 4)) for _ in range(5)]
    for layer in (3, 4):
        noise[layer][:, :3] += 8 * one_hot(pos, 3)
    vectors, sample = stack_of(texts, *noise)
    draws = cumulative(vectors, sample, Training(rate=0.05), Resampling(texts.ids, repeats=100))
    assert draws[0, :3].max() < 0.6 and draws[0, 3:].min() > 0.97
    assert expected_layer(draws, range(5))[0] == pytest.approx(3, abs=0.2)


def test_intervals_resample_texts_with_all_their_words():
    hits = np.array([[1, 0], [1, 0], [0, 1], [1, 1], [0, 0]])
    texts = np.array([2, 2, 0, 2, 0])
    resampling = Resampling(["a", "b", "c"], repeats=50)
    draws = text_draws(hits, texts, resampling)
    weights = resampling.weights(np.array([0, 2]))
    sums, counts = np.array([[0, 1], [3, 1]]), np.array([[2.0], [3.0]])
    with np.errstate(invalid="ignore"):
        expected = (weights @ sums) / (weights @ counts)
    np.testing.assert_allclose(draws, expected)
    assert draws[0].tolist() == [0.6, 0.4]


# The question


QUICK = bertscope.ProbeConfig(words=300, repeats=100, types=5)


def test_checkpoints_side_by_side(tiny):
    examples = bertscope.read_examples("demo/corpus", limit=120)
    store = bertscope.hidden(tiny, examples)
    result = bertscope.probe([store, store], examples, replace(QUICK, targets=("pos", "relation", "length")))
    probes = result.tables["probes"]
    names = ["BertForSequenceClassification", "BertForSequenceClassification (2)"]
    assert list(probes["checkpoint"].unique()) == names
    assert sorted(probes["layer"].unique()) == [0, 1, 2, 3] and set(probes["probe"]) == {"linear", "mlp"}
    changes = result.tables["changes"]
    assert len(changes) == 3 * 2 * 4 and (changes[["change", "low", "high"]] == 0).all(axis=None)
    assert set(result.tables["selectivity"]["target"]) == {"pos", "relation"}
    assert set(result.tables["expected"]["target"]) == {"pos", "relation", "length"}
    about = result.tables["targets"].set_index("target")
    uniform = about.loc["pos", "fit"] * np.log2(about.loc["pos", "classes"])
    linear = probes.query("probe == 'linear' and target == 'pos'")
    np.testing.assert_allclose(linear["compression"], uniform / linear["codelength"])
    lengths = probes.query("probe == 'linear' and target == 'length'")
    assert about.loc["length", "fit"] > 2 * about.loc["length", "report"]
    np.testing.assert_allclose(lengths["bits_per_label"], lengths["codelength"] / about.loc["length", "fit"])
    assert probes.query("probe == 'mlp'")["codelength"].isna().all()
    selective = result.tables["selectivity"]
    np.testing.assert_allclose(selective["selectivity"], selective["accuracy"] - selective["control"])
    assert (selective["control"] != selective["accuracy"]).any()
    assert (probes["low"] <= probes["accuracy"]).all() and (probes["accuracy"] <= probes["high"]).all()
    assert result.number("mean accuracy").low is not None
    assert any("no control task for length" in note for note in result.notes)


def test_the_headline_has_the_layer_that_select_chooses(tiny):
    examples = bertscope.read_examples("demo/corpus", limit=120)
    result = bertscope.probe(tiny, examples, replace(QUICK, targets=("pos",), probes=("linear",), code=False))
    probes = result.tables["probes"]
    best = probes.loc[probes["select_loss"].idxmin()]
    number = result.headline[1]
    assert number.name == f"pos, layer {best['layer']}" and number.value == best["accuracy"]
    assert "codelength" not in probes


def test_nothing_is_chosen_on_report(texts):
    """Layer 0 tells the label in fit and select, layer 1 in fit and report: select takes the one that then fails."""
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    part = np.repeat(text_parts(texts, QUICK.seed), 8)
    told, noise = one_hot(pos, 3), one_hot(np.random.default_rng(0).permutation(pos), 3)
    layers = [np.where((part == hidden)[:, None], noise, told) for hidden in (REPORT, SELECT)]
    result = bertscope.probe(made_store(texts, layers), texts, replace(QUICK, targets=("pos",), probes=("linear",)))
    accuracy = result.tables["probes"].set_index("layer")["accuracy"]
    assert accuracy[0] < accuracy[1] < 0.6, "where select says that nothing is learned, a probe stays as it began"
    assert result.number("pos, layer 0").value == accuracy[0]


def test_checkpoints_of_different_widths_are_probed_alike(texts):
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    stores = [made_store(texts, [one_hot(pos, dim)] * 2, name=f"dim {dim}") for dim in (4, 7)]
    result = bertscope.probe(stores, texts, replace(QUICK, targets=("pos",), probes=("linear",)))
    assert (result.tables["probes"]["accuracy"] == 1).all() and len(result.tables["probes"]) == 4
    assert (result.tables["changes"]["change"] == 0).all()


def test_the_last_checkpoint_is_the_one_given_last_whatever_its_width(texts):
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    noise = np.random.default_rng(0).normal(size=(1200, 4))
    given = {"first": noise, "wide": np.hstack([noise, noise]), "last": one_hot(pos, 4)}
    stores = [made_store(texts, [layer] * 2, name=name) for name, layer in given.items()]
    result = bertscope.probe(stores, texts, replace(QUICK, targets=("pos",), code=False))
    for table in ("probes", "expected"):
        assert list(result.tables[table]["checkpoint"].unique()) == [*given], table
    assert result.number("mean accuracy").value == 1 and "the numbers are those of last" in result.notes
    assert set(result.tables["changes"].query("checkpoint == 'last'")["change"]) == {
        1 - result.tables["probes"]["accuracy"][0]
    }


def test_nothing_is_claimed_of_a_gain_that_may_be_noise(texts):
    noise = [np.random.default_rng(layer).normal(size=(1200, 3)) for layer in range(3)]
    result = bertscope.probe(made_store(texts, noise), texts, replace(QUICK, targets=("pos",), probes=("linear",)))
    row = result.tables["expected"].iloc[0]
    assert row["gain_low"] <= row["gain"] / 2 and np.isnan(row["expected"]) and np.isnan(row["low"])
    pos = np.unique([one for row in texts.marks["pos"] for one in row], return_inverse=True)[1]
    noise[2] = noise[2] + 8 * one_hot(pos, 3)
    result = bertscope.probe(made_store(texts, noise), texts, replace(QUICK, targets=("pos",), probes=("linear",)))
    row = result.tables["expected"].iloc[0]
    assert row["expected"] == pytest.approx(2, abs=0.4) and row["low"] <= row["expected"] <= row["high"]


def test_an_expected_layer_needs_a_gain_known_to_within_half_of_itself(texts, monkeypatch):
    """A gain of 0.4 in two steps, at 2.5% no less than 0.1 (surely there, but not by how much) or than 0.3."""
    store = made_store(texts, [np.random.default_rng(0).normal(size=(1200, 3))] * 3)
    config = replace(QUICK, targets=("pos",), probes=("linear",), code=False)
    for least, given in ((0.1, False), (0.3, True)):
        gains = np.concatenate([[0.4], np.linspace(least, 0.8 - least, 101)])[:, None] * [0, 0.25, 1]
        monkeypatch.setattr("bertscope.analyses.probe.asked.cumulative", lambda *_, gains=gains: 0.5 + gains)
        row = bertscope.probe(store, texts, config).tables["expected"].iloc[0]
        assert row["gain"] == pytest.approx(0.4) and 0 < row["gain_low"] < least + 0.02
        assert row["expected"] == pytest.approx(0.25 * 1 + 0.75 * 2) if given else np.isnan(row["expected"])


def test_a_target_of_too_few_texts_is_left_out_unless_it_was_asked_for(texts):
    marked = tuple(tuple("xy"[at] if at < 2 and not row else "" for at in range(8)) for row in range(len(texts)))
    few = replace(texts, marks={**texts.marks, "gender": marked}, label=None)  # one text has all there is
    store = made_store(few, [np.random.default_rng(0).normal(size=(1200, 3))])
    config = replace(QUICK, probes=("linear",), code=False, expected=False)
    result = bertscope.probe(store, few, config)
    assert set(result.tables["probes"]["target"]) == {"pos", "word"}
    assert any("left out: too few texts to probe for gender" in note for note in result.notes)
    with pytest.raises(UserError, match="too few texts to probe for gender"):
        bertscope.probe(store, few, replace(config, targets=("gender",)))


def test_it_is_a_step_that_shares_the_states(tmp_path, tiny):
    from bertscope.core.catalogue import spec

    folder = tiny.save(tmp_path / "model")
    corpus = examples_root("demo/corpus", limit=120)
    config = replace(QUICK, targets=("gender",), probes=("linear",), expected=False)
    step = spec("probe").plan(model_root(folder), corpus, config)
    assert [before.name for before in step.before()] == ["states"]
    store = Store(tmp_path / "store")
    store.run(step)
    assert list(store.result(step).tables["probes"]["target"].unique()) == ["gender"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"probes": ("linaer",)}, "did you mean 'linear'"),
        ({"probes": ()}, "no probes"),
        ({"targets": ("pos", "poss")}, "unknown target 'poss'; did you mean 'pos'"),
        ({"words": 3}, "words is 3; it must be at least 10"),
        ({"repeats": 5}, "repeats is 5"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, said):
    with pytest.raises(UserError, match=said):
        bertscope.ProbeConfig(**wrong)
