"""`mislabelled`: exchanged labels are found where texts tell the label, and none is doubted where they don't."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.data.read import read_task
from bertscope.data.relabelled import by_chance, flipped_rows, folds_of, held_out_fold, with_flipped_labels
from bertscope.data.task import Task
from bertscope.experiments.mislabelled.measure import auc, confident_others, detected_by, measure
from bertscope.experiments.mislabelled.question import MislabelledConfig, check, mislabelled
from short_training import make_task


def planted(n: int, labels: int = 2, seed: int = 0) -> Task:
    """Texts that name their label."""
    generator = np.random.default_rng(seed)
    gold = generator.integers(labels, size=n)
    texts = tuple(f"row {place} says {one}" for place, one in enumerate(gold))
    rows = Examples(tuple(f"train:{place}" for place in range(n)), texts, label=gold)
    few = rows.take(range(20))
    return Task("planted", "classification", tuple("abc"[:labels]), rows, few, few, "accuracy")


def training(task: Task, outputs: np.ndarray, p: np.ndarray | None = None) -> Result:
    arrays = {"outputs": outputs}
    if p is not None:
        arrays |= {"row_probability": p, "row_right": (p > 0.5).astype(np.uint8)}
    return Result("finetune", 5, {}, arrays=arrays, provenance={"data": task.fingerprint})


def asked(task: Task, config: MislabelledConfig, knows) -> Result:
    """The answer for trainings that say `knows(task, rows)` [row, label] of rows that they haven't seen."""
    inputs: dict[str, list[Result]] = {}
    for arm, labelled in (("", task), ("_flipped", with_flipped_labels(task, config.flip, config.seed))):
        shares = knows(labelled, np.arange(len(labelled.train)))
        p = np.repeat(shares[np.arange(len(shares)), labelled.train.label][None], 5, 0).astype(np.float32)
        inputs[f"whole{arm}"] = [training(labelled, np.zeros((0, 2)), p)]
        folds = []
        for fold in range(1, config.folds + 1):
            held = held_out_fold(labelled, fold, config.folds)
            rows = np.flatnonzero(folds_of(labelled, config.folds) == fold - 1)
            folds.append(training(held, np.log(knows(labelled, rows))))
        inputs[f"folds{arm}"] = folds[::-1]  # their order says nothing
    return measure(**inputs, task=task, config=config)


def by_text(task: Task, rows: np.ndarray) -> np.ndarray:
    """Who reads the text: 9 of 10 of its label."""
    told = np.array([int(task.train.text[row].split()[-1]) for row in rows])
    rest = 0.1 / (len(task.labels) - 1)
    return np.where(np.arange(len(task.labels)) == told[:, None], 0.9, rest)


def by_nothing(task: Task, rows: np.ndarray) -> np.ndarray:
    """Who knows the labels' shares alone, with noise of its own."""
    share = np.bincount(task.train.label, minlength=len(task.labels)) / len(task.train)
    noise = np.random.default_rng(int(rows.sum())).normal(scale=0.5, size=(len(rows), len(share)))
    made = share * np.exp(noise)
    return made / made.sum(1, keepdims=True)


@pytest.mark.parametrize("labels", [2, 3])
def test_who_reads_the_text_finds_all_and_doubts_the_ones_that_are_wrong(labels):
    task, config = planted(400, labels), MislabelledConfig()
    wrong = task.train.label.copy()
    wrong[[3, 77]] = (wrong[[3, 77]] + 1) % labels
    task = replace(task, train=replace(task.train, label=wrong))
    result = asked(task, config, by_text)
    assert not {3, 77} & set(np.flatnonzero(flipped_rows(task, 0.05, 0))) and result["recall"].value == 1.0
    assert sorted(result.tables["doubted"]["row"]) == ["train:3", "train:77"] and result["doubted"].value == 2
    first = result.tables["doubted"].set_index("row").loc["train:3"]
    assert first["suggested"] == "abc"[int(task.train.text[3].split()[-1])] and first["gold"] == "abc"[wrong[3]]
    assert first["p_suggested"] == pytest.approx(0.9) and first["learnt"] == "never"
    row = result.tables["check"].set_index("detector").loc["held_out"]
    assert row["exchanged"] == 20 and row["certain"] and row["precision"] >= 18 / 22
    assert "of the data's own labels are doubted" in mislabelled.sentence(result).sentence
    (told,) = mislabelled.consequences(result)
    assert told.text.startswith("2 training labels may be wrong") and not told.is_open


@pytest.mark.parametrize("share", [0.9, pytest.param(0.5, marks=pytest.mark.slow)])
def test_where_texts_say_nothing_nothing_is_claimed_beyond_chance(share):
    """200 draws of labels that nothing tells, balanced or not: as often certain as a sound test is."""
    certain = 0
    for seed in range(200):
        task = planted(200, seed=seed)
        gold = (np.random.default_rng(1000 + seed).random(200) > share).astype(np.int64)
        task = replace(task, train=replace(task.train, label=gold))
        config = MislabelledConfig(seed=seed, folds=2, flip=0.1)
        noisy = with_flipped_labels(task, config.flip, seed)
        flipped, shares = flipped_rows(task, config.flip, seed), by_nothing(noisy, np.arange(200))
        label = noisy.train.label
        of_label = shares[np.arange(200), label]
        certain += detected_by(of_label, confident_others(shares, label) >= 0, flipped, label).is_more_than_chance
    assert certain <= 18


def test_an_answer_without_a_signal_lists_no_row():
    result = asked(planted(120), MislabelledConfig(folds=2), by_nothing)
    if not result.tables["check"].set_index("detector").loc["held_out", "certain"]:
        assert result["doubted"].value == 0 and result.tables["doubted"].empty
        assert "no more often than by chance" in result.notes[0]
        assert mislabelled.consequences(result)[0].is_open
        assert mislabelled.sentence(result).sentence.endswith("no label is doubted.")


def test_chance_within_labels_against_draws():
    generator = np.random.default_rng(0)
    label = (generator.random(60) < 0.3).astype(int)
    flipped, doubted = generator.random(60) < 0.2, generator.random(60) < 0.4
    drawn = []
    for _ in range(4000):
        other = np.zeros(60, bool)
        for one in (0, 1):
            rows = np.flatnonzero(label == one)
            other[generator.choice(rows, (doubted & (label == one)).sum(), replace=False)] = True
        drawn.append((other & flipped).sum())
    for found in (2, 4, 6):
        expected, p = by_chance(found, doubted, flipped, label)
        assert expected == pytest.approx(np.mean(drawn), abs=0.1)
        assert p == pytest.approx(np.mean(np.array(drawn) >= found), abs=0.03)
    one = np.zeros(60, int)
    assert by_chance(3, doubted, flipped, one)[1] == pytest.approx(hypergeom.sf(2, 60, flipped.sum(), doubted.sum()))


def test_too_few_labels_to_show_anything_are_refused_before_any_training():
    with pytest.raises(
        UserError, match=r"flip is 0\.05: the one label of 24 that it exchanges could be found by luck"
    ):
        check(planted(24), MislabelledConfig(folds=2))
    check(planted(24), MislabelledConfig(folds=2, flip=0.2))
    check(planted(120), MislabelledConfig(folds=2))


def test_by_hand():
    shares = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    label = np.array([0, 0, 1, 1, 1])
    # Usual: .55 of the first label, .667 of the second. Row 1 has .8 of the other; row 3 .6 of the first.
    assert confident_others(shares, label).tolist() == [-1, 1, -1, 0, -1]
    flipped = np.array([False, True, False, False, False])
    assert auc(shares[np.arange(5), label], flipped) == 1.0
    found = detected_by(shares[np.arange(5), label], np.array([False, True, False, True, False]), flipped, label)
    assert (found.doubted, found.found, found.average_precision) == (2, 1, 1.0)
    assert found.expected == pytest.approx(0.5) and found.p == pytest.approx(0.5)


def test_auc_and_average_precision_are_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics")
    generator = np.random.default_rng(1)
    score, flipped = generator.random(100), generator.random(100) < 0.2
    found = detected_by(score, score < 0.2, flipped, np.zeros(100, int))
    assert found.auc == pytest.approx(metrics.roc_auc_score(flipped, -score))
    assert found.average_precision == pytest.approx(metrics.average_precision_score(flipped, -score))


def test_labels_are_exchanged_and_folds_held_out_as_the_options_say():
    task = make_task()
    noisy = read_task(task, flip=0.1, flip_seed=3)
    changed = noisy.train.label != task.train.label
    assert changed.sum() == 6 and np.array_equal(changed, flipped_rows(task, 0.1, 3))
    assert np.array_equal(noisy.test.label, task.test.label)
    held = [read_task(task, flip=0.1, flip_seed=3, fold=(fold, 3)) for fold in (1, 2, 3)]
    assert sorted(one for each in held for one in each.test.ids) == sorted(task.train.ids)
    for each in held:
        assert not set(each.test.text) & set(each.train.text), "rows of the same text are in one fold"
        told = dict(zip(noisy.train.ids, noisy.train.label, strict=True))
        assert [told[one] for one in each.test.ids] == each.test.label.tolist()
    three = with_flipped_labels(planted(300, 3), 0.4, 0)
    moved = (three.train.label - planted(300, 3).train.label) % 3
    assert set(moved.tolist()) == {0, 1, 2} and abs((moved == 1).sum() - (moved == 2).sum()) < 40


def test_mistakes():
    with pytest.raises(UserError, match=r"flip is 0\.6; give a share of the labels above 0, and 0\.4 at most"):
        MislabelledConfig(flip=0.6)
    with pytest.raises(UserError, match="epochs is 4; it must be at least 5"):
        MislabelledConfig(epochs=4)
    with pytest.raises(UserError, match=r"fold is \(6, 5\); give which of how many"):
        read_task(make_task(), fold=(6, 5))
    with pytest.raises(UserError, match="has no single label for each row"):
        read_task(make_task(regression=True), flip=0.1)
    with pytest.raises(UserError, match="ask for fewer folds, or give more rows"):
        few = make_task()
        mislabelled.check(replace(few, train=few.train.take(range(4))), MislabelledConfig(folds=5))


@pytest.mark.slow
def test_trained_for_real(pocket, tmp_path):
    base = pocket.save(tmp_path / "base")
    result = mislabelled(str(base), make_task(), folds=2, flip=0.1, learning_rate=5e-4, store=tmp_path / "store")
    checked = result.tables["check"].set_index("detector").loc["held_out"]
    assert checked["found"] >= 4 > 2 * checked["expected"]
    flipped, others = 12, 108
    error = ((flipped + others + 1) / (12 * flipped * others)) ** 0.5  # of the area by chance
    assert checked["auc"] > 0.5 + 3 * error
    assert result["never_learnt"].value <= 6
    assert len(list((tmp_path / "store" / "steps").glob("finetune-*"))) == 6
