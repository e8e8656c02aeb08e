"""Two stores side by side: which numbers are in both, how far apart they are, and what only one of them has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.files import canonical_json
from bertscope.core.number import Number
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.report import subjects
from bertscope.report.build import stored_findings, write_page
from bertscope.report.ledger import QUESTION as LEDGER
from bertscope.report.sections import Finding, names

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[Finding, Finding]
_KEYS: tuple[Callable[[Finding], Any], ...] = (
    lambda finding: finding.step.id,
    lambda finding: canonical_json([finding.result.subject, dict(finding.step.config)]),
    lambda finding: canonical_json(finding.result.subject),
)
"""What makes two answers to a question the same: the same recipe, else subject and settings, else the subject."""


def compare_stores(one: Store | str | Path, other: Store | str | Path) -> Result:
    """The headline numbers of two stores as tables: `numbers` that are in both, answers that are `only` in one."""
    import pandas as pd

    sides = [_answers(store) for store in (one, other)]
    stores = _distinct_names(one, other)
    pairs, rest = _matched(*sides)
    rows = [row for pair in pairs for row in _numbers(pair)]
    only = [
        {"store": store, "question": finding.result.question, "about": about}
        for store, left in zip(stores, rest, strict=True) for about, finding in zip(names(left), left, strict=True)
    ]  # fmt: skip
    numbers = pd.DataFrame(rows, columns=_COLUMNS).astype({"main": bool})
    beside = _beside(numbers, stores)
    apart = int((numbers["overlap"] == "no").sum())
    return Result(
        "compare",
        1,
        tables={
            "numbers": numbers,
            "only": pd.DataFrame(only, columns=["store", "question", "about"]),
            "beside": beside,
        },
        headline=[
            Number("answers in both", float(len(pairs))),
            Number("numbers in both", float(len(numbers))),
            Number("numbers that differ", float((numbers["difference"] != 0).sum()), n=len(numbers)),
            Number("intervals that do not overlap", float(apart), n=int((numbers["overlap"] != "").sum())),
            *(Number(f"answers only in {name}", float(len(left))) for name, left in zip(stores, rest, strict=True)),
        ],
        figures=[
            _figure(str(question), rows["about"].nunique() > 1)
            for question, rows in beside.groupby("question", sort=False)
        ],
        subject={"stores": " and ".join(stores)},
        notes=[
            "intervals that overlap may still belong to numbers that differ: only a paired comparison, such as "
            "similarity or change, can tell",
        ],
    )


def compare_page(result: Result, out: str | Path) -> Path:
    """The comparison as a page."""
    names = result.subject["stores"]
    return write_page([Finding(Step("compare", 1, {"stores": names}, {}), result)], out, title=f"{names}, compared")


def _answers(store: Store | str | Path) -> list[Finding]:
    """What a reader would compare: no ledgers, and no steps that are part of another answer."""
    found = stored_findings(store)
    parts = subjects.parts(found)
    return [
        finding for finding in found
        if finding.result.question != LEDGER and finding.step.id not in parts
        and (finding.step.name not in QUESTIONS or QUESTIONS[finding.step.name].group)
    ]  # fmt: skip


def _distinct_names(one: Store | str | Path, other: Store | str | Path) -> tuple[str, str]:
    """The folders' own names, or their paths where those are the same."""
    folders = [Path(store.folder if isinstance(store, Store) else store).resolve() for store in (one, other)]
    if folders[0] == folders[1]:
        raise UserError(f"{folders[0]} is compared with itself; name two stores")
    first, second = (folder.name for folder in folders)
    return (first, second) if first != second else (str(folders[0]), str(folders[1]))


def _matched(
    ours: Sequence[Finding], theirs: Sequence[Finding]
) -> tuple[list[Pair], tuple[list[Finding], list[Finding]]]:
    """Answers to the same question about the same thing; where a question has one more in each, these too."""
    pairs: list[Pair] = []
    left, right = list(ours), list(theirs)
    for key in _KEYS:
        for finding in list(left):
            same = [other for other in right if _question(other) == _question(finding) and key(other) == key(finding)]
            if same:
                pairs.append((finding, same[0]))
                left.remove(finding)
                right.remove(same[0])
    for finding in list(left):
        mine, others = ([one for one in side if _question(one) == _question(finding)] for side in (left, right))
        if len(mine) == len(others) == 1:
            pairs.append((finding, others[0]))
            left.remove(finding)
            right.remove(others[0])
    places = {name: place for place, name in enumerate(QUESTIONS)}
    pairs.sort(key=lambda pair: (places.get(_question(pair[0]), len(places)), pair[0].result.about))
    return pairs, (left, right)


def _question(finding: Finding) -> str:
    return finding.result.question


_COLUMNS = [
    "question", "about", "other_about", "number", "unit", "main", "one", "one_low", "one_high", "other", "other_low",
    "other_high", "difference", "overlap",
]  # fmt: skip


def _numbers(pair: Pair) -> Iterator[dict[str, Any]]:
    """Numbers of the same name and unit. Whether the intervals overlap is empty where one of them has none."""
    one, other = (finding.result for finding in pair)
    theirs = {(number.name, number.unit): number for number in other.headline}
    main = find(one.question).main if one.question in QUESTIONS else ""
    for mine in one.headline:
        if (yours := theirs.get((mine.name, mine.unit))) is not None:
            yield {
                "question": one.question, "about": one.about,
                "other_about": "" if other.about == one.about else other.about,
                "number": mine.name, "unit": mine.unit, "main": mine.name == main,
                "one": mine.value, "one_low": mine.low, "one_high": mine.high,
                "other": yours.value, "other_low": yours.low, "other_high": yours.high,
                "difference": yours.value - mine.value, "overlap": _overlap(mine, yours),
            }  # fmt: skip


def _overlap(one: Number, other: Number) -> str:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return ""
    return "yes" if one.low <= other.high and other.low <= one.high else "no"


def _beside(numbers: pd.DataFrame, names: tuple[str, str]) -> pd.DataFrame:
    """What figures draw: of answers that differ the numbers in the unit of the main one, a row for each store."""
    import pandas as pd

    of_main = numbers[numbers["main"]].drop_duplicates("question").set_index("question")["unit"]
    differs = (numbers["difference"] != 0).groupby([numbers["question"], numbers["about"]]).transform("any")
    drawn = numbers[differs & (numbers["unit"] == numbers["question"].map(of_main))]
    sides = [
        pd.DataFrame({
            "question": drawn["question"], "about": drawn["about"], "number": drawn["number"], "store": name,
            "value": drawn[side], "low": drawn[f"{side}_low"], "high": drawn[f"{side}_high"],
        })
        for side, name in zip(("one", "other"), names, strict=True)
    ]  # fmt: skip
    return pd.concat(sides, ignore_index=True).astype({"low": float, "high": float})


def _figure(question: str, several: bool) -> Figure:
    line = QUESTIONS[question].line if question in QUESTIONS else question
    return Figure(
        "intervals", "beside", x="value", y="number", color="store", low="low", high="high",
        facet="about" if several else None, where={"question": question}, title=line,
        caption="The numbers of both stores in the unit of the main one, with the intervals that each has stored; "
        "answers that are the same in both are left out.",
        labels={"value": ""},
    )  # fmt: skip
