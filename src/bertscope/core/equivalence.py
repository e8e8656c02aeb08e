"""Whether one score is as good as another. An interval that holds 0 doesn't say so: it may hold much else.

How far two scores may be apart and be as good is a share of the skill at hand: of what the full model has above
chance. Only an interval that lies within that margin says "as good"; one that leaves out 0 says "better" or "worse";
any other leaves it open.

Where few answers change, a bootstrap over texts is too sure: of none its interval is a point, and of a few that all
change for the worse it is too short; an interval over trainings as well, where they change the same ones.
`allowing_for_few` makes it as wide as so many texts allow at least.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bertscope.core.estimate import Estimate
from bertscope.core.intervals import least_expected, most_expected
from bertscope.core.statement import points

SHARE = 0.1
"""The share of the skill above chance that may be lost or gained by what is still as good."""
Verdict = Literal["as_good", "worse", "better", "open"]


def margin(full: float, chance: float, share: float = SHARE) -> float:
    """How far a score may be from another and be as good, in the metric's own unit; 0 where there is no skill."""
    return share * max(full - chance, 0.0)


def allowing_for_few(effect: Estimate, n: int, parts: int = 1) -> Estimate:
    """A change of a score over so many texts, with ends at least as far out as one-sided changes of that size may be:
    of a score that is lost in k of n texts, from the exact limit behind k on the one side to that before k, less what
    may be won where nothing was, on the other. `parts` is among how many the largest was looked for."""
    if effect.low is None or effect.high is None:
        return effect
    lost, won = (n * max(change, 0.0) for change in (-effect.value, effect.value))
    low = least_expected(won, parts) - most_expected(lost, parts)
    high = most_expected(won, parts) - least_expected(lost, parts)
    return Estimate(effect.value, min(effect.low, low / n), max(effect.high, high / n))


def surely_within(losses: np.ndarray, n: int, within: float) -> np.ndarray:
    """[place]: whether so large a loss of a score of so many texts lies within a margin also where as many more are
    lost as may be."""
    return most_expected(n * np.maximum(losses, 0.0)) <= n * within


def judged(effect: Estimate, within: float) -> Verdict:
    """What an effect says, given how far from 0 is as good. Where there is no interval nothing is said."""
    if effect.low is None or effect.high is None:
        return "open"
    if -within < effect.low and effect.high < within:
        return "as_good"
    if effect.low * effect.high > 0:
        return "better" if effect.low > 0 else "worse"
    return "open"


def judged_of(effect: Estimate, within: float, n: int) -> Verdict:
    """The same of a change over so many texts: as good only where that many can show it."""
    shown = judged(allowing_for_few(effect, n), within) == "as_good"
    return judged(effect, within if shown else 0.0)


def in_words(effect: Estimate, within: float, n: int | None = None) -> str:
    """The verdict on an effect, for a sentence; empty where there is no interval. `n` texts may be too few for "as
    good", unless the interval allows for that already."""
    if effect.low is None or effect.high is None:
        return ""
    plain = judged(effect, within)
    verdict = plain if n is None else judged_of(effect, within, n)
    reach = f"{points(within)} points, {SHARE:.0%} of the skill above chance"
    if verdict == "as_good":
        return f"as good, within {reach}"
    if verdict == "open" and plain == "as_good":
        return f"open: {n:,} texts are too few to say that it is within {reach}"
    if verdict == "open":
        return f"open: neither clear of 0 nor within {reach}"
    return f"{verdict}: clear of 0"
