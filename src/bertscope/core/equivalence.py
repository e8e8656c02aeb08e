"""Whether one score is as good as another. An interval that holds 0 doesn't say so: it may hold much else.

How far two scores may be apart and be as good is a share of the skill at hand: of what the full model has above
chance. Only an interval that lies within that margin says "as good"; one that leaves out 0 says "better" or "worse";
any other leaves it open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bertscope.core.statement import points

if TYPE_CHECKING:
    from bertscope.core.estimate import Estimate

SHARE = 0.1
"""The share of the skill above chance that may be lost or gained by what is still as good."""
Verdict = Literal["as_good", "worse", "better", "open"]


def margin(full: float, chance: float, share: float = SHARE) -> float:
    """How far a score may be from another and be as good, in the metric's own unit; 0 where there is no skill."""
    return share * max(full - chance, 0.0)


def judged(effect: Estimate, within: float) -> Verdict:
    """What an effect says, given how far from 0 is as good. Where there is no interval nothing is said."""
    if effect.low is None or effect.high is None:
        return "open"
    if -within < effect.low and effect.high < within:
        return "as_good"
    if effect.low * effect.high > 0:
        return "better" if effect.low > 0 else "worse"
    return "open"


def in_words(effect: Estimate, within: float) -> str:
    """The verdict on an effect, for a sentence; empty where there is no interval."""
    if effect.low is None or effect.high is None:
        return ""
    verdict, reach = judged(effect, within), f"{points(within)} points, {SHARE:.0%} of the skill above chance"
    if verdict == "as_good":
        return f"as good, within {reach}"
    if verdict == "open":
        return f"open: neither clear of 0 nor within {reach}"
    return f"{verdict}: clear of 0"
