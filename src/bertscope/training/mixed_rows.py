"""Rows of several lengths, in turn from the first step to the last.

A model that has read nothing but full rows of one length reads a single sentence badly, however well it guesses words
of such rows; and positions that come into play in the last tenth of a training cost it what it knew by then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bertscope.training.row_order import RowOrder

_ROUND = 100  # steps in which each length has its share


class MixedRows:
    def __init__(self, orders: Sequence[RowOrder], shares: Sequence[float]) -> None:
        """`shares` of the steps, to a hundredth, that each of these has."""
        self._orders, self._turns = orders, _turns(shares)
        self._before = np.cumsum(self._turns[:, None] == np.arange(len(orders)), 0)

    @property
    def largest(self) -> tuple[int, int]:
        """Rows of the step that needs most memory, and tokens of one."""
        return max(((one.rows_per_step, one.length) for one in self._orders), key=lambda one: one[0] * one[1] ** 2)

    def rows(self, step: int) -> np.ndarray:
        """Where the rows of a step begin in the text: by its number alone, so that a killed training goes on."""
        rounds, place = divmod(step, _ROUND)
        which = self._turns[place]
        earlier = rounds * self._before[-1, which] + self._before[place, which] - 1
        return self._orders[which].rows(int(earlier))


def _turns(shares: Sequence[float]) -> np.ndarray:
    """Whose turn it is, evenly spread: always that one's which lags most behind its share."""
    wanted, had = np.array(shares) / sum(shares), np.zeros(len(shares))
    turns = np.empty(_ROUND, np.int64)
    for place in range(_ROUND):
        turns[place] = (wanted * (place + 1) - had).argmax()
        had[turns[place]] += 1
    return turns
