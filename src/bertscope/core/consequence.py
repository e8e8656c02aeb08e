"""What follows from a stored result, for somebody who has a model and wants to know what to do.

A statement (`statement.py`) says what a number is; a consequence says what it means for whoever uses the model, in
words that need no knowledge of heads or layers where that can be had. Each is written beside its question, in
`consequence.py`, from the result's keys and tables. What the evidence doesn't decide is said to be open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from bertscope.core.statement import points

if TYPE_CHECKING:
    from bertscope.core.estimate import Estimate
    from bertscope.core.number import Number
    from bertscope.core.small_picture import SmallPicture

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
_COUNTED = {"accuracy": "right", "exact_match": "exactly right", "word_accuracy": "words right"}
"""Metrics that are a share of what is right."""
_NAMES = {
    "f1": "F1", "macro_f1": "macro F1", "micro_f1": "micro F1", "entity_f1": "entity F1", "token_f1": "token F1",
    "strict_entity_f1": "strict entity F1", "matthews": "Matthews", "pearson": "Pearson", "spearman": "Spearman",
    "las": "LAS", "uas": "UAS",
}  # fmt: skip


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
    """What to do next, to be copied; `{model}` and `{data}` in it are what the result is about."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"a consequence weighs 0 to 1, not {self.weight}")


def ranked(found: Iterable[Consequence]) -> list[Consequence]:
    """The heaviest of each theme, in the order in which a user asks; an open one only where nothing of its theme is
    certain."""
    best: dict[Theme, Consequence] = {}
    for one in found:
        known = best.get(one.theme)
        if known is None or (known.is_open, -known.weight) > (one.is_open, -one.weight):
            best[one.theme] = one
    return [best[theme] for theme in THEMES if theme in best]


def how_good(value: float, metric: str) -> str:
    """A score as people say it.

    >>> how_good(0.9125, "accuracy"), how_good(0.5521, "micro_f1")
    ('91 of 100 right', 'a micro F1 of .55')
    """
    if metric in _COUNTED:
        return f"{in_100(value)} {_COUNTED[metric]}"
    return f"a {_NAMES.get(metric, metric.replace('_', ' '))} of {_short(value)}"


def in_100(value: float) -> str:
    """
    >>> in_100(0.9125), in_100(0.996), in_100(0.004), in_100(1.0)
    ('91 of 100', 'over 99 of 100', 'under 1 of 100', 'all')
    """
    if value in (0.0, 1.0):
        return "all" if value else "none"
    if value >= 0.995:
        return "over 99 of 100"
    return "under 1 of 100" if value < 0.005 else f"{100 * value:.0f} of 100"


def lost(change: Estimate) -> str:
    """What a change of the score is in words: what is lost, won, or too small to tell.

    >>> from bertscope.core.estimate import Estimate
    >>> lost(Estimate(-0.07, -0.10, -0.04))
    'costs 7.0 points (4.0 to 10.0)'
    >>> lost(Estimate(0.01, -0.01, 0.03))
    'changes the score by no more than can be told (−1.0 to 3.0 points)'
    """
    if change.low is None or change.high is None:
        return f"changes the score by {points(change.value)} points"
    if change.high < 0:
        return f"costs {points(-change.value)} points ({points(-change.high)} to {points(-change.low)})"
    if change.low > 0:
        return f"adds {points(change.value)} points ({points(change.low)} to {points(change.high)})"
    return f"changes the score by no more than can be told ({points(change.low)} to {points(change.high)} points)"


def is_above(score: Number, bar: float) -> bool | None:
    """Whether a score is above a bar for certain: True, False, or None where that is open."""
    if score.low is None or score.high is None:
        return None
    return True if score.low > bar else False if score.high < bar else None


def is_open(change: Number) -> bool:
    """Whether a change could be none."""
    return change.low is None or change.high is None or change.low <= 0 <= change.high


def _short(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1)
