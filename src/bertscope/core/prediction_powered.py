"""Shares of classes, where a classifier names everything and a person a few things drawn at random of them.

Prediction-powered inference (Angelopoulos et al. 2023): the share of a class is what the classifier says of all, plus
the mean over the labelled ones of the label minus what the classifier says there. However wrong the classifier is,
this is right on average; the better it is, the narrower the interval. The two errors add up in squares: that of the
classifier's share, over the texts that all things are of, and that of the mean difference, over the labelled things.
Those are drawn from all, whatever text they are of: given the texts, they are independent.

The differences are 1, 0 or -1, and of a rare class mostly 0: their variance is that of a difference of paired shares
with half a thing more in each of the four cells (Agresti and Min 2005), so that it is never nothing. The degrees of
freedom are Satterthwaite's, the interval Student's; it ends at 0 and at 1. docs/methods.md has its coverage.
"""

from __future__ import annotations

import numpy as np

from bertscope.core.intervals import reach

LEAST = 30
"""Labelled things from which an interval is given."""


def corrected_shares(
    called: np.ndarray, error: np.ndarray, texts: int, labelled: np.ndarray, labelled_called: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shares [class] and the ends of their intervals.

    called            [class]: what the classifier says of all
    error             [class]: its standard error over so many `texts`
    labelled          [thing]: the class that a person says of each thing that was drawn
    labelled_called   [thing]: and what the classifier says of it
    """
    said, told = (one[:, None] == np.arange(len(called)) for one in (labelled, labelled_called))
    n = len(labelled)
    more, fewer = (said & ~told).sum(0), (~said & told).sum(0)
    up, down = (more + 0.5) / (n + 2), (fewer + 0.5) / (n + 2)
    of_labels, of_texts = (up + down - (up - down) ** 2) / (n + 2), error**2
    variance = of_labels + of_texts
    freedom = variance**2 / (of_labels**2 / (n - 1) + of_texts**2 / max(texts - 1, 1))
    share, either = called + (more - fewer) / n, reach(freedom + 1) * np.sqrt(variance)
    return share.clip(0, 1), (share - either).clip(0, 1), (share + either).clip(0, 1)
