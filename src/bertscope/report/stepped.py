"""Points with words beside them, and figures that one steps through: a slider chooses a value of the `step` column,
and only its rows are drawn."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

    from bertscope.report.drawing import Drawing

_NAME = "step"
_MARGIN = 0.08  # of a scale's span, on both sides: words beside points need it
_TURN = 0.65  # of the span: farther right, a point's word stands left of it


def slider(drawing: Drawing) -> alt.Parameter:
    """What the reader moves: a range where the steps are whole numbers in a row, otherwise a list."""
    import altair as alt

    column = str(drawing.figure.step)
    values, label = drawing.values(column), f"{drawing.label(column)} "
    bind: Any = alt.binding_select(options=values, name=label)
    if values and drawing.whole(column) and values == list(range(int(values[0]), int(values[-1]) + 1)):
        bind = alt.binding_range(min=values[0], max=values[-1], step=1, name=label)
    return alt.param(name=_NAME, value=values[-1] if values else None, bind=bind)


def shown(drawing: Drawing, back: int = 0) -> str:
    """The expression for rows of the step that is chosen, or of at most so many steps before it."""
    if drawing.figure.step is None:
        return "true"
    values, field = json.dumps(drawing.values(drawing.figure.step)), drawing.fields[drawing.figure.step]
    ago = f"indexof({values}, {_NAME}) - indexof({values}, datum.{field})"
    return f"inrange({ago}, [0, {back}])"


def fixed(drawing: Drawing, column: str, about: dict[str, Any]) -> dict[str, Any]:
    """A position channel whose scale is the same at every step."""
    import altair as alt

    ends = drawing.extent(column) or [0.0]
    margin = _MARGIN * ((max(ends) - min(ends)) or 1)
    return about | {"scale": alt.Scale(domain=[min(ends) - margin, max(ends) + margin], nice=False)}


def words(drawing: Drawing, x: alt.X, y: alt.Y) -> list[Any]:
    """Each point's word, on the side that has room for it."""
    import altair as alt

    figure = drawing.figure
    if figure.token is None:
        return []
    ends = drawing.extent(figure.x) or [0.0]
    far = f"datum.{drawing.fields[figure.x]} > {min(ends) + _TURN * (max(ends) - min(ends))}"
    word = alt.Text(field=drawing.fields[figure.token], type="nominal")
    return [
        alt.Chart().mark_text(style=style, aria=False).encode(x=x, y=y, text=word).transform_filter(where)
        for style, where in (("word", f"!({far})"), ("word-before", far))
    ]


def trail(drawing: Drawing, x: alt.X, y: alt.Y) -> list[Any]:
    """What lies under the points of a step: its name, which files need, and a faint line to each point from where it
    was one step before."""
    import altair as alt

    figure = drawing.figure
    if figure.step is None:
        return []
    chosen = alt.ExprRef(f"{json.dumps(drawing.label(figure.step) + ' ')} + {_NAME}")
    name = alt.Chart(alt.Data(values=[{}])).mark_text(style="step", text=chosen)
    name = name.encode(x=alt.value("width"), y=alt.value(0))
    if figure.path is None:
        return [name]
    same = alt.Detail(field=drawing.fields[figure.path], type="nominal")
    lines = alt.Chart().mark_line(style="trail", aria=False).encode(x=x, y=y, detail=same)
    return [name, lines.transform_filter(f"{drawing.has(figure.x, figure.y)} && {shown(drawing, back=1)}")]
