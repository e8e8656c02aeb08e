"""The rows whose prediction is another without a part: as plain predictions say, few enough, and small on disk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bertscope.analyses.ablate.measure as measuring
from bertscope.analyses.ablate.measure import Off
from bertscope.analyses.ablate.question import FLIPS, FLIPS_OF_A_ROW, ablate
from bertscope.core.examples import Examples
from bertscope.core.predictions import Judged
from bertscope.core.result import Result
from bertscope.core.units import Unit, every
from quick_configs import QUICK_ABLATE
from toy import task_of


@pytest.fixture
def examples() -> Examples:
    generator = np.random.default_rng(5)
    words = ["the", "good", "bad", "old", "house", "was", "never", "by", "a", "long", "road", "and", "she", "said"]
    text = tuple(" ".join(generator.choice(words, generator.integers(2, 14))) for _ in range(60))
    return Examples(tuple(f"test:{row}" for row in range(60)), text, label=np.arange(60) % 2)


def judged(flips: np.ndarray, divergence: np.ndarray) -> Judged:
    """What is known of parts [part, row] that were switched off, beside the whole model."""
    whole = np.zeros((1, flips.shape[1]))
    flips, divergence = (np.concatenate([whole, one]) for one in (flips, divergence))
    return Judged(flips[..., None], flips, divergence, flips, flips, 0)


class _Rows:
    def __init__(self, n: int) -> None:
        self.test = Examples(tuple(f"test:{row}" for row in range(n)), ("a",) * n)


def test_a_row_flips_where_plain_predictions_do(tiny, examples):
    task = replace(task_of(examples, tiny), test=examples)
    found = ablate(tiny, task, replace(QUICK_ABLATE, sets=("top=head:3.1+head:3.2",)))
    flips = found.tables["flips"]
    whole = tiny.predict(examples).logits.argmax(-1)
    expected, share = set(), found.table.set_index("unit")["flips"]
    for unit in [one for kind in ("head", "heads", "mlp", "layer") for one in every(kind, [4, 4, 4])]:
        with tiny.gates(off=[unit], mode="uniform"):
            other = np.flatnonzero(tiny.predict(examples).logits.argmax(-1) != whole)
        expected |= {(examples.ids[row], str(unit)) for row in other}
        assert share[str(unit)] == pytest.approx(len(other) / 60)  # the shares that stand beside the effects
    assert expected and set(flips.itertuples(index=False, name=None)) == expected
    assert len(flips) == len(expected) and "top" not in set(flips["unit"])
    assert not any(note.startswith("flips") for note in found.notes)


def test_it_comes_back_as_it_was_also_where_nothing_flips(tiny, examples, tmp_path):
    task, nothing = _Rows(3), judged(np.zeros((2, 3)), np.zeros((2, 3)))
    table, notes = measuring._flips(task, nothing, [Off.part(Unit("mlp", 1)), Off.part(Unit("mlp", 2))])
    assert len(table) == 0 and notes == []
    for one in (table, ablate(tiny, replace(task_of(examples, tiny), test=examples), QUICK_ABLATE).tables["flips"]):
        result = Result("ablate", 1, {"flips": one})
        assert Result.load(result.save(tmp_path / "saved")).equals(result)


def test_sets_alone_and_scores_have_none(tiny, examples):
    task = replace(task_of(examples, tiny), test=examples)
    assert "flips" not in ablate(tiny, task, replace(QUICK_ABLATE, units=(), sets=("a=mlp:1",))).tables
    by_degrees = judged(np.full((1, 3), np.nan), np.zeros((1, 3)))
    by_degrees = replace(by_degrees, flips=np.full((2, 3), np.nan))
    assert measuring._flips(_Rows(3), by_degrees, [Off.part(Unit("mlp", 1))]) == (None, [])


def test_of_many_parts_those_stay_without_which_a_row_moves_furthest(monkeypatch):
    off = [Off.part(Unit("mlp", layer)) for layer in (1, 2, 3)]
    flips = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1]])
    divergence = np.array([[0.2, 0.5, 0.0], [0.3, 0.6, 9.0], [0.1, 9.0, 0.4]])

    def listed() -> tuple[list[tuple[str, str]], list[str]]:
        table, notes = measuring._flips(_Rows(3), judged(flips, divergence), off)
        return list(table.itertuples(index=False, name=None)), notes

    everything = [("test:0", "mlp:2"), ("test:0", "mlp:1"), ("test:0", "mlp:3"),
                  ("test:1", "mlp:2"), ("test:1", "mlp:1"), ("test:2", "mlp:3")]  # fmt: skip
    assert listed() == (everything, [])
    monkeypatch.setattr(measuring, "FLIPS_OF_A_ROW", 2)
    two, notes = listed()
    assert two == [one for one in everything if one != ("test:0", "mlp:3")]
    assert notes == [
        "flips: 6 times a row's prediction flips without a part; 5 are listed, of a row at most the 2 parts without "
        "which it moves furthest"
    ]
    monkeypatch.setattr(measuring, "FLIPS", 4)  # with two of a row they would be five
    one, notes = listed()
    assert one == [("test:0", "mlp:2"), ("test:1", "mlp:2"), ("test:2", "mlp:3")] and "at most the 1" in notes[0]
    monkeypatch.setattr(measuring, "FLIPS", 2)
    assert listed()[0] == one[:2]


def test_they_are_small_on_disk(tmp_path):
    """1,821 rows by 168 parts, of which 4% flip, rows that are unsure more often, as real ones do."""
    generator = np.random.default_rng(0)
    unsure = generator.beta(0.15, 3.6, 1821)
    off = [Off.part(unit) for kind in ("head", "mlp", "layer") for unit in every(kind, [12] * 12)]
    flips = (generator.random((len(off), 1821)) < unsure).astype(float)
    assert len(off) == 168 and 0.03 < flips.mean() < 0.05
    table, _ = measuring._flips(_Rows(1821), judged(flips, generator.random(flips.shape)), off)
    result = Result("ablate", 1, {"flips": table})
    size = (result.save(tmp_path / "saved") / "flips.parquet").stat().st_size
    assert 10_000 < len(table) < FLIPS and size < 30_000
    every_time, notes = measuring._flips(_Rows(1821), judged(np.ones_like(flips), generator.random(flips.shape)), off)
    assert len(every_time) == 1821 * FLIPS_OF_A_ROW and "305,928 times" in notes[0]
    most = Result("ablate", 1, {"flips": pd.DataFrame(every_time)}).save(tmp_path / "most") / "flips.parquet"
    assert most.stat().st_size < 150_000
