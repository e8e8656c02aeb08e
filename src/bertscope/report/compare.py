"""Two stores side by side: which numbers are in both, how far apart they are, and what only one of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from bertscope.report.finding import Finding
from bertscope.report.ledger import QUESTION as LEDGER
from bertscope.report.sections import names

if TYPE_CHECKING:
    import pandas as pd

Pair = tuple[Finding, Finding]
_KEYS: tuple[Callable[[Finding], Any], ...] = (
    lambda finding: finding.step.id,
    lambda finding: canonical_json([_ids(finding), finding.result.subject, dict(finding.step.config)]),
    lambda finding: canonical_json([_places(finding), finding.result.subject, dict(finding.step.config)]),
    lambda finding: canonical_json([_ids(finding), finding.result.subject]),
    lambda finding: canonical_json([_places(finding), finding.result.subject]),
)
"""What makes two answers to a question the same: the same recipe, else the same models, subject and settings, else
models and subject. Models are the same by what they hold, or else by their place: trained on two machines as each
other, they hold other weights."""


def compare_stores(one: Store | str | Path, other: Store | str | Path) -> Result:
    """The headline numbers of two stores as tables: `numbers` that are in both, answers that are `only` in one."""
    import pandas as pd

    sides = [_answers(store) for store in (one, other)]
    stores = _distinct_names(one, other)
    abouts = [_abouts(side) for side in sides]
    pairs, rest = _matched(*sides)
    places = {name: place for place, name in enumerate(QUESTIONS)}
    pairs.sort(key=lambda pair: (places.get(_question(pair[0]), len(places)), abouts[0][pair[0].step.id]))
    rows = [row for pair in pairs for row in _numbers(pair, abouts)]
    only = [
        {"store": store, "question": finding.result.question, "about": about[finding.step.id]}
        for store, left, about in zip(stores, rest, abouts, strict=True) for finding in left
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
            _counted("in_both", len(pairs), "answers in both"),
            _counted("numbers_in_both", len(numbers), "numbers in both"),
            _counted("differing", int((numbers["difference"] != 0).sum()), "numbers that differ", len(numbers)),
            _counted("apart", apart, "intervals that do not overlap", int((numbers["overlap"] != "").sum())),
            *(
                _counted(key, len(left), f"answers only in {name}")
                for key, name, left in zip(("only_one", "only_other"), stores, rest, strict=True)
            ),
        ],
        figures=[
            _figure(str(question), list(rows["about"].unique()))
            for question, rows in beside.groupby("question", sort=False)
        ],
        subject={"stores": " and ".join(stores)},
        notes=[
            "intervals that overlap may still belong to numbers that differ: only a paired comparison, such as "
            "similarity or change, can tell",
            *_of_other_sizes(numbers),
        ],
    )


def _of_other_sizes(numbers: pd.DataFrame) -> list[str]:
    """Numbers that move with the size of their sample, where the sizes differ."""
    moving = numbers.apply(
        lambda row: row["question"] in QUESTIONS and row["key"] in find(row["question"]).moves_with_n, axis=1
    )
    apart = numbers[moving.astype(bool) & (numbers["one_n"] != numbers["other_n"])] if len(numbers) else numbers
    return [
        f"{question}: {', '.join(rows['number'].drop_duplicates())} move with the number that they are of, which "
        "differs here; the difference isn't one of models"
        for question, rows in apart.groupby("question", sort=False)
    ]


def _counted(key: str, count: int, label: str, of: int | None = None) -> Number:
    """A number of this comparison, which no question declares."""
    return Number(key, float(count), n=of, label=label)


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
    """The folders' own names; where those are the same, their paths from the working folder, or else a number."""
    folders = [Path(store.folder if isinstance(store, Store) else store).resolve() for store in (one, other)]
    if folders[0] == folders[1]:
        raise UserError(f"{folders[0]} is compared with itself; name two stores")
    first, second = (folder.name for folder in folders)
    if first != second:
        return first, second
    here = Path.cwd()
    if all(folder.is_relative_to(here) for folder in folders):
        first, second = (str(folder.relative_to(here)) for folder in folders)
        return first, second
    return f"{first} (1)", f"{second} (2)"


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
    return pairs, (left, right)


def _question(finding: Finding) -> str:
    return finding.result.question


def _ids(finding: Finding) -> list[str]:
    return list(finding.result.models)


def _places(finding: Finding) -> list[str]:
    return [record.place for record in finding.result.models.values()]


def _abouts(findings: Sequence[Finding]) -> dict[str, str]:
    """What each answer of a store is about, by its step."""
    shown = names(findings, subjects.PageModels(findings))
    return {finding.step.id: about for finding, about in zip(findings, shown, strict=True)}


_COLUMNS = [
    "question", "about", "other_about", "key", "number", "unit", "main", "one", "one_low", "one_high", "other",
    "other_low", "other_high", "difference", "overlap", "one_n", "other_n",
]  # fmt: skip


def _numbers(pair: Pair, abouts: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """Numbers of the same key and unit that are of the same. Whether the intervals overlap is empty where one of them
    has none."""
    one, other = (finding.result.in_words() for finding in pair)
    about, other_about = (side[finding.step.id] for side, finding in zip(abouts, pair, strict=True))
    alike = (_places(pair[0]), one.subject) == (_places(pair[1]), other.subject)
    theirs = dict(zip(_identities(other, one), other.headline, strict=True))
    main = find(one.question).main if one.question in QUESTIONS else ""
    for identity, mine in zip(_identities(one, other), one.headline, strict=True):
        if (yours := theirs.get(identity)) is not None:
            yield {
                "question": one.question, "about": about, "other_about": "" if alike else other_about,
                "key": mine.key, "number": mine.label, "unit": mine.unit, "main": mine.key == main,
                "one": mine.value, "one_low": mine.low, "one_high": mine.high,
                "other": yours.value, "other_low": yours.low, "other_high": yours.high,
                "difference": yours.value - mine.value, "overlap": _overlap(mine, yours),
                "one_n": mine.n, "other_n": yours.n,
            }  # fmt: skip


def _identities(result: Result, other: Result) -> list[str]:
    """What tells each number of a result from its others, and is the same in another result: its key, its unit and
    what it is of. A model is called by its id where the other result has it too, or else by its place, and by how
    many were given before it that share that; the only one of each result is the same."""
    shared: dict[str, str] = {}
    counts = Counter[str]()
    alone = len(result.models) == len(other.models) == 1
    for key, record in result.models.items():
        counts[record.place] += 1
        shared[key] = "" if alone else key if key in other.models else f"{record.place} {counts[record.place]}"

    def of(number: Number) -> dict[str, str]:
        return {name: shared.get(value, value) for name, value in number.of.items()}

    return [canonical_json([number.key, number.unit, of(number)]) for number in result.headline]


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
    both = drawn["other_about"].map(lambda other: f" | {other}" if other else "")
    sides = [
        pd.DataFrame({
            "question": drawn["question"], "about": drawn["about"] + both, "number": drawn["number"], "store": name,
            "value": drawn[side], "low": drawn[f"{side}_low"], "high": drawn[f"{side}_high"],
        })
        for side, name in zip(("one", "other"), names, strict=True)
    ]  # fmt: skip
    return pd.concat(sides, ignore_index=True).astype({"low": float, "high": float})


def _figure(question: str, abouts: Sequence[str]) -> Figure:
    several = len(abouts) > 1
    of = "" if several else f" They are of {abouts[0]}."
    line = QUESTIONS[question].line if question in QUESTIONS else question
    return Figure(
        "intervals", "beside", x="value", y="number", color="store", low="low", high="high",
        facet="about" if several else None, where={"question": question}, title=line,
        caption="The numbers of both stores in the unit of the main one, with the intervals that each has stored; "
        f"answers that are the same in both are left out.{of}",
        labels={"value": ""}, key=question,
    )  # fmt: skip
