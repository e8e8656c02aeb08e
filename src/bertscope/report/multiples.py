"""Small multiples: a figure that several answers to a question have, drawn as panels side by side on one scale.

The panels are those of a figure's `facet`: the answers' rows are put under one another, with a column that says whose
each is. The browser does the same with the rows that it has of each answer (scripts/together.js); here they only give
the scales. Contact sheets of maps, trees and texts are panels already, and points with words or a slider need more
room: these stand in each answer alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.report.answer import Answer, Picture
from bertscope.report.charts import draw
from bertscope.report.drawing import Drawing, chosen
from bertscope.report.layout import reserved_size
from bertscope.report.packed import ROWS, where, without_rows
from bertscope.report.panels import LABEL as LETTER
from bertscope.report.told_apart import APART, Told
from bertscope.report.values import plain

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("heatmap", "lines", "intervals", "bars", "points")
MOST = 24
"""Panels of a figure, at most."""
PANEL = 160
"""Pixels: four of them fit beside an axis."""
_SAME = ("kind", "x", "y", "value", "color", "facet", "low", "high", "mark", "middle", "log_x", "log_y")
"""What figures must share to be drawn on one scale."""
_ELSEWHERE = "How to read it is said under each answer's own figure."
_WITHOUT_RULES = "Reference values are drawn in each answer's own figure."


@dataclass(frozen=True)
class Part:
    """One answer's part of a shared figure."""

    answer: Answer
    told: Told
    picture: Picture
    figure: Figure

    @cached_property
    def rows(self) -> pd.DataFrame:
        """What it draws, its models called as in all answers."""
        rows = chosen(self.figure, self.answer.result.tables[self.figure.table])
        words = [column for column in rows.columns if not _is_number(rows[column])]
        return rows.assign(
            **{column: rows[column].map(lambda value: self.told.models.get(value, value)) for column in words}
        )


@dataclass(frozen=True)
class Multiple:
    """A figure of several answers."""

    picture: Picture
    label: str
    """Whose its reading is."""
    of: Picture
    """The first answer's own."""
    shared: dict[str, Any]
    """What the browser draws it from."""


def multiples(answers: Sequence[Answer], told: Sequence[Told], section: str) -> list[Multiple]:
    """What is drawn side by side, that first with which the first answer begins."""
    found: dict[str, list[Part]] = {}
    for answer, each in zip(answers, told, strict=True):
        for picture in [*([answer.first] if answer.first else []), *answer.pictures]:
            figure = answer.result.figures[picture.number]
            if key := _key(figure, answer):
                found.setdefault(key, []).append(Part(answer, each, picture, figure))
    drawn: list[Multiple] = []
    for key, parts in found.items():
        if one := _multiple(f"{section}-{key}", len(drawn), parts):
            drawn.append(one)
    return drawn


def _key(figure: Figure, answer: Answer) -> str:
    """By which figures of several answers are one: its own key, with a model's place instead of its id. Nothing for
    what isn't drawn side by side."""
    if figure.kind not in KINDS or figure.token or figure.step:
        return ""
    key = figure.key
    for place, model in enumerate(answer.result.models, start=1):
        key = key.replace(model, f"model-{place}")
    return key


def _multiple(id: str, number: int, parts: Sequence[Part]) -> Multiple | None:
    """The figure; None where the answers draw something else under its key, or too much of it."""
    parts = [part for part in parts if len(part.rows)]
    if len(parts) < 2 or len({tuple(getattr(part.figure, name) for name in _SAME) for part in parts}) > 1:
        return None
    titles = {part.told.words(part.figure.title) for part in parts}
    if len(titles) > 1 or not (joined := _joined(parts)):
        return None
    figure, table, panels, facet = joined
    chart = without_rows(draw(figure, table, data=_named()))
    said = _shrink(chart, figure.kind)
    columns = [str(column) for column in table.columns]
    first = parts[0]
    shared = {
        "spec": chart, "columns": columns, "facet": facet,
        "panels": [[name, part.answer.id] for name, part in panels],
        "parts": [
            {"answer": part.answer.id, "label": part.told.label, "table": part.figure.table,
             "where": where(part.figure),
             "names": {own: name for own, name in part.told.models.items() if own != name}}
            for part in parts
        ],
    }  # fmt: skip
    picture = Picture(
        id, number, titles.pop(), first.picture.reading, _caption(parts, said),
        reserved_size(chart) | {"answers": [part.answer.id for _, part in panels]},
        heads=all(part.picture.heads for part in parts),
    )  # fmt: skip
    return Multiple(picture, first.told.label, first.picture, shared)


def _joined(
    parts: Sequence[Part],
) -> tuple[Figure, pd.DataFrame, list[tuple[str, Part]], dict[str, str] | None] | None:
    """The figure with a panel for each answer, or for each value of its own facet and each answer; its rows, and the
    panels in their order. What the facet's column is, and what stands before its values, for the browser."""
    import pandas as pd

    figure = replace(parts[0].figure, where={}, rules={}, labels=_labels(parts))
    frames = [part.rows for part in parts]
    table = pd.concat(frames, ignore_index=True)
    before, values = "", [None]
    if figure.facet is not None:
        own = Drawing(figure, table)
        values = own.values(figure.facet)
        if not (own.whole(figure.facet) or all(isinstance(value, str) for value in values)):
            return None  # Python and the browser write other values differently
        before = own.label(figure.facet) + " " if own.numeric(figure.facet) else ""
    if len(parts) * len(values) > MOST:
        return None
    column = "answer"
    while column in table.columns:
        column += "_"
    names = [list(_names(part, frame, figure.facet, before)) for part, frame in zip(parts, frames, strict=True)]
    table[column] = [name for each in names for name in each]
    there = {name for each in names for name in each}
    panels = [
        (name, part) for value in values for part in parts if (name := _name(part, value, before)) in there
    ]  # fmt: skip
    figure = replace(figure, facet=column, labels={**figure.labels, column: "answer"})
    # In the order of the panels: Altair sorts by it, whatever the rows' own order is.
    table[column] = pd.Categorical(table[column], [name for name, _ in panels], ordered=True)
    facet = None if parts[0].figure.facet is None else {"column": parts[0].figure.facet, "before": before}
    return figure, table, panels, facet


def _names(part: Part, frame: pd.DataFrame, facet: str | None, before: str) -> Iterator[str | None]:
    """For each of its rows the panel that it stands in."""
    for value in frame[facet] if facet is not None else [None] * len(frame):
        cell = plain(value)
        yield None if facet is not None and cell is None else _name(part, cell, before)


def _name(part: Part, value: Any, before: str) -> str:
    if value is None:
        return part.told.label
    return f"{part.told.label}{APART}{before}{int(value) if before else value}"


def _labels(parts: Sequence[Part]) -> dict[str, str]:
    """What the columns are called; where answers call one differently, as an axis of another metric, both."""
    labels: dict[str, dict[str, None]] = {}
    for part in parts:
        for column, label in part.figure.labels.items():
            labels.setdefault(column, {})[part.told.words(label)] = None
    return {column: _either(list(said)) for column, said in labels.items()}


def _either(labels: Sequence[str]) -> str:
    """Labels as one: what all begin with stands there once.

    >>> _either(["change of the accuracy", "change of the micro_f1"])
    'change of the accuracy / micro_f1'
    """
    words = [label.split() for label in labels]
    same = len([*takewhile(lambda each: len({*each}) == 1, zip(*words, strict=False))])
    return " ".join([*words[0][:same], " / ".join(" ".join(each[same:]) for each in words)]).strip()


def _caption(parts: Sequence[Part], titles: Sequence[str]) -> str:
    """How to read it, and what had no room in the panels."""
    captions = {part.told.words(part.figure.caption) for part in parts}
    said = captions.pop() if len(captions) == 1 else _ELSEWHERE
    return " ".join([*titles, said, *([_WITHOUT_RULES] if any(part.figure.rules for part in parts) else [])])


def _named() -> Any:
    import altair as alt

    return alt.NamedData(ROWS)


def _shrink(chart: dict[str, Any], kind: str) -> list[str]:
    """Panels small enough to stand beside each other, in their shape; a scatter is a square. What is then too long to
    stand along an axis is given back."""
    one = chart["spec"]
    width = min(PANEL, one["width"])
    one["height"] = width if kind == "points" else one["height"] * width / one["width"]
    one["width"] = width
    said: dict[str, None] = {}
    for axis, side, words in (("x", "width", "Across"), ("y", "height", "Along the side")):
        for layer in one["layer"]:
            channel = layer.get("encoding", {}).get(axis, {})
            title = channel.get("title") or ""
            if len(title) * LETTER > one[side]:
                channel["title"] = None
                said[f"{words}: {title}."] = None
    return list(said)


def _is_number(column: pd.Series) -> bool:
    from pandas.api.types import is_numeric_dtype

    return is_numeric_dtype(column)
