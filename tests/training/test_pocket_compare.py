"""What decides whether a new pocket ships: gains, seed by seed, and their intervals; and when abilities appear."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from doc_pages import HERE
from emergence import MOST_BYTES, asked, saved
from planted_text import write_text
from pocket_compare import PAIRS, TASKS, compared, read, score, table


def test_gains_are_paired_and_their_intervals_students():
    old = {"MRPC": {"0": 0.70, "1": 0.72, "2": 0.74}, PAIRS: {"0": 0.7, "wide": 0.003}}
    new = {"MRPC": {"0": 0.72, "1": 0.73, "2": 0.77}, PAIRS: {"0": 0.8, "wide": 0.004}}
    found = compared(old, new)
    mrpc, pairs = found["tasks"]
    assert (mrpc["gain"], mrpc["low"], mrpc["high"]) == pytest.approx(
        (0.02, 0.02 - 0.024841, 0.02 + 0.024841), abs=1e-5
    )
    assert (pairs["low"], pairs["high"]) == pytest.approx((0.095, 0.105)), "pairs' own intervals, as if apart"
    mean = found["mean"]
    assert mean["seeds"] == 3 and mean["gain"] == pytest.approx(0.06)
    assert mean["high"] - mean["gain"] == pytest.approx(0.024841 / 2, abs=1e-5), "tasks count alike"
    assert "certainly worse: none" in table(found) and "gain is certainly above 0" in table(found)
    assert "certainly worse: BLiMP" in table(compared(new, old))


def test_the_pocket_that_ships_passed_and_its_page_shows_how():
    first, second = (read(HERE / f"tests/fixtures/{name}_scores.json") for name in ("first_pocket", "pocket"))
    found = compared(first, second)
    assert [row["task"] for row in found["tasks"]] == TASKS
    assert all(row["seeds"] == (1 if row["task"] == PAIRS else 5) for row in found["tasks"])
    assert found["mean"]["low"] > 0 and all(row["high"] > 0 for row in found["tasks"])
    shown, *_ = table(found).partition("\n\n")
    assert f"<!-- comparison -->\n{shown}\n<!-- end -->" in (HERE / "docs/pretrain.md").read_text(encoding="utf-8")


def test_of_one_seed_nothing_is_said_to_be_no_worse():
    old, new = ({"MRPC": {"0": score}, PAIRS: {"0": score, "wide": 0.01}} for score in (0.7, 0.1))
    told = table(compared(old, new))
    assert "certainly worse: BLiMP\nwhether worse isn't known of one seed: MRPC\n" in told
    assert "not certainly above 0" in told


def test_a_model_gains_nothing_over_itself(tmp_path):
    """Scores come seed by seed; a second call does what is missing."""
    known = {task: 0.5 + place / 100 for place, task in enumerate(TASKS)}
    done = []

    def measured(task, model, data, seed, limit):
        done.append((task, seed))
        value = known[task] + seed / 1000
        return SimpleNamespace(value=value, low=value - 0.01, high=value + 0.01)

    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for out in files:
        score("pocket", tmp_path, out, TASKS, 2, measured=measured)
    before = len(done)
    score("pocket", tmp_path, files[0], TASKS, 3, measured=measured)
    score("pocket", tmp_path, files[1], TASKS, 3, measured=measured)
    assert before == 2 * (2 * len(TASKS) - 1) and set(done[before:]) == {(task, 2) for task in TASKS if task != PAIRS}
    found = compared(*map(read, files))
    assert [row["task"] for row in found["tasks"]] == TASKS
    assert all(row["gain"] == 0 and row["low"] <= 0 <= row["high"] for row in [*found["tasks"], found["mean"]])
    assert "gain is not certainly above 0" in table(found)


@pytest.mark.slow
def test_emergence_is_a_series_of_five_questions(tmp_path):
    from bertscope import pretrain

    pretrain(
        [write_text(tmp_path / "topics.txt")], layers=2, heads=2, units=32, positions=64, length=32, steps=40,
        batch_tokens=512, held_out=0.1, keep="log", checkpoints=5, half=True, out=tmp_path / "model",
    )  # fmt: skip
    steps = sorted(int(path.name.split("-")[1]) for path in (tmp_path / "model").glob("checkpoint-*"))
    quick = {"limit": 40, "of_pairs": 40, "repeats": 100}
    found = asked(tmp_path / "model", "demo/corpus", "demo/minimal", tmp_path / "store", **quick)
    assert list(found) == ["patterns", "relations", "structure", "geometry", "minimal-pairs"]
    for name, answer in found.items():
        assert answer.question == "course" and answer.subject["question"] == name
        assert answer.tables["checkpoints"]["step"].tolist() == steps
    assert saved(found, tmp_path / "saved") < MOST_BYTES
