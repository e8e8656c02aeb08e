"""A question that costs nothing: the sum of a number, of earlier sums and of a setting.

It fails or takes its time when it is told to, and says that it was asked.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from bertscope.core import registry
from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.question import RESULTS, Input, Question
from bertscope.core.result import Result
from bertscope.core.room import room
from bertscope.core.step import Root, Step
from planted_device import GB, Planted

CALLS: list[str] = []
"""What was called in this process. Other processes write theirs to the file that SUMS_CALLS names."""


@dataclass(frozen=True)
class SumConfig:
    add: int = 0
    """What to add."""
    fail: Literal["", "mistake", "bug", "disk", "interrupt", "death"] = ""
    """How to fail."""
    seconds: float = 0.0
    """How long it takes."""
    gigabytes: float = 0.0
    """Of a device that has 10, what it needs."""


_FAILURES = {
    "mistake": UserError("it failed"),
    "bug": ZeroDivisionError("not so"),
    "disk": FullDiskError("cannot write it: the disk is full"),
    "interrupt": KeyboardInterrupt(),
}


def read_number(source: str, **options: object) -> int:
    CALLS.append("open")
    return int(source)


def register(monkeypatch) -> None:
    """Make the question known, as `sums`."""
    monkeypatch.setitem(registry.QUESTIONS, "sums", registry.Entry("sums", "How much?"))
    monkeypatch.setitem(registry.KINDS, "number", registry.Kind(open="sums:read_number"))
    CALLS.clear()


sums = Question(
    __name__,
    "A number, earlier sums and a setting are added.",
    config=SumConfig,
    inputs={},
    optional={"number": Input("number"), "earlier": RESULTS},
    version=1,
    main="total",
    numbers={"total": "total"},
    cite="-",
)


def measure(config: SumConfig, number: int = 0, earlier: tuple = ()) -> Result:
    CALLS.append("sum")
    if path := os.environ.get("SUMS_CALLS"):
        with open(path, "a") as stream:  # noqa: PTH123 (one write, at the end of the file)
            stream.write(f"{config.add}\n")
    with room(Planted(free=10), int(config.gigabytes * GB)) if config.gigabytes else nullcontext():
        time.sleep(config.seconds)
    if config.fail == "death":
        os._exit(1)
    if config.fail:
        raise _FAILURES[config.fail]
    value = number + config.add + sum(result["total"].value for result in earlier)
    table = pd.DataFrame({"layer": [1], "head": [1], "total": [value]})
    figures = [Figure("heatmap", "t", x="head", y="layer", value="total", key="total", title="-", caption="-")]
    return sums.result(tables={"t": table}, headline=[Number("total", value)], figures=figures)


def step(inputs=None, **config) -> Step:
    """The sum of 5 and what is added, or of earlier sums."""
    settings = {"add": 0, "fail": "", "seconds": 0.0, "gigabytes": 0.0} | config
    return Step("sums", 1, settings, inputs or {"number": Root("number", "5", "d5")})
