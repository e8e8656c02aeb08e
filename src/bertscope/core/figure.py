"""A figure as plain data: which table, which columns on which axes, and the words beside it.

Computing code describes figures; the report draws them. Nothing here knows a plotting library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

FigureKind = Literal["heatmap", "lines", "intervals", "bars", "points", "maps", "trees", "texts"]


@dataclass(frozen=True)
class Figure:
    """One picture of one table of the result that holds it."""

    kind: FigureKind
    """`heatmap`: a grid of x by y coloured by `value`; `lines`: y against x, one line per `color`;
    `intervals`: a point per row of `y` with its value on x and a bar from `low` to `high`; `bars`: for each y the
    values x of its series (`color`) one after the other, such as shares that add up to 1; `points`: a scatter of x
    and y, a colour and a shape per `color`; `maps`: a contact sheet of small square matrices, one per `facet`, row y
    and column x coloured by `value` from 0 up, such as attention from query y to key x; `trees`: the words (`token`)
    of a sentence, one per `facet`, each at its place x with an arc to its governor's place y (0: it is the root;
    none: no arc), the arcs of the first `side` above the words and those of the second below; `texts`: the words
    (`token`) of a text, one per y and `side`, each at its place x and coloured by `value`: blue for what stands
    before the text (`facet`), orange against it."""
    table: str
    """The name of the result's table that is drawn."""
    x: str
    y: str
    title: str
    caption: str
    """What it is and how to read it: one or two sentences."""
    value: str | None = None
    """Heat maps, maps and texts: the column that gives the colour."""
    color: str | None = None
    """Lines, intervals, bars, points and trees: the column that separates the series, in the table's order."""
    facet: str | None = None
    """The column that gives each of its values a panel of its own, side by side, with the value as its heading; what
    follows ` · ` in the value goes on the heading's next line."""
    token: str | None = None
    """Maps: the column with the token at the row's y, written along both sides where a map has at most 24. Trees: the
    word at the row's x. Texts: the word. Points: the words that stand beside each point."""
    side: str | None = None
    """Trees: the column that says which of two trees of the sentence a row belongs to. Texts: the column that counts
    what is explained of a text."""
    step: str | None = None
    """Points: the column whose values are shown one at a time, in their order; the page has a slider for it, which
    begins with the last. Files show that one."""
    path: str | None = None
    """Points with steps: the column that says which points are the same thing; a faint line leads from where each was
    one step before."""
    low: str | None = None
    high: str | None = None
    """The columns that hold the ends of each row's interval."""
    mark: str | None = None
    """Heat maps: a column that is true where a cell gets a dot; what the dot means is the column's label. Points:
    true where a line joins them, from left to right, such as a front that nothing else reaches."""
    where: dict[str, Any] = field(default_factory=dict)
    """Draw only the rows with these values."""
    labels: dict[str, str] = field(default_factory=dict)
    """Words for column names, on axes and in tooltips."""
    middle: float | None = None
    """The value that means nothing happened: the neutral colour of a heat map, a rule across other figures."""
    rules: dict[str, float] = field(default_factory=dict)
    """Named reference values, drawn as dashed rules: `{"majority": 0.51}`."""
    key: str = ""
    """What code asks for it by: `result.plot("arms")`; no two figures of a result share one."""
    log_x: bool = False
    log_y: bool = False
    """Lines and points: whether the axis counts in factors, as where panels of very different height share it."""

    def columns(self) -> list[str]:
        """The columns the figure needs its table to have."""
        named = (
            self.x, self.y, self.value, self.color, self.facet, self.token, self.side, self.step, self.path, self.low,
            self.high, self.mark,
        )  # fmt: skip
        return [name for name in (*named, *self.where) if name is not None]
