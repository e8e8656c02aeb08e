"""`overlap`: what the survivors of lotteries share, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.experiments.overlap.question import overlap


def test_lotteries_are_compared_by_what_survived(tmp_path):
    parts = pd.DataFrame({"unit": ["head:1.1", "head:1.2", "head:1.3", "mlp:1"], "kind": ["head"] * 3 + ["mlp"],
                          "layer": 1, "head": pd.array([1, 2, 3, None], dtype="Int64")})  # fmt: skip

    def stored(task, *masks):
        return Result(
            "lottery", 1, tables={"survivors": parts}, arrays={"survivors": np.array(masks, np.uint8)},
            models={"1": ModelRecord("1", "tiny")}, subject={"task": task},
        )  # fmt: skip

    one = stored("one", [1, 1, 0, 1], [1, 0, 0, 1])
    other = stored("other", [0, 1, 1, 0], [1, 1, 0, 1])
    one.save(tmp_path / "one")
    result = overlap([str(tmp_path / "one"), other])
    pairs = result.tables["pairs"].set_index(["parts", "task", "other"])["jaccard"]
    assert pairs["heads", "one", "one"] == 1 / 2
    assert (
        pairs["heads", "one", "other"]
        == pairs["heads", "other", "one"]
        == pytest.approx(np.mean([1 / 3, 1, 0, 1 / 2]))
    )
    assert pairs["mlps", "one", "other"] == 1 / 2
    assert {number.key for number in result.headline} == set(overlap.numbers)
    (between,) = result.numbers(key="overlap", parts="heads", tasks="different")
    assert (between.value, between.label) == (pairs["heads", "one", "other"], "heads, between tasks")
    assert result.headline[0] == between  # the main one
    assert [number.label for number in result.numbers(key="overlap_by_chance", parts="mlps")] == [
        "MLPs, between tasks, by chance", "MLPs, within a task, by chance",
    ]  # fmt: skip
    assert result.models == one.models and result.subject == {"task": "one, other"}
    assert set(overlap([one, one]).tables["pairs"]["other"]) == {"one", "one (2)"}
    assert result.tables["survival"]["share"].tolist() == [0.75, 0.75, 0.25, 0.75]
    with pytest.raises(UserError, match="two lotteries or more"):
        overlap([one])
    with pytest.raises(UserError, match="different parts"):
        smaller = replace(other, tables={"survivors": parts[1:].reset_index(drop=True)})
        overlap([one, smaller])
    for name, told in (("another", "tiny, another"), ("tiny", "tiny, of 1, tiny, of 2")):
        with pytest.raises(UserError, match=rf"different models \({told}\)"):
            overlap([one, replace(other, models={"2": ModelRecord("2", name)})])
    with pytest.raises(UserError, match="no surviving heads"):
        overlap([one, Result("ablate", 1)])
