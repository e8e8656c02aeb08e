"""`division`: where the windows of a corpus begin. The first step of a question that is asked in shards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.core.config import check_least
from bertscope.core.number import Number
from bertscope.core.question import Input, Question

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.data.division import Division
    from bertscope.data.streamed import StreamedTexts


@dataclass(frozen=True)
class DivisionConfig:
    """How large a window is."""

    window: int = 2048
    """Texts; as many as a pass tokenises and sorts at a time (`models/batches.py`), so that batches are the same in
    shards and in one pass."""

    def __post_init__(self) -> None:
        check_least(self, window=1)


division = Question(
    __name__,
    """All rows are gone through once, and where each window of texts begins is kept: a file's byte, or the row of a
    Parquet file. Rows that can't be used are refused here, before any model reads the first one.""",
    config=DivisionConfig,
    inputs={"corpus": Input("corpus")},
    version=1,
    main="texts",
    cite="none: a count",
    keeps="division",
    numbers={"texts": "texts", "windows": "windows"},
)


@dataclass(frozen=True)
class Divided:
    division: Division
    result: Result


def measure(corpus: StreamedTexts, config: DivisionConfig, *, out: Path, resume: bool = True) -> Divided:
    found = corpus.divide(config.window)
    found.save(out)
    counts = (("texts", found.texts), ("windows", len(found.places)))
    result = division.result(
        headline=[Number(key, count) for key, count in counts], subject={"task": found.name}, notes=[*found.notes]
    )
    return Divided(found, result)
