"""Some examples as they are explained: their rows, their words, and which targets and attributions are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertscope.core.attributions import Attributions, Targets
from bertscope.core.examples import Examples
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.read_words import ReadWords, read_words

SLOT = "slot"
"""The mark of a token: which of its example's words it is of, from 1; 0 where it is of none."""


@dataclass(frozen=True)
class ExplainedWindow:
    """Whatever counts examples counts those of the window, but for `first`."""

    asked: ModelOutput
    first: int
    """Where it begins among all examples."""
    examples: Examples
    rows: Rows
    starts: np.ndarray
    """[example + 1]: where an example's rows begin."""
    words: ReadWords

    @classmethod
    def of(cls, asked: ModelOutput, examples: Examples, first: int, last: int) -> ExplainedWindow:
        some = examples.take(range(first, last))
        rows = asked.rows(some)
        words = read_words(asked, rows, some)
        marks = {**rows.marks, SLOT: words.slot + 1}
        rows = replace(rows, tokens=replace(rows.tokens, encodings=()), marks=marks)  # thousands of small things
        return cls(asked, first, some, rows, np.searchsorted(rows.example, np.arange(len(some) + 1)), words)

    @property
    def counts(self) -> np.ndarray:
        """[example]: its rows."""
        return np.diff(self.starts)

    @property
    def longest(self) -> np.ndarray:
        """[example]: tokens of its longest row."""
        return np.maximum.reduceat(self.rows.tokens.lengths, self.starts[:-1])

    def batch(self, examples: np.ndarray) -> RowBatch:
        """These examples, of which one may be there several times."""
        return self.asked.batch(self.rows, self.starts, examples)

    def holds(self, examples: np.ndarray) -> np.ndarray:
        """Which of these, counted through all examples, are in the window."""
        return (examples >= self.first) & (examples < self.first + len(self.examples))

    def own(self, targets: Targets, batch: RowBatch) -> Targets:
        """Those of targets of all examples that are of the batch's; its examples are in order."""
        local = targets.example - self.first
        mine = np.flatnonzero(np.isin(local, batch.examples))
        return targets.take(mine).moved(np.searchsorted(batch.examples, local[mine]))

    def attributions(
        self,
        targets: Targets,
        whole: np.ndarray,
        baseline: np.ndarray,
        probability: np.ndarray,
        values: Sequence[np.ndarray],
    ) -> Attributions:
        """Those of the window's targets, in the order of its examples; `values` are those of each target's words."""
        order = np.argsort(targets.example, kind="stable")
        targets, whole, baseline = targets.take(order), whole[order], baseline[order]
        counts, begins = self.words.counts[targets.example], self.words.starts[targets.example]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) - np.repeat(starts[:-1] - begins, counts)
        number, owner = self.words.number[at], np.repeat(targets.example, counts)
        unknown = np.full(len(targets), np.nan)
        return Attributions(
            method="",
            targets=targets.moved(targets.example + self.first),
            starts=starts,
            values=np.concatenate([np.zeros(0), *(values[place] for place in order)]),
            word=number,
            text=tuple(self.words.text(example, word) for example, word in zip(owner, number, strict=True)),
            whole=whole,
            baseline=baseline,
            gap=unknown,
            missed=np.zeros(len(targets), dtype=bool),
            nodes=np.zeros(len(targets), dtype=np.int64),
            probability=probability[order],
            explained=tuple(self.asked.told(targets, self.rows, self.examples, self.words.text)),
            unread=self.words.unread,
        )


def joined(parts: Sequence[Attributions]) -> Attributions:
    """Those of several windows."""
    ends = np.cumsum([0, *(len(part.values) for part in parts)])

    def each(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts])

    arrays = {
        name: each(name)
        for name in ("values", "word", "whole", "baseline", "gap", "missed", "nodes", "probability", "unread")
    }
    return Attributions(
        method="",
        targets=Targets.joined([part.targets for part in parts]),
        starts=np.concatenate([*(part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)), ends[-1:]]),
        text=tuple(text for part in parts for text in part.text),
        explained=tuple(name for part in parts for name in part.explained),
        **arrays,
    )
