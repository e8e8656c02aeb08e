"""A stored result in words: a sentence, and the number by which the results of a question are compared.

A sentence says what a number is and how sure it is, never what it means. It is written beside the question, by
`sentence` in its `result.py`, from the result's numbers and tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.estimate import Estimate


@dataclass(frozen=True)
class Statement:
    """What is said of one result."""

    sentence: str
    main: float
    """The number by which results of this question are compared; the question says what it is (`compared`)."""
    written: Callable[[float], str]


def percent(value: float) -> str:
    """
    >>> percent(0.405), percent(0.0137), percent(0.0)
    ('40%', '1.4%', '0%')
    """
    few = 0 < abs(value) < 0.0995
    return f"{_fixed(100 * value, int(few))}%"


def decimals(value: float) -> str:
    return _fixed(value, 3)


def points(value: float) -> str:
    return _fixed(100 * value, 1)


def _fixed(value: float, digits: int) -> str:
    """With a true minus sign, and none before a zero.

    >>> _fixed(-0.31, 1), _fixed(-0.01, 1)
    ('\u22120.3', '0.0')
    """
    written = f"{value:.{digits}f}"
    return written.replace("-", "\u2212" if float(written) else "")


def sure(of: Estimate, written: Callable[[float], str] = decimals) -> str:
    """The value, and its interval if it has one that can be seen: `41% (39% to 42%)`."""
    value, *ends = (written(number) for number in (of.value, of.low, of.high) if number is not None)
    return value if set(ends) <= {value} else f"{value} ({' to '.join(ends)})"


def counted(count: int, one: str, several: str) -> str:
    """
    >>> counted(0, "is needed", "are needed"), counted(2, "is needed", "are needed")
    ('none is needed', '2 are needed')
    """
    return f"{count or 'none'} {one if count < 2 else several}"


def number_of(count: int, one: str, several: str) -> str:
    """
    >>> number_of(1, "text is", "texts are"), number_of(1200, "text is", "texts are")
    ('1 text is', '1,200 texts are')
    """
    return f"{count:,} {one if count == 1 else several}"


def too_long(count: int, what: str, limit: str, fate: str = "cut") -> str:
    """
    >>> too_long(1, "test text", "64 tokens"), too_long(2, "text", "the model reads", "left out")
    ('1 test text is longer than 64 tokens and was cut', '2 texts are longer than the model reads and were left out')
    """
    was = "was" if count == 1 else "were"
    return f"{number_of(count, f'{what} is', f'{what}s are')} longer than {limit} and {was} {fate}"


def seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def p_told(p: float) -> str:
    """
    >>> p_told(0.0004), p_told(0.0312), p_told(1.0)
    ('p < .001', 'p = .031', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    return "p = 1" if p >= 0.9995 else f"p = {p:.3f}".replace("0.", ".", 1)


def runs(row: pd.Series) -> str:
    return seeds(int(row["runs"]))


def in_points(value: float) -> str:
    return f"{points(value)} points"
