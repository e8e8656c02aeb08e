"""A finished step with its result, as the page's readers may have it."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.report.privacy import Hidden


@dataclass(frozen=True)
class Finding:
    """A finished step and its result."""

    step: Step
    result: Result
    private: bool = False
    """Whether it is for the eyes of its maker alone: with paths, the command and the machine."""

    def words(self, text: str) -> str:
        """A text about the step, as its readers may have it."""
        return text if self.private or not text else Hidden(self).words(text)
