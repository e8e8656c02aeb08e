"""What a user wants of a smaller model: `2x`, `50%` or `1 point`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bertscope.core.errors import UserError

_FORMS: tuple[tuple[Literal["times", "share", "points"], str], ...] = (
    ("times", r"(\d+(?:\.\d+)?) ?x"),
    ("share", r"(\d+(?:\.\d+)?) ?%"),
    ("points", r"(\d+(?:\.\d+)?) ?points?"),
)


@dataclass(frozen=True)
class Target:
    """How far to go."""

    kind: Literal["times", "share", "points"]
    """times: as fast as the whole model, measured; share: of the blocks' parameters that is left; points: hundredths
    of the metric that may be lost on the validation set."""
    value: float
    """2 for `2x`, 0.5 for `50%`, 0.01 for `1 point`."""

    @classmethod
    def parse(cls, text: str) -> Target:
        """
        >>> Target.parse("2x"), Target.parse("50%").value, Target.parse("1 point").value
        (Target(kind='times', value=2.0), 0.5, 0.01)
        """
        for kind, form in _FORMS:
            if match := re.fullmatch(form, text.strip().lower()):
                number = float(match[1])
                return cls(kind, number if kind == "times" else number / 100)._checked(text)
        raise UserError(
            f"{text!r} is no target; write 2x (twice as fast), 50% (half of the blocks' parameters left) or "
            "'1 point' (0.01 of the metric may be lost)"
        )

    def _checked(self, text: str) -> Target:
        if self.kind == "times" and self.value <= 1:
            raise UserError(f"target {text!r} asks for no faster model; write more than 1x, such as 2x")
        if self.kind == "share" and not 0 < self.value < 1:
            raise UserError(f"target {text!r} is no share of parameters that could be left; write 1% to 99%")
        if self.kind == "points" and not 0 < self.value < 1:
            raise UserError(f"target {text!r} is no loss one could allow; write a number between 0 and 100 points")
        return self

    def __str__(self) -> str:
        if self.kind == "times":
            return f"{self.value:g}x"
        points = 100 * self.value
        return f"{points:g}%" if self.kind == "share" else f"{points:g} point{'s' * (points != 1)}"
