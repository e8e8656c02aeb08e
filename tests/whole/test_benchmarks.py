"""The benchmarks run, their variants agree, and their files have what a reader needs. No time is ever asserted."""

from __future__ import annotations

import json
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from benchmarks import shapes_plain
from benchmarks.__main__ import NAMES, main
from benchmarks.ablation import spread
from benchmarks.attention import annotated, plainly, read, tuned
from benchmarks.captum_plain import find_captum
from benchmarks.options import Options, Sentences, sentences
from benchmarks.side_by_side import TOLERANCE, Report, Variant, compare
from bertscope.analyses.shapes import CLASSES, LABELS
from bertscope.analyses.shapes.decomposition import decompose
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.models.load import load


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What one quick run of everything writes."""
    file = tmp_path_factory.mktemp("benchmarks") / "figures.json"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny work on a busy machine: threads would wait for each other
    main(["--quick", "--json", str(file)])
    torch.set_num_threads(threads)
    return json.loads(file.read_text())


@pytest.mark.slow
def test_machine_is_written_down(written):
    assert {"cpu", "cores", "threads", "python", "torch", "transformers", "device"} <= set(written["machine"])
    assert written["quick"] is True


@pytest.mark.slow
def test_memory_is_told_for_every_size(written):
    (report,) = written["benchmarks"]["memory"]
    assert list(report["megabytes"]) == ["4", "16"] and "sentences" in report["data"]
    assert all(100 < peak < 10_000 for rounds in report["megabytes"].values() for peak in rounds)
    growth = report["megabytes"]["16"][0] / report["megabytes"]["4"][0]
    assert report["claims"][0]["measured"] == pytest.approx(growth)


@pytest.mark.slow
def test_the_live_page_is_measured(written):
    switched, loaded, *_ = written["benchmarks"]["live"]
    assert switched["figures"]["tokens"] == 30 and switched["claims"][0]["measured"] > 0
    assert loaded["figures"]["answered"] > 0 and loaded["figures"]["wrong"] == 0 and loaded["figures"]["other"] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"memory", "live", "series"}])
def test_benchmark_completes_and_its_variants_agree(written, name):
    if name == "training" and find_spec("accelerate") is None:
        assert "accelerate" in written["skipped"][name]
        return
    if name == "explain" and find_captum() is None:
        assert "captum isn't installed" in written["skipped"][name]
        return
    if name in ("graphs", "lottery"):
        assert "for a GPU" in written["skipped"][name]
        return
    if name == "shrink":
        assert "--tuned FOLDER=TASK" in written["skipped"][name]
        return
    for report in written["benchmarks"][name]:
        assert "sentences" in report["data"]
        for row in report["variants"]:
            assert row["variant"] and row["seconds"] == min(row["rounds"]) > 0 and row["examples_per_second"] > 0
        assert report["variants"][0]["ratio"] == 1
        assert all(claim["measured"] > 0 for claim in report["claims"])
        if len(report["variants"]) > 1 and name != "pretraining":  # whose ceiling is no training
            assert report["agreement"] <= TOLERANCE


@pytest.mark.parametrize("n", [5, 12, 41])
def test_plain_numpy_tells_a_map_by_the_same_numbers(n):
    """Maps of columns, of a band that the edge cuts, of both, of noise, and a uniform one."""
    random = np.random.default_rng(n)
    columns, band = 5.0 * (np.arange(n) % 4 == 1), 6 * np.eye(n, k=-2) + 4 * np.eye(n, k=1)
    shown = np.exp(np.stack([band * 0 + columns, band, band + columns, band * 0]) + random.normal(size=(4, n, n)))
    maps = [*(shown / shown.sum(2, keepdims=True)), np.full((n, n), 1 / n)]
    special = [0, n - 1]
    layer = as_layer(maps, [special] * len(maps))
    parts = decompose(layer)
    told = features(layer, parts)[:, 0]
    for row, a in enumerate(layer.maps[:, 0].numpy()):
        shares, received = shapes_plain.shares(a), a.mean(0)
        assert shares == pytest.approx(parts.shares[row, 0].numpy(), abs=1e-6)
        if row < 4:  # a uniform map has no contrast: what is told of it is rounding
            shape = np.array([*shares, received[special].sum(), layer.entropy[row, 0], layer.distance[row, 0]])
            numbers = shapes_plain.numbers(a, received, np.isin(np.arange(n), special), shape)
            assert numbers == pytest.approx(told[row].numpy(), abs=1e-4)


def test_plain_numpy_finds_the_same_classes_and_words():
    """What the benchmark leaves out of its comparison, since where two are nearly equal, rounding decides."""
    before = load("pocket")
    encoders = [before, tuned(before)]
    examples = annotated(sentences(Options(quick=True), "dev.tsv", 4).examples.take(range(4)))
    shapes, _, _, relations, _ = read(encoders, examples, classified=True)
    for which, plain in enumerate(plainly(encoders, examples)):
        classes = shapes.means[which].value[:, : len(LABELS) * len(CLASSES)]
        assert np.abs(plain["class"].mean(0) - classes).mean() < 1e-3
        hits = np.moveaxis(relations.sums_of[which].hits.value.sum(0), -1, 0)
        assert np.abs(plain["relations"][..., 0].sum(0) - hits).sum() <= 1e-3 * hits.sum()
        assert hits.sum() > 100


def test_variants_take_turns_after_a_warm_up_and_their_minimum_counts(texts):
    calls = []

    def variant(name: str) -> Variant:
        return Variant(name, lambda examples: lambda: calls.append((name, len(examples))))

    report = compare("turns", [variant("a"), variant("b")], Sentences(texts, "texts"), Options(), repeats=2)
    assert [name for name, _ in calls] == ["a", "b"] * 3
    assert [len(rounds) for rounds in report.rounds.values()] == [2, 2]
    report = Report("turns", "texts", 6, {"a": [3.0, 2.0], "b": [1.0, 4.0]}, passes=10)
    assert (report.seconds("a"), report.ratio("b"), report.ratio("a", over="b"), report.rate("a")) == (2, 2, 0.5, 30)


def test_variants_that_disagree_are_refused(texts):
    variants = [Variant(str(x), lambda examples, x=x: lambda: np.full(2, float(x))) for x in (0, 1)]
    with pytest.raises(SystemExit, match="don't do the same work"):
        compare("differ", variants, Sentences(texts, "texts"), Options(), repeats=1)


@pytest.mark.parametrize("per_layer", [1, 2, 5, 12])
def test_scanned_heads_are_distinct_and_spread_evenly(per_layer):
    heads = spread(12, 12, per_layer)
    assert len(set(heads)) == 12 * per_layer
    assert all(sum(head.layer == layer for head in heads) == per_layer for layer in range(1, 13))
    assert all(head.check([12] * 12) for head in heads)


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_shrink_makes_a_table_of_what_it_is_given(tmp_path, capsys, tiny, many, right):
    """A model that is always right, and one that is always wrong: that has nothing above chance to keep."""
    one, other = tiny.predict(many).logits.T
    with torch.no_grad():
        tiny.model.classifier.bias += torch.tensor([0.0, float(np.median(one - other))])  # as many of each class
    labels = tiny.predict(many).logits.argmax(1) ^ (not right)
    rows = [f"{text},LABEL_{label}" for text, label in zip(many.text, labels, strict=True)]
    (tmp_path / "food.csv").write_text("\n".join(["text,label", *rows]))
    named = f"{tiny.save(tmp_path / 'tuned')}={tmp_path / 'food.csv'}"
    file, store = tmp_path / "figures.json", tmp_path / "store"
    main(["shrink", "--quick", "--tuned", named, "--store", str(store), "--json", str(file)])
    for_many, for_one = json.loads(file.read_text())["benchmarks"]["shrink"]
    assert (for_many["batch"], for_one["batch"]) == (32, 1)
    for row in for_many["rows"]:
        assert {"faster, 1", "faster, 32", "milliseconds, 1", "score", "kept"} <= set(row)
    whole, cut = for_many["rows"]
    assert (whole["model"], cut["model"]) == ("whole", "cut")
    if right:
        assert (whole["score"], whole["kept"], whole["kept_low"], whole["kept_high"]) == (1, 1, 1, 1)
    else:
        kept = [row[name] for row in (whole, cut) for name in ("kept", "kept_low", "kept_high")]
        assert whole["score"] == 0 and np.isnan(kept).all()
    out = capsys.readouterr().out
    assert "kept: of the whole model's score above chance" in out and "nan" not in out


def test_shrink_is_told_what_for():
    with pytest.raises(SystemExit, match="names no task; write FOLDER=TASK"):
        main(["shrink", "--quick", "--tuned", "tuned"])


def test_list_and_mistakes(capsys):
    main(["--list"])
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)
    with pytest.raises(SystemExit):
        main(["speed"])
    assert "no benchmark 'speed'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="doesn't exist"):
        main(["inference", "--quick", "--data", "nowhere.tsv"])
