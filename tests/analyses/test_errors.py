"""Where a model goes wrong: against scikit-learn, against plain loops, and where mistakes are planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from bertscope.analyses.errors.measure import _shares
from bertscope.analyses.errors.question import ErrorsConfig, errors
from bertscope.analyses.errors.result import sentence
from bertscope.core.calibration import calibration
from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.intervals import interval
from bertscope.core.resampling import metric_draws
from bertscope.data.task import Task
from bertscope.models.judge import judge_without
from bertscope.models.sentence_vectors import sentence_vectors
from planted_kinds import PLANTED

QUICK = ErrorsConfig(repeats=200, permutations=199)
KINDS = list(PLANTED)


def flipped(examples: Examples, rows: np.ndarray) -> Examples:
    """The examples with the other of two labels in some rows."""
    label = np.array(examples.label)
    label[rows] = 1 - label[rows]
    return replace(examples, label=label)


@pytest.fixture(scope="module")
def model(_pocket):
    return PLANTED["classification"].model(_pocket.tokenizer)


@pytest.fixture(scope="module")
def slipping() -> Task:
    """A task of which the model gets rows wrong that say `house`, two of three times, and few others."""
    task = PLANTED["classification"].task(300)
    generator = np.random.default_rng(0)
    house = np.array(["house" in text for text in task.test.text])
    wrong = generator.random(300) < np.where(house, 0.66, 0.04)
    return replace(task, test=flipped(task.test, np.flatnonzero(wrong)))


@pytest.fixture(scope="module")
def found(model, slipping):
    return errors(model, slipping, replace(QUICK, null=True))


@pytest.fixture(scope="module")
def answers(model, slipping) -> tuple[np.ndarray, np.ndarray]:
    """What is right, and the probabilities, by the plain way."""
    logits = model.predict(slipping.test).logits.astype(np.float64)
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return np.asarray(slipping.test.label), shares


def test_counts_are_scikit_learns(found, answers) -> None:
    gold, shares = answers
    predicted = shares.argmax(1)
    counts = found.tables["confusion"].pivot(index="gold", columns="predicted", values="n")
    np.testing.assert_array_equal(counts.loc[["bad", "good"], ["bad", "good"]], confusion_matrix(gold, predicted))
    share = found.tables["confusion"].pivot(index="gold", columns="predicted", values="share")
    np.testing.assert_allclose(share, confusion_matrix(gold, predicted, normalize="true"))
    labels = found.tables["labels"].set_index("label").loc[["bad", "good"]]
    expected = precision_recall_fscore_support(gold, predicted)
    for values, name in zip(expected, ("precision", "recall", "f1", "n"), strict=True):
        np.testing.assert_allclose(labels[name], values)
    for name in ("precision", "recall", "f1"):
        assert (labels[f"{name}_low"] < labels[name]).all() and (labels[name] < labels[f"{name}_high"]).all()


def test_of_labels_that_are_all_told_no_interval_is_a_point(model) -> None:
    task = PLANTED["classification"].task(60)
    labels = errors(model, task, QUICK).tables["labels"]
    assert (labels[["precision", "recall", "f1"]] == 1).all(axis=None)
    for row in labels.itertuples():
        low = binomtest(row.n, row.n).proportion_ci(method="wilson").low
        assert [row.precision_low, row.recall_low, row.f1_low, row.f1_high] == pytest.approx([low, low, low, 1])


def test_rows_are_what_the_model_says(found, slipping, answers) -> None:
    gold, shares = answers
    rows = found.tables["rows"]
    assert rows["row"].tolist() == list(slipping.test.ids) and rows["text"].tolist() == list(slipping.test.text)
    assert rows["gold"].tolist() == [("bad", "good")[one] for one in gold]
    np.testing.assert_allclose(rows["p"], shares.max(1), rtol=1e-5)
    np.testing.assert_allclose(rows["p_gold"], shares[np.arange(300), gold], rtol=1e-5)
    np.testing.assert_allclose(rows["loss"], -np.log(shares[np.arange(300), gold]), rtol=1e-4)
    assert (rows["right"] == (shares.argmax(1) == gold)).all()
    assert float(found["right"]) == pytest.approx(rows["right"].mean()) == float(found["score"])
    mistakes, least = found.tables["confident_mistakes"], found.tables["least_sure"]
    wrong = rows[~rows["right"].astype(bool)]
    np.testing.assert_allclose(mistakes["p"], np.sort(wrong["p"])[::-1][:20], rtol=1e-6)
    assert set(mistakes["row"]) <= set(wrong["row"]) and (mistakes["gold"] != mistakes["predicted"]).all()
    np.testing.assert_allclose(least["p"], np.sort(rows["p"])[:20], rtol=1e-6)


def test_calibration_is_that_of_the_answers(found, model, slipping, answers) -> None:
    gold, shares = answers
    decisions = Decisions(np.arange(300), shares, shares.argmax(1), gold, ("bad", "good"))
    plain = calibration(decisions, repeats=200)
    assert float(found["calibration_error"]) == pytest.approx(plain.error, abs=1e-6)
    assert found["overconfidence"].low == pytest.approx(plain.over.low, abs=1e-5)
    table = found.tables["calibration"].set_index("at")
    assert float(found["brier"]) == pytest.approx(((shares - np.eye(2)[gold]) ** 2).sum(1).mean(), abs=1e-5)
    assert table.loc["model", "loss"] == pytest.approx(found.tables["rows"]["loss"].mean(), rel=1e-4)
    # Validation is all right, test isn't: the temperature that fits the one makes the other worse.
    assert float(found["temperature"]) < 1 and float(found["calibration_error_fitted"]) > plain.error
    bins = found.tables["reliability"]
    assert bins[bins["series"] == "model"]["n"].sum() == 300
    band = bins[bins["series"] == "calibrated"]
    assert ((band["low"] <= band["share"]) & (band["share"] <= band["high"])).all()
    coverage = found.tables["coverage"]
    assert coverage["accuracy"].iloc[-1] == pytest.approx(float(found["right"]))
    assert float(found["kept_accuracy"]) == coverage.set_index("coverage")["accuracy"][0.8]


def test_the_planted_slice_is_found_and_only_it(found) -> None:
    slices = found.tables["slices"]
    right = slices[slices["by"] == "right"].set_index("slice")
    assert right[right["certain"]].index.tolist() == ["“house”"]
    assert right.loc["“house”", "difference"] < -0.4 and right.loc["“house”", "high"] < 0
    rows = found.tables["rows"].set_index("row")["right"].astype(float)
    house = found.tables["row_slices"].query("slice == '“house”'")["row"]
    assert right.loc["“house”", "inside"] == pytest.approx(rows[house].mean())
    assert right.loc["“house”", "outside"] == pytest.approx(rows.drop(house).mean())
    assert right.loc["“house”", "n"] == len(house)
    assert float(found["slices_tried"]) >= 14 and float(found.numbers(key="slices_found", by="right")[0]) == 1
    assert np.isfinite(right["random_weights"]).all() and abs(right.loc["“house”", "random_weights"]) < 0.4


def test_where_there_is_nothing_little_is_found(found) -> None:
    panel = found.tables["null"].set_index("by")
    assert list(panel.index) == ["right", "loss"] and panel["passes"].all() and (panel["draws"] == 200).all()


def test_mistakes_at_random_are_no_slice(model) -> None:
    generator, hits = np.random.default_rng(1), 0
    task = PLANTED["classification"].task(120)
    for seed in range(8):
        test = flipped(task.test, np.flatnonzero(generator.random(120) < 0.2))
        result = errors(model, replace(task, test=test), replace(QUICK, neighbours=0, seed=seed, repeats=100))
        hits += float(result.numbers(key="slices_found", by="right")[0]) > 0
    assert hits <= 2  # 1 in 20


def test_flipped_labels_are_doubted_first(model) -> None:
    task = PLANTED["classification"].task(80)
    rows = {"validation": np.array([3, 40]), "test": np.array([7, 20, 61])}
    changed = {split: flipped(getattr(task, split), at) for split, at in rows.items()}
    table = errors(model, replace(task, **changed), replace(QUICK, neighbours=0)).tables["doubted_labels"]
    planted = {getattr(task, split).ids[row] for split, at in rows.items() for row in at}
    assert set(table["row"][:5]) == planted and set(table["split"][:5]) == {"validation", "test"}
    assert (table["given"][:5] != table["predicted"][:5]).all()
    assert table["doubt"].is_monotonic_decreasing and (table["given"][5:] == table["predicted"][5:]).all()
    np.testing.assert_allclose(table["doubt"], 1 - table["p_gold"])


def test_neighbours_are_the_nearest_training_rows(found, model, slipping) -> None:
    table = found.tables["neighbours"]
    both = [
        sentence_vectors(model, part.text, pools=["mean"], layers=[model.n_layers])[0][0, 0]
        for part in (slipping.test, slipping.train)
    ]
    test, train = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in both)
    cosines = test @ train.T
    best = np.sort(cosines, axis=1)[:, ::-1][:, :3]
    np.testing.assert_allclose(table["similarity"].to_numpy().reshape(-1, 3), best, atol=1e-5)
    place = {id: at for at, id in enumerate(slipping.train.ids)}
    chosen = cosines[np.repeat(np.arange(300), 3), [place[id] for id in table["other"]]]
    np.testing.assert_allclose(table["similarity"], chosen, atol=1e-5)
    assert table["rank"].tolist() == [1, 2, 3] * 300
    texts = dict(zip(slipping.train.ids, slipping.train.text, strict=True))
    assert all(texts[other] == text for other, text in zip(table["other"], table["text"], strict=True))


def test_few_training_rows_and_few_rows_are_said(model, slipping) -> None:
    result = errors(model, slipping, replace(QUICK, training_rows=50, rows=40, neighbours=1))
    assert len(result.tables["rows"]) == 40 and set(result.tables["neighbours"]["row"]) == set(slipping.test.ids[:40])
    assert result.tables["neighbours"]["other"].nunique() <= 50
    assert any("50 of 300 training rows" in note for note in result.notes)
    assert any("the first 40 of 300 test rows are listed" in note for note in result.notes)
    assert set(result.tables["row_slices"]["row"]) <= set(slipping.test.ids[:40])
    assert result.tables["confusion"]["n"].sum() == 300
    assert "neighbours" not in errors(model, slipping, replace(QUICK, neighbours=0)).tables


def test_columns_unknown_pieces_and_long_texts_are_slices(model) -> None:
    task = PLANTED["classification"].task(60)
    text = tuple(
        f"{one} \u2603\u2603" if row % 5 == 0 else " ".join([one] * 20) if row % 7 == 0 else one
        for row, one in enumerate(task.test.text)
    )
    site = {"site": tuple(("uk", "us", "de")[row % 3] for row in range(60))}
    result = errors(model, replace(task, test=replace(task.test, text=text, columns=site)), QUICK)
    sizes = result.tables["slices"].query("by == 'right'").set_index("slice")["n"]
    assert sizes["site: uk"] == 20 and sizes["unknown pieces"] == 12 and sizes["longer than is read"] == 7
    assert set(result.tables["slices"]["kind"]) == {"label", "length", "unknown", "truncated", "column", "word"}
    assert "word" not in set(errors(model, task, replace(QUICK, words=False)).tables["slices"]["kind"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(_pocket, kind: str) -> None:
    planted = PLANTED[kind]
    model, task = planted.model(_pocket.tokenizer), planted.task(40)
    result = errors(model, task, ErrorsConfig(repeats=100, permutations=99, null=True))
    rows, decides = result.tables["rows"], kind not in ("regression", "vectors", "spans", "trees", "masked")
    assert rows["row"].tolist() == list(task.test.ids) and np.isfinite(rows["loss"]).all()
    asked = task.asked_of(model)
    np.testing.assert_allclose(rows["loss"], judge_without(model, asked.output, asked.test, [[]]).losses[0])
    assert ("p" in rows) == ("calibration" in result.tables) == ("doubted_labels" in result.tables) == decides
    assert ("right" in rows) == (kind not in ("regression", "vectors"))
    assert ("confident_mistakes" in result.tables) == decides != ("largest_losses" in result.tables)
    assert len(result.tables["neighbours"]) == 3 * 40 and len(result.tables["null"]) == len(
        set(result.tables["slices"]["by"])
    )
    if "right" in rows and kind != "masked":
        assert rows["right"].all()  # planted to be
        assert (rows["gold"] == rows["predicted"]).all() or kind == "masked"
    assert sentence(result).sentence.startswith("Its ")
    for figure in result.figures:
        assert set(figure.columns()) <= set(result.tables[figure.table].columns)


def test_taggers_have_entities_and_words(_pocket) -> None:
    planted = PLANTED["tokens"]
    task, model = planted.task(40), planted.model(_pocket.tokenizer)
    tags = [list(row) for row in task.test.marks["tag"]]
    tags[4][1] = "B-good" if tags[4][1] == "B-bad" else "B-bad"
    marks = {**task.test.marks, "tag": tuple(map(tuple, tags))}
    result = errors(model, replace(task, test=replace(task.test, marks=marks)), QUICK)
    kinds = result.tables["entities"].set_index("error")["n"]
    words = sum(map(len, tags))
    assert kinds["wrong_type"] == 1 and kinds["right"] == words - 1
    assert result.tables["confusion"]["n"].sum() == words
    (mistake,) = result.tables["confident_mistakes"].to_dict("records")
    assert mistake["row"] == task.test.ids[4] and mistake["place"] == f"{task.test.words[4][1]} (2)"
    assert result.tables["doubted_labels"].iloc[0]["place"] == mistake["place"]
    slices = result.tables["slices"].query("by == 'right'").set_index("slice")
    assert slices["inside"].between(0.8, 1).all()  # a share of words, not of sentences
    assert any("several to a row" in note for note in result.notes)


def test_intervals_by_label_cover() -> None:
    generator, held = np.random.default_rng(0), np.zeros(3)
    for seed in range(200):
        gold = generator.random(150) < 0.3
        given = generator.random(150) < np.where(gold, 0.8, 0.1)
        counts = np.stack([gold & given, given, gold], 1)[:, None].astype(float)
        low, high = interval(metric_draws(_shares, counts.transpose(1, 0, 2), repeats=200, seed=seed))
        precision = 0.24 / 0.31
        true = np.array([precision, 0.8, 2 * precision * 0.8 / (precision + 0.8)])
        held += (low[0] <= true) & (true <= high[0])
    assert (held / 200 > 0.89).all() and (held / 200 < 0.99).all()


def test_labels_that_nobody_gives() -> None:
    assert np.isnan(_shares(np.array([0.0, 0.0, 0.0]))).all()
    np.testing.assert_array_equal(_shares(np.array([0.0, 0.0, 0.5])), [np.nan, 0.0, 0.0])


def test_rows_with_nothing_to_score_have_no_loss(_pocket) -> None:
    """An empty text has no masked word: it is neither right nor wrong, and not the best of all rows either."""
    planted = PLANTED["masked"]
    task, asked = planted.task(30), planted.model(_pocket.tokenizer)
    test = replace(task.test, text=("", *task.test.text[1:]))
    some, without = (errors(asked, replace(task, test=one), QUICK) for one in (test, test.take(range(1, 30))))
    first = some.tables["rows"].iloc[0]
    assert np.isnan(first["loss"]) and some["loss"].n == 29
    assert some["loss"].value == pytest.approx(without["loss"].value)
    assert (some.tables["slices"].query("by == 'loss'")["n"] <= 29).all()


def test_one_row_and_one_class(model) -> None:
    task = PLANTED["classification"].task(40)
    one = errors(model, replace(task, test=task.test.take([0])), QUICK)
    assert len(one.tables["rows"]) == 1 and float(one["slices_tried"]) == 0 and len(one.tables["slices"]) == 0
    assert sentence(one) is not None
    alike = task.test.take(np.flatnonzero(np.asarray(task.test.label) == 1))
    single = errors(model, replace(task, test=alike), QUICK)
    assert single.tables["labels"].set_index("label").loc["bad", "n"] == 0
    assert single.tables["confusion"][["gold", "predicted"]].to_numpy().tolist() == [["good", "good"]]
    with pytest.raises(UserError, match="no test rows"):
        errors(model, replace(task, test=task.test.take([])), QUICK)


def test_what_cant_be_asked(model) -> None:
    for wrong in ({"neighbours": -1}, {"rows": 0}, {"permutations": 5}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            ErrorsConfig(**wrong)
    with pytest.raises(UserError):
        errors(model, PLANTED["regression"].task(10), QUICK)
