"""What follows from a stored result, for somebody who has a model and wants to know what to do.

A statement (`statement.py`) says what a number is; a consequence says what it means for whoever uses the model, in
words that need no knowledge of heads or layers where that can be had. Each is written beside its question, in
`consequence.py`, from the result's keys and tables. What the evidence doesn't decide is said to be open.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from bertscope.core.statement import points

if TYPE_CHECKING:
    from bertscope.core.estimate import Estimate
    from bertscope.core.number import Number
    from bertscope.core.result import Result
    from bertscope.core.small_picture import SmallPicture

Source = TypeVar("Source")
Theme = Literal["works", "fails", "price", "needs", "changed", "knows", "looks"]
THEMES: tuple[Theme, ...] = get_args(Theme)
HEADINGS: dict[Theme, str] = {
    "works": "Does it work?",
    "fails": "Where does it fail?",
    "price": "How much can go?",
    "needs": "What does it need?",
    "changed": "What did training change?",
    "knows": "What does it know?",
    "looks": "What does it look at?",
}
"""In the order in which a user asks."""
OF_THE_SCORE: frozenset[Theme] = frozenset({"fails", "price", "needs"})
"""Themes that are told in points of a score: of a model that has none above chance, nothing is lost or won."""
ASKS: dict[Theme, str] = {
    "works": "bertscope errors {model} --on {data}",
    "fails": "bertscope errors {model} --on {data}",
    "price": "bertscope shrink {model} --on {data}",
    "needs": "bertscope ablate {model} --on {data}",
    "changed": "bertscope graft {base} {model} --on {data}",
    "knows": "bertscope structure {model} --on demo/corpus",
    "looks": "bertscope explain {model} --on {data}",
}
"""What tells of a theme of which nothing is known yet."""
LAYERS = "layers (the steps in which it reads)"
HEADS = "attention heads (the parts that let words look at each other)"
"""Words that not everybody knows, as the first sentence that has them says them."""
_COUNTED = {"accuracy": "right", "exact_match": "exactly right", "word_accuracy": "words right"}
"""Metrics that are a share of what is right."""
_NAMES = {
    "f1": "F1", "macro_f1": "macro F1", "micro_f1": "micro F1", "entity_f1": "entity F1", "token_f1": "token F1",
    "strict_entity_f1": "strict entity F1", "matthews": "Matthews", "pearson": "Pearson", "spearman": "Spearman",
    "las": "LAS", "uas": "UAS",
}  # fmt: skip

_VOWELS = ("e", "F1", "LAS")
"""How names begin that are spoken with a vowel first."""


@dataclass(frozen=True)
class Consequence:
    theme: Theme
    text: str
    """A sentence or two."""
    weight: float
    """How much it matters beside others of its theme, 0 to 1: of a theme the heaviest is shown first."""
    figure: str = ""
    """The key of the result's figure that shows it at length."""
    picture: SmallPicture | None = None
    """What stands beside it."""
    is_open: bool = False
    """Whether the evidence doesn't decide it."""
    command: str = ""
    """What to do next, to be copied; `{model}`, `{base}` and `{data}` in it are what the result is about."""
    at_chance: bool = False
    """Whether it says that the model does no more than chance, or may: then what its parts cost means nothing."""
    of_skill: bool = False
    """Whether it is about how the model comes to its answers, which is nothing to know of one at chance."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"a consequence weighs 0 to 1, not {self.weight}")


def ranked(found: Iterable[Consequence]) -> list[Consequence]:
    """What is said first of a model: see `ranked_with`."""
    return [one for one, _ in ranked_with((one, None) for one in found)]


def ranked_with(found: Iterable[tuple[Consequence, Source]]) -> list[tuple[Consequence, Source]]:
    """What is said first of a model: of each theme the heaviest, in the order of the themes, with what it came from.

    An open one only where its theme has nothing certain; of equal weight one with a command, then the first given.
    Of a model that does no more than chance nothing is said that is told in points of its score, nor how it comes to
    its answers.
    """
    found = list(found)
    first = _first_of_each(found)
    if any(one.at_chance for one, _ in first):
        first = _first_of_each(pair for pair in found if not (pair[0].of_skill or pair[0].theme in OF_THE_SCORE))
    return _explained_once(first)


def _first_of_each(found: Iterable[tuple[Consequence, Source]]) -> list[tuple[Consequence, Source]]:
    by_theme: dict[Theme, list[tuple[Consequence, Source]]] = {theme: [] for theme in THEMES}
    for one in found:
        by_theme[one[0].theme].append(one)
    return [min(of, key=lambda one: _place(one[0])) for of in by_theme.values() if of]


def _explained_once(shown: Iterable[tuple[Consequence, Source]]) -> list[tuple[Consequence, Source]]:
    """What a word means is said where it stands first."""
    told, known = list[tuple[Consequence, Source]](), set[str]()
    for one, source in shown:
        text = one.text
        for explained in (LAYERS, HEADS):
            if explained in text and explained in known:
                text = text.replace(explained, explained.partition(" (")[0])
            elif explained in text:
                known.add(explained)
        told.append((replace(one, text=text), source))
    return told


def _place(one: Consequence) -> tuple[bool, float, bool]:
    return one.is_open, -one.weight, not one.command


def next_command(shown: Iterable[Consequence], asked: Collection[str], has_base: bool = True) -> str:
    """What to do next: the first command of what is shown, or else what would tell of a theme that isn't there; none
    of a question that was `asked` already, unless it writes something. Where no base is known, nothing that needs
    one. Of a model at chance, only what is shown: nothing else would tell of it."""
    shown = list(shown)
    lost = any(one.at_chance for one in shown)
    missing = [] if lost else [ASKS[theme] for theme in THEMES if theme not in {one.theme for one in shown}]
    every = (*(one.command for one in shown), *missing)
    return next((command for command in every if is_new(command, asked, has_base)), "")


def is_new(command: str, asked: Collection[str], has_base: bool = True) -> bool:
    """Whether a command tells or makes something that isn't there yet, and can be given."""
    words = command.split()
    return bool(words) and (words[1] not in asked or "--out" in words) and (has_base or "{base}" not in command)


def named_data(source: str, options: Mapping[str, Any]) -> str:
    """Data as a command takes it: where it is, and how it is read.

    >>> named_data("my reviews.csv", {"label": "opinion", "skip_bad": True, "seed": 1, "limit": None})
    "'my reviews.csv' --label opinion --skip-bad --data-seed 1"
    """
    told = [shlex.quote(source)]
    for name, value in options.items():
        flag = "--data-seed" if name == "seed" else f"--{name.replace('_', '-')}"
        if value is True:
            told.append(flag)
        elif value is not None and value is not False and value not in (0, "", (), []):
            each = value if isinstance(value, list | tuple) else [value]
            told.append(" ".join([flag, *(shlex.quote(str(one)) for one in each)]))
    return " ".join(told)


def consequences_of(result: Result) -> list[Consequence]:
    """What follows from a stored result; nothing where its question, or the result, is of another version."""
    from bertscope.core import registry

    question = registry.still_declared(result.question)
    entry = registry.QUESTIONS.get(result.question)
    if question is None or entry is None or not entry.group or question.version != result.version:
        return []
    try:
        return question.consequences(result)
    except (LookupError, ValueError, ImportError):  # a table or number that it had then, or a question without any
        return []


def spoken_of(result: Result) -> str:
    """The key of the model that a result speaks of where it has several: the last that isn't random weights, with
    which others are compared, and didn't begin with any; where all did, the last that was trained since; empty where
    it is about none."""
    known = list(reversed(result.models.items()))
    of_others = [key for key, record in known if not record.is_random]
    trained = [key for key, record in known if record.origin and record.origin.by != "random"]
    return next(iter([*of_others, *trained, *result.models]), "")


def how_good(value: float, metric: str) -> str:
    """A score as people say it.

    >>> how_good(0.9125, "accuracy"), how_good(1.0, "accuracy"), how_good(0.5521, "micro_f1")
    ('91 of 100 right', 'all answers right', 'a micro F1 of .55')
    >>> how_good(0.5, "entity_f1"), how_good(0.5, "f1"), how_good(0.5, "uas")
    ('an entity F1 of .50', 'an F1 of .50', 'a UAS of .50')
    """
    if metric in _COUNTED:
        all_of_them = value == 1.0 and metric != "word_accuracy"
        return f"{'all answers' if all_of_them else in_100(value)} {_COUNTED[metric]}"
    name = _NAMES.get(metric, metric.replace("_", " "))
    return f"{'an' if name.startswith(_VOWELS) else 'a'} {name} of {_short(value)}"


def in_100(value: float, of: str = "of") -> str:
    """
    >>> in_100(0.9125), in_100(0.996), in_100(0.004), in_100(1.0), in_100(0.05, "of every")
    ('91 of 100', 'over 99 of 100', 'under 1 of 100', 'all', '5 of every 100')
    """
    if value in (0.0, 1.0):
        return "all" if value else "none"
    if value >= 0.995:
        return f"over 99 {of} 100"
    return f"under 1 {of} 100" if value < 0.005 else f"{100 * value:.0f} {of} 100"


def lost(change: Estimate) -> str:
    """What a change of the score is in words: what is lost, won, or too small to tell.

    >>> from bertscope.core.estimate import Estimate
    >>> lost(Estimate(-0.07, -0.10, -0.04))
    'costs 7.0 points (4.0 to 10.0)'
    >>> lost(Estimate(0.01, -0.01, 0.03))
    'makes no difference to the score that can be shown (−1.0 to 3.0 points)'
    >>> lost(Estimate(0.0, 0.0, 0.0))  # no answer changed, and how many others might nobody knows
    'makes no difference to the score that can be shown'
    """
    if change.low is None or change.high is None:
        return f"changes the score by {points(change.value)} points"
    if change.high < 0:
        return f"costs {points(-change.value)} points ({points(-change.high)} to {points(-change.low)})"
    if change.low > 0:
        return f"adds {points(change.value)} points ({points(change.low)} to {points(change.high)})"
    between = f" ({points(change.low)} to {points(change.high)} points)" if change.low < change.high else ""
    return f"makes no difference to the score that can be shown{between}"


def is_above(score: Number, bar: float) -> bool | None:
    """Whether a score is above a bar for certain: True, False, or None where that is open."""
    if score.low is None or score.high is None:
        return None
    return True if score.low > bar else False if score.high < bar else None


def is_open(change: Number | Estimate) -> bool:
    """Whether a change could be none; of few trainings, which have no interval, nobody knows."""
    return change.low is None or change.high is None or change.low <= 0 <= change.high


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)
