"""The pages of docs/findings, written from stored results: `python tests/support/findings_pages.py` writes them anew.

A page is a template (docs/findings/templates) and the excerpt of its study's results (docs/findings/results).
Whatever a template takes from the results is marked with its key while the page is made, so that a test can tell a
number that was measured from one that was typed. What compares is not typed either: `differs` looks at the interval.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bertscope.core.registry import find
from doc_pages import HERE
from findings_results import FOLDER, Kept, Told, Value
from findings_time import in_all, on, took
from findings_together import (
    by_place,
    count_of,
    courses,
    each,
    each_row,
    last_layer,
    mean_of,
    not_tested,
    same_layers,
    side_by_side,
    with_verdict,
)

PAGES = HERE / "docs" / "findings"
TEMPLATES = PAGES / "templates"
_BEGIN, _THEN, _END = "\ue000", "\ue001", "\ue002"
MARK = re.compile(f"{_BEGIN}([^{_THEN}]*){_THEN}([^{_END}]*){_END}")
"""A marked text: its key, and what the page says."""
_ENDING = ".md.j2"


def names() -> list[str]:
    """The pages that are made from results."""
    return sorted(path.name.removesuffix(_ENDING) for path in TEMPLATES.glob(f"*{_ENDING}"))


def path_of(name: str) -> Path:
    """Where a page lies: the first one is above the others."""
    return PAGES.with_suffix(".md") if name == "index" else PAGES / f"{name}.md"


def kept(name: str) -> Kept:
    """The results that a page is written from; the first page speaks of all that were judged."""
    return Kept(FOLDER / f"{'ledger' if name == 'index' else name}.json")


def marked(name: str, results: Kept | None = None) -> str:
    """The page with its marks."""
    return _template(name).render(_words(results or kept(name), name)).rstrip("\n") + "\n"


def written(name: str, results: Kept | None = None) -> str:
    """The page as it is read."""
    return unmarked(marked(name, results))


def unmarked(text: str) -> str:
    return MARK.sub(lambda found: found[2], text)


def declared(name: str) -> list[str]:
    """What a template says in figures that no result has: `{% set declared = ["95%"] %}`."""
    return list(getattr(_template(name).make_module(_words(kept(name), name)), "declared", []))


def _template(name: str) -> Any:
    around = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    around.filters |= FILTERS
    return around.get_template(name + _ENDING)


def _words(results: Kept, name: str) -> dict[str, Any]:
    return {
        "of": results.of, "results": results, "study": f"findings-{name}", "differs": differs, "mean_of": mean_of,
        "count_of": count_of, "told": told, "told_unit": told_unit, "head": of_heads, "how": how,
        "in_short": in_short,
        "tables": tables(name, results), "by_place": by_place, "each": each, "each_row": each_row,
        "kinds": Told.kinds, "same_layers": same_layers, "last_layer": last_layer, "side_by_side": side_by_side,
        "with_verdict": with_verdict, "not_tested": not_tested, "courses": courses,
        "in_all": lambda: mark("study", in_all(Kept(path) for path in sorted(FOLDER.glob("*.json")))),
    }  # fmt: skip


# What a template says of a value.


def mark(key: str, text: str) -> str:
    return f"{_BEGIN}{key}{_THEN}{text}{_END}"


def told(key: str, text: Any) -> str:
    """A text of the results, such as a head's name, under its key."""
    return mark(key, str(text))


def told_unit(result: Told, key: str, kind: str = "head", digits: int = 3) -> str:
    """The number of a part that was picked, and which it is."""
    value, unit = result.of_unit(key, kind)
    return f"{bare(value, digits)} ({mark(f'{value.key}/of', unit)})"


def figure(value: float, digits: int = 3, signed: bool = False) -> str:
    """As these pages write numbers.

    >>> figure(0.25), figure(-0.25, 2), figure(1.5), figure(0.25, signed=True), figure(-0.0001), figure(0.2, 1)
    ('.250', '-.25', '1.500', '+.250', '.000', '0.2')
    """
    text = f"{value:{'+' if signed else ''}z.{digits}f}"
    return re.sub(r"(?<![\d])0\.", ".", text) if digits > 1 else text


def bare(value: Value, digits: int = 3, signed: bool = False) -> str:
    """The value alone; nothing where there is none."""
    return "" if value.value is None else mark(value.key, figure(value.value, digits, signed))


def whole(value: Value, digits: int = 3, signed: bool = False) -> str:
    """The value and its interval; nothing where there is none."""
    return "" if value.value is None else mark(value.key, _whole(value, digits, signed))


def _whole(value: Value, digits: int = 3, signed: bool = False) -> str:
    text = figure(value.value, digits, signed)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{figure(value.low, digits, signed)}, {figure(value.high, digits, signed)}]"


def points(value: Value) -> str:
    """A difference of scores, in points."""
    return "" if value.value is None else mark(value.key, _whole(_hundredfold(value), 1, signed=True))


def _hundredfold(value: Value) -> Value:
    ends = [end if end is None else 100 * end for end in (value.low, value.high)]
    return Value(value.key, 100 * value.value, *ends, value.n)


def counted(value: Value) -> str:
    return "" if value.value is None else mark(value.key, f"{value.value:,.0f}")


def step(value: Value) -> str:
    """The step of a training, and between which steps it lies."""
    return "" if value.value is None else mark(value.key, f"{value.value:,} [{value.low:,}, {value.high:,}]")


def rows_of(value: Value) -> str:
    """How many examples a value rests on."""
    return mark(f"{value.key}/n", f"{value.n:,}")


def differs(value: Value, above: str, below: str, open: str = "not shown to differ", digits: int = 3) -> str:
    """What a difference says: one of two words if its whole interval is on one side of 0, else that it is open."""
    said = above if value.is_above else below if value.is_below else open
    return mark(f"differs {value.key}", f"{said} ({_whole(value, digits, signed=True)})")


FILTERS: dict[str, Callable[..., str]] = {
    "bare": bare, "whole": whole, "points": points, "counted": counted, "step": step, "rows_of": rows_of,
}  # fmt: skip


def of_heads(unit: str) -> str:
    """`head:3.4` as pages say it: 3.4."""
    return unit.partition(":")[2]


# What every page says of its study.


def in_short(results: Kept) -> str:
    """When and where its results were made: what a reader has to know before the first table."""
    if not list(results):
        return "Not run yet with the shipped code: there is no number on this page."
    made = mark("study", f"Made {_when_and_where(list(results))}")
    return f"{made}. The settings, the code and the time it took are [at the end](#how-it-was-made)."


def how(results: Kept) -> str:
    """Of each run: when, where and by which commit its results were made, how many of the study's answers there are,
    and which settings were others than the study's."""
    lines = []
    for place, run in enumerate(results.record["runs"]):
        if found := [one for one in results if one.run == place]:
            answers = f"{len(found)} of {run['asked']} answers{took(results, place)}"
            text = f"Made {_when_and_where(found)}, commit {run['commit']}: {answers}"
            sets = " ".join(f"--set '{one}'" for one in run["sets"])
            lines.append("- " + mark("study", text) + (f", with `{sets}`." if sets else ".") + _changed_since(found))
    return "\n".join(lines or ["Not yet."])


def _changed_since(found: list[Told]) -> str:
    """Which of these answers the code that ships would not give again in every part."""
    judged = [one for one in found if one.question != "claims"]  # which are judged anew, on a page of their own
    older = sorted({one.question for one in judged if one.kept["version"] < find(one.question).version})
    return f" Changed since, so that a new run's numbers may differ: {', '.join(older)}." if older else ""


def _when_and_where(found: list[Told]) -> str:
    days = sorted({one.made for one in found})
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"on {when} on {' and '.join(sorted({on(one.device) for one in found}))}"


def tables(name: str, results: Kept) -> dict[str, str]:
    """What a page's own script makes of stored lines: a test beside that script holds it to them."""
    if name != "recipe":
        return {}
    import recipe_table

    measured = recipe_table.measured(results.record)
    made = {part: getattr(recipe_table, part)(measured) for part in ("by_rows", "shown", "cells", "clear_gains")}
    made["searched"] = recipe_table.searched(results.record["search"])
    made["failed"] = recipe_table.failed(results.record)
    made["heads"] = recipe_table.heads(results.record)
    return {part: mark(f"made {part}", text) for part, text in made.items()}


def main() -> None:
    for name in names():
        path_of(name).write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
