"""What the head card shows of a result: what its question declares, or every table that has layers and heads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.words import Words
from bertscope.report import packed
from bertscope.report.drawing import chosen

if TYPE_CHECKING:
    import pandas as pd

PLACE = ("layer", "head")
_NOT_MEASURED = {*PLACE, "low", "high", "p", "n", "rank"}
_ENDS = ("_low", "_high")


def has_heads(frame: pd.DataFrame) -> bool:
    return set(PLACE) <= set(frame.columns) and bool(frame[list(PLACE)].notna().all(axis=1).any())


def draws_heads(figure: Figure, result: Result) -> bool:
    """Whether the rows that it draws are heads: those of the MLPs in the same table aren't."""
    return has_heads(chosen(figure, result.tables[figure.table]))


def about_heads(result: Result, declared: Question | None) -> list[str]:
    """The tables whose rows are about heads, from which a reader can go to the head's card."""
    if declared and declared.card == ():
        return []
    return [name for name, frame in result.tables.items() if has_heads(frame)]


def facts(result: Result, declared: Question | None) -> list[dict[str, Any]]:
    """What the card shows of a result in words; without what an older one of the question hasn't got."""
    card = declared.card if declared and declared.card is not None else tuple(_every_fact(result))
    found = (_known(one, result) for one in card if isinstance(one, HeadFact))
    words = declared.words if declared else {}
    return [asdict(replace(fact, where=_in_words(fact.where, words))) for fact in found if fact]


def _in_words(where: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Which rows a fact is about, as the table on the page has them."""
    return {
        column: words.get(column, {}).get(value, value) if isinstance(value, str) else value
        for column, value in where.items()
    }


def maps(result: Result, declared: Question | None) -> dict[str, Any] | None:
    """The small maps of all heads, if it has them."""
    for one in declared.card or () if declared else ():
        if isinstance(one, HeadMaps) and {one.table, one.tokens} <= set(result.tables) and one.array in result.arrays:
            array = result.arrays[one.array]
            return {"table": one.table, "tokens": one.tokens, "side": array.shape[-1], "levels": packed.maps(array)}
    return None


def shape(result: Result, declared: Question | None) -> list[int]:
    """How many heads each layer has, as far as the result speaks of them."""
    most: dict[int, int] = {}
    for name in about_heads(result, declared):
        known = result.tables[name][list(PLACE)].dropna().astype(int)
        for layer, head in known.groupby("layer")["head"].max().items():
            most[int(layer)] = max(int(head), most.get(int(layer), 0))
    return [most.get(layer, 0) for layer in range(1, max(most, default=0) + 1)]


def _known(fact: HeadFact, result: Result) -> HeadFact | None:
    frame = result.tables.get(fact.table)
    if frame is None or not has_heads(frame):
        return None
    fact = replace(fact, beside={column: label for column, label in fact.beside.items() if column in frame})
    return fact if set(fact.columns()) <= set(frame.columns) else None


def _every_fact(result: Result) -> Iterator[HeadFact]:
    """Every column of every table with layers and heads; where a head has several rows, told apart by their words."""
    for name, frame in result.tables.items():
        if has_heads(frame):
            several = bool(frame.duplicated(list(PLACE)).any())
            words = tuple(column for column in _words(frame) if frame[column].nunique() > 1)
            yield from () if several else (HeadFact(name, column, _label(column)) for column in words)
            for column in _measured(frame):
                yield HeadFact(name, column, _label(column), *_ends(frame, column), items=words if several else ())


def _words(frame: pd.DataFrame) -> list[str]:
    return [str(column) for column in frame.columns if column not in set(_numbers(frame))]


def _numbers(frame: pd.DataFrame) -> list[str]:
    return [str(column) for column in frame.select_dtypes("number").columns]


def _measured(frame: pd.DataFrame) -> list[str]:
    return [column for column in _numbers(frame) if column not in _NOT_MEASURED and not column.endswith(_ENDS)]


def _ends(frame: pd.DataFrame, column: str) -> tuple[str, str]:
    """Its interval: `COLUMN_low` and `COLUMN_high`; plain `low` and `high` belong to what is measured first."""
    own, plain = (f"{column}_low", f"{column}_high"), ("low", "high")
    if set(own) <= set(frame.columns):
        return own
    return plain if set(plain) <= set(frame.columns) and column == _measured(frame)[0] else ("", "")


def _label(column: str) -> str:
    return column.replace("_", " ")
