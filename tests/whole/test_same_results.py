"""The comparison of two stores: what only differs in the splits' words is the same, one bit is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from same_results import main

OLD, NEW = ("fit", "select", "report"), ("train", "validation", "test")


def write(
    store: Path,
    splits: tuple[str, ...],
    *,
    value: float = 0.1,
    seconds: float = 1.0,
    seed: int = 0,
    source: str = "demo/sentiment",
) -> Path:
    train, _, test = splits
    table = pd.DataFrame(
        {
            f"{test}_accuracy": [value, np.nan],
            "rows": [f"{test}:12 · 5 of 9", f"{train}:3"],
            "training_seconds": seconds,
        }
    )
    data = Root("task", source, f"{source}-{1 if splits == OLD else 2}", {"split": test})
    step = Step("probe", 1 if splits == OLD else 2, {"seed": seed}, {"data": data})
    folder = store / "steps" / step.id
    headline = [Number(f"full, {test}", value)]
    Result("probe", step.version, {"scores": table}, {f"votes, {test}": np.arange(3)}, headline).save(
        folder / "result"
    )
    form = {} if splits == OLD else {"format": 2}
    (folder / "step.json").write_text(json.dumps(form | step.to_json()))
    (folder / "model").mkdir()
    (folder / "model" / "model.safetensors").write_bytes(b"weights")
    return folder


def test_words_versions_and_clocks_may_differ(tmp_path, capsys):
    write(tmp_path / "before", OLD)
    write(tmp_path / "after", NEW, seconds=2.0)
    assert main(tmp_path / "before", tmp_path / "after") == 0
    out = capsys.readouterr().out
    assert "1 pairs, 1 equal, 0 differ; 0 without a partner" in out and "'training_seconds'" in out


def test_steps_of_one_subject_are_paired_by_what_they_read(tmp_path, capsys):
    for source in ("demo/sentiment", "demo/entailment"):
        write(tmp_path / "before", OLD, source=source)
        write(tmp_path / "after", NEW, source=source)
    assert main(tmp_path / "before", tmp_path / "after") == 0
    assert "2 pairs, 2 equal" in capsys.readouterr().out


@pytest.mark.parametrize("changed", ["bit", "weights", "partner"])
def test_nothing_else_may(changed, tmp_path, capsys):
    write(tmp_path / "before", OLD)
    value = np.nextafter(0.1, 1) if changed == "bit" else 0.1
    after = write(tmp_path / "after", NEW, value=value, seed=int(changed == "partner"))
    if changed == "weights":
        (after / "model" / "model.safetensors").write_bytes(b"Weights")
    assert main(tmp_path / "before", tmp_path / "after") == 1
    named = {"bit": "'test_accuracy'", "weights": "'model.safetensors' differs", "partner": "2 without a partner"}
    assert named[changed] in capsys.readouterr().out
