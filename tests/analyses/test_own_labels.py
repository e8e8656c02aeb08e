"""Labels of maps of one's own model: which maps are drawn, the file, and what `patterns` makes of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.patterns.measure import LabelledCalls, PatternsReader
from bertscope.analyses.patterns.question import PatternsConfig, patterns
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.own_labels import OwnLabels, Places, digest_of_texts, labels_root, read_labels
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from labelling_maps import labelled, saved
from planted_features import pairs, planted

FEW = PatternsConfig(repeats=100)
KINDS = {"previous": "diagonal", "sep": "vertical", "segment": "block", "uniform": "block"}
HEADS = list(KINDS.values())


@pytest.fixture(scope="module")
def heads(_pocket):
    return planted(_pocket.tokenizer, tuple(KINDS))


def as_planted(row: int, unit: Unit) -> str:
    return HEADS[unit.index]


def as_a_stranger(row: int, unit: Unit) -> str:
    """Who calls the third head's maps heterogeneous on every second text, where the classifier says block."""
    return "heterogeneous" if unit.number == 3 and row % 2 else HEADS[unit.index]


def test_the_draw_is_the_same_on_every_machine_and_goes_on():
    first = Places.drawn(600, [12] * 12, 0, 100)
    more = Places.drawn(600, [12] * 12, 0, 300)
    assert more.rows[:100].tolist() == first.rows.tolist() and list(more.units[:100]) == list(first.units)
    assert [(int(row), str(unit)) for row, unit in zip(first.rows[:3], first.units, strict=False)] == [
        (391, "head:6.8"), (420, "head:9.9"), (232, "head:4.4"),
    ]  # fmt: skip
    other = Places.drawn(600, [12] * 12, 1, 100)
    assert other.rows.tolist() != first.rows.tolist()


def test_every_map_is_drawn_alike_and_none_twice():
    """Of 7 texts and 5 heads: 10 of 35 maps, 700 draws, each map 200 times but for chance (a deviation is 12)."""
    counts: Counter[tuple[int, Unit]] = Counter()
    for seed in range(700):
        places = Places.drawn(7, [2, 0, 3], seed, 10)
        drawn = set(zip(places.rows.tolist(), places.units, strict=True))
        assert len(drawn) == 10
        counts.update(drawn)
    assert len(counts) == 35 and {unit.layer for _, unit in counts} == {1, 3}
    assert max(abs(count - 200) for count in counts.values()) < 4 * (700 * 2 / 7 * 5 / 7) ** 0.5
    assert len(Places.drawn(7, [2, 0, 3], 0, 100).rows) == 35, "there are no more"


def test_labels_as_the_classifier_has_them_change_nothing_but_the_interval(heads):
    texts = pairs(40)
    plain = patterns(heads, texts, FEW)
    found = patterns(heads, texts, FEW, labels=labelled(heads, texts, as_planted))
    models, before = found.tables["models"], plain.tables["models"]
    assert "by" not in before and set(models["by"]) == {"labels"}
    np.testing.assert_allclose(models["share"], before["share"], atol=0.03)
    for name, column in (("classifiers", "share"), ("classifiers_low", "low"), ("classifiers_high", "high")):
        np.testing.assert_array_equal(models[name], before[column])
    for name in ("layers", "shares", "heads", "model_parts"):
        assert found.tables[name].equals(plain.tables[name]), "labels tell nothing of a single head"


def test_what_the_classifier_gets_wrong_is_put_right(heads):
    """An eighth of all maps are heterogeneous by the labels, and none by the classifier."""
    texts = pairs(40)
    labels = labelled(heads, texts, as_a_stranger)
    found = patterns(heads, texts, FEW, labels=labels)
    models = found.tables["models"].set_index("class")
    row = models.loc["heterogeneous"]
    assert row["classifiers"] < 0.01 and row["low"] < 0.125 < row["high"] and row["low"] > 0
    said = np.mean([one.label == "heterogeneous" for one in labels.labels])
    assert row["share"] == pytest.approx(said + row["classifiers"], abs=0.02)
    assert models["share"].sum() == pytest.approx(1)
    number = found["heterogeneous"]
    assert (number.value, number.low, number.high) == (row["share"], row["low"], row["high"])
    assert "your labels of 100 maps" in found.notes[-1] and "calls" in found.notes[-1]
    assert found.in_words().tables["models"]["by"].unique().tolist() == ["your labels"]


def test_the_classifier_is_asked_of_the_very_maps_that_were_drawn(tiny):
    """Whatever the batches: what it calls them, and all of their text, is what it says without labels."""
    texts = Examples(
        tuple(map(str, range(30))), tuple("the old house by a long road " * (1 + row % 5) for row in range(30))
    )
    labels = labelled(tiny, texts, lambda row, unit: "block", count=60)
    calls = LabelledCalls(labels, {"tiny": tiny}, texts, FEW)
    reader = PatternsReader({"tiny": tiny}, texts, FEW, labelled=calls)
    read_maps([tiny], texts, [reader], tokens=100, window=7)
    drawn = Places.drawn(30, tiny.head_counts, 0, 60)
    for place, (row, unit) in enumerate(zip(drawn.rows, drawn.units, strict=True)):
        alone = patterns(tiny, texts.take([row]), FEW).tables["heads"].set_index(["layer", "head"])["class"]
        assert CLASSES[calls.called[place]] == alone[unit.layer, unit.number]
        shares = alone.value_counts(normalize=True).reindex(CLASSES, fill_value=0)
        np.testing.assert_allclose(calls.shares[place], shares, atol=1e-6)
        if place == 8:
            break


def test_of_several_checkpoints_the_labelled_one_is_corrected(heads, pocket):
    texts = pairs(40)
    other = planted(pocket.tokenizer, ("sep", "sep", "segment", "uniform"))
    found = patterns([other, heads], texts, FEW, labels=labelled(heads, texts, as_a_stranger))
    by = found.tables["models"].groupby("checkpoint", sort=False)["by"].agg(set)
    assert by.tolist() == [{"classifiers"}, {"labels"}]
    first = found.tables["models"].query("by == 'classifiers'")
    np.testing.assert_array_equal(first["share"], first["classifiers"])


def test_the_file_comes_back_as_it_was(heads, tmp_path):
    labels = labelled(heads, pairs(40), as_a_stranger, count=40)
    back = read_labels(saved(labels, tmp_path / "labels.jsonl"))
    assert replace(back, source=labels.source) == labels
    lines = (tmp_path / "labels.jsonl").read_text().splitlines()
    assert set(json.loads(lines[1])) == {"text", "layer", "head", "label"} and len(lines) == 41
    assert json.loads(lines[0])["model"] == heads.record.id


def test_the_answer_is_known_by_what_the_file_holds(heads, tmp_path):
    """More labels are another question; another name is not. Without labels nothing is new."""
    path = saved(labelled(heads, pairs(40), as_planted, count=40), tmp_path / "one.jsonl")
    root = labels_root(path)
    assert labels_root(path.rename(tmp_path / "two.jsonl")).digest == root.digest
    more = saved(labelled(heads, pairs(40), as_planted, count=41), tmp_path / "two.jsonl")
    assert labels_root(more).digest != root.digest


def test_texts_are_known_by_what_a_model_reads_of_them():
    texts = pairs(10)
    assert digest_of_texts(replace(texts, label=np.arange(10), name="mine")) == digest_of_texts(texts)
    assert digest_of_texts(texts.take(range(9))) != digest_of_texts(texts)
    assert digest_of_texts(replace(texts, text=texts.text[::-1])) != digest_of_texts(texts)


def test_labels_that_tell_nothing_are_refused(heads, tiny):
    texts = pairs(40)
    labels = labelled(heads, texts, as_planted)

    def refused(said: str, model=heads, read=texts, of: OwnLabels = labels, config: PatternsConfig = FEW) -> None:
        with pytest.raises(UserError, match=said) as error:
            patterns(model, read, config, labels=of)
        assert "\n" not in str(error.value)

    refused("not norm-weighted; leave out", config=PatternsConfig(repeats=100, weighted=True))
    refused("not of .*; name that model", model=tiny)
    refused("these are other texts; read the same data", read=pairs(39))
    refused("has 29 labelled maps, and 30 are the least", of=replace(labels, labels=labels.labels[:29]))
    chosen = replace(labels, labels=labels.labels[1:])
    refused("map 1 isn't the one that was drawn there with seed 0", of=chosen)
    refused("map 1 isn't", of=replace(labels, seed=3))
    again = replace(labels, labels=labels.labels * 2)
    refused("map 101 isn't", of=again)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\n1,block\n", "isn't a file of labelled maps"),
        ('{"labels_of_maps": 9}\n', "another version"),
        ("", "isn't a file of labelled maps"),
        ("[1, 2]\n", "isn't a file of labelled maps"),
    ],
)
def test_other_files_are_refused(tmp_path, text, said):
    (tmp_path / "labels.jsonl").write_text(text)
    with pytest.raises(UserError, match=said):
        read_labels(tmp_path / "labels.jsonl")


def test_files_with_a_wrong_label_or_none_are_refused(heads, tmp_path):
    with pytest.raises(UserError, match=r"there is no file .*; bertscope train-patterns --label makes it"):
        read_labels(tmp_path / "nowhere.jsonl")
    path = saved(labelled(heads, pairs(40), as_planted), tmp_path / "labels.jsonl")
    path.write_text(path.read_text().replace('"block"', '"blok"', 1))
    with pytest.raises(UserError, match="is labelled 'blok'; did you mean 'block'"):
        read_labels(path)
    with pytest.raises(UserError, match="give its path"):
        labels_root(labelled(heads, pairs(40), as_planted))
