"""Shares of classes, where a classifier names everything and a person a few things drawn at random of them.

Prediction-powered inference (Angelopoulos et al. 2023): the share of a class is what the classifier says of all, plus
the mean over the labelled ones of the label minus what the classifier says there. However wrong the classifier is,
this is right on average; the better it is, the narrower the interval. Its variance has three parts:

- that of the classifier's share, over the texts that all things are of;
- that of the mean difference, over the labelled things. The differences are 1, 0 or -1, and of a rare class mostly 0:
  it is that of a difference of paired shares with half a thing more in each of the four cells (Agresti and Min 2005),
  so that it is never nothing;
- what both have in common, since the labelled things are of the same texts: twice the covariance of a thing's
  difference and its text's share, and the covariance of differences in one text. Below 0 it counts as 0.

The degrees of freedom are Satterthwaite's, by the first two, the interval Student's; it ends at 0 and at 1.
docs/methods.md has its coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertscope.core.intervals import reach

LEAST = 30
"""Labelled things from which an interval is given."""


@dataclass(frozen=True)
class Labelled:
    """Things that were drawn at random of all, whatever text they are of, and labelled; classes by number."""

    label: np.ndarray
    called: np.ndarray
    """What the classifier says of each."""
    text: np.ndarray
    """Which text it is of."""
    share_in_text: np.ndarray
    """[thing, class]: what the classifier says of all things of that text."""


def corrected_shares(
    called: np.ndarray, error: np.ndarray, texts: int, things: Labelled
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shares [class] and the ends of their intervals, from the shares that the classifier `called` so, their
    standard `error` over so many `texts`, and what was labelled."""
    said, told = (one[:, None] == np.arange(len(called)) for one in (things.label, things.called))
    n = len(said)
    more, fewer = (said & ~told).sum(0), (~said & told).sum(0)
    up, down = (more + 0.5) / (n + 2), (fewer + 0.5) / (n + 2)
    of_labels, of_texts = (up + down - (up - down) ** 2) / (n + 2), error**2
    away = said.astype(float) - told - (more - fewer) / n
    with_text = 2 * ((things.share_in_text - called) * away).mean(0) / texts
    same = things.text[:, None] == things.text
    with_each_other = (np.einsum("ic,ij,jc->c", away, same, away) - (away**2).sum(0)) / n**2
    variance = of_labels + of_texts + np.maximum(with_text + with_each_other, 0)
    freedom = variance**2 / (of_labels**2 / (n - 1) + of_texts**2 / max(texts - 1, 1))
    share, either = called + (more - fewer) / n, reach(freedom + 1) * np.sqrt(variance)
    return share.clip(0, 1), (share - either).clip(0, 1), (share + either).clip(0, 1)
