"""What is wrong with a page of docs/findings, told from its marks: numbers that no result has, numbers that differ
from the result whose key they carry, and words that compare without looking at an interval."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from scipy.stats import t as student

from findings_pages import MARK
from findings_results import Kept

_NOT_PROSE = (
    re.compile(r"^```.*?^```$", re.DOTALL | re.M),  # code
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),  # where a link leads
    re.compile(r"\((?:[^()]*? )?(?:19|20)\d\d\)|(?:et al\.|and \w+) (?:19|20)\d\d"),  # who said it, and when
)
_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)")
COMPARING = re.compile(
    r"\b(higher|lower|better|worse|beats?|exceeds?|outperforms?|outdoes|rises?|falls?|grows?|shrinks?|gains?|loses?|"
    r"improves?|as (?:good|well|much|many) as|(?:more|less|fewer|larger|smaller|faster|slower) than|no difference|"
    r"the same as|at least as)\b",
    re.IGNORECASE,
)


def typed(marked: str, declared: Iterable[str] = (), names: Iterable[str] = ()) -> list[str]:
    """The numbers of a page that come from no result and were not declared."""
    text = _unsaid(marked)
    for one in sorted({*declared, *names}, key=len, reverse=True):
        text = text.replace(one, " ")
    return re.findall(r"\S*\d\S*", text)


def compares(marked: str) -> list[str]:
    """Words of a page's sentences that compare, and were not chosen by an interval. Tables' headings may say them."""
    lines = _unsaid(marked).splitlines()
    return COMPARING.findall("\n".join(line for line in lines if not line.startswith(("|", "#"))))


def _unsaid(marked: str) -> str:
    """A page without what was taken from results, and without code and links."""
    text = MARK.sub(" ", marked)
    for pattern in _NOT_PROSE:
        text = pattern.sub(" ", text)
    return text


def names_in(kept: Kept) -> set[str]:
    """What models and data are called: SST-2 is no number."""
    found = {name for one in kept for name in (one.on, one.base, *one.models)}
    found |= {row["base"] for one in kept.of("claims") for row in one.rows("ledger")}
    return (found | {name.partition(" ")[0] for name in found}) - {""}


def untrue(marked: str, kept: Kept) -> list[str]:
    """Marked texts with a number that the result under their key doesn't have."""
    found = []
    for key, text in MARK.findall(marked):
        if key == "study" or key.startswith("made "):
            continue
        known = ends(key.removeprefix("differs "), kept)
        if isinstance(known, str):
            found += [] if text in known or text in known.replace("_", " ") else [f"{text} ({key})"]
        else:
            said = _NUMBER.findall(text)
            found += [] if said and all(_is_one_of(one, known) for one in said) else [f"{text} ({key})"]
    return found


def ends(key: str, kept: Kept) -> list[float] | str:
    """What is stored under a key: a number and the ends of its interval, or a word."""
    if listed := re.fullmatch(r"(mean|count)\((.*)\)", key):
        keys = listed[2].split("; ") if listed[2] else []
        return [float(len(keys))] if listed[1] == "count" else _over(keys, kept)
    return kept.look_up(key)


def _over(keys: list[str], kept: Kept) -> list[float]:
    """The mean of stored numbers, and its interval over them by Student's t."""
    values = [float(kept.look_up(key)[0]) for key in keys]
    if len(values) < 2:
        return values
    reach = float(student.ppf(0.975, len(values) - 1)) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    mean = float(np.mean(values))
    return [mean, mean - reach, mean + reach]


def _is_one_of(said: str, known: Iterable[float]) -> bool:
    """Whether a printed number is one of these, rounded; or a hundred times as large, in points."""
    digits = len(said.partition(".")[2])
    value = float(said.replace(",", ""))
    return any(abs(value - times * one) <= 0.5000001 * 10**-digits for one in known for times in (1, 100))
