"""What structural probes are scored by: edges of the tree, its root, and the order of distances and depths.

Everything here takes many sentences of one length at once, and many probes' predictions for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.structure.probes import Kind
from bertscope.analyses.structure.trees import Batch, Trees, of_one_length
from bertscope.core.examples import ROOT
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.models.sending import sent

UUAS, DSPR_SENTENCES, DSPR = "uuas", "dspr_sentences", "dspr"
ROOT_ACCURACY, NSPR_SENTENCES, NSPR = "root_accuracy", "nspr_sentences", "nspr"
METRICS: dict[Kind, tuple[str, str, str]] = {
    "distance": (UUAS, DSPR_SENTENCES, DSPR),
    "depth": (ROOT_ACCURACY, NSPR_SENTENCES, NSPR),
}
"""Of each kind of probe: the metric that decides, the correlation, and the paper's mean of it over lengths."""
SHORTEST, LONGEST = 5, 50
"""The lengths of sentences over which correlations are averaged."""
Predictions = Callable[[Batch], Tensor]
"""From sentences of one length to distances [prediction, S, N, N] or depths [prediction, S, N]."""
_TOGETHER = 512  # sentences resampled at a time


def spanning_trees(distances: Tensor, outside: Tensor, start: Tensor) -> Tensor:
    """The minimum spanning trees of many sentences at once (Prim's algorithm), as governors [B, N].

    distances   [B, N, N]
    outside     bool [B, N]: the words that don't take part
    start       int64 [B]: the word that each tree hangs from; it has the governor `ROOT`, as have words outside
    """
    rows = torch.arange(len(distances), device=distances.device)
    free = ~outside
    free[rows, start] = False
    near, governors = distances[rows, start], start[:, None].expand_as(free).clone()
    for _ in range(distances.shape[1] - 1):
        word = near.masked_fill(~free, torch.inf).argmin(1)
        free[rows, word] = False
        reach = distances[rows, word]
        closer = (reach < near) & free
        near = torch.where(closer, reach, near)
        governors = torch.where(closer, word[:, None], governors)
    governors[rows, start] = ROOT
    return governors.masked_fill_(outside, ROOT)


def edges_found(governors: Tensor, gold: Tensor) -> Tensor:
    """[B, N]: whether the edge from each word to its governor is an edge of the gold tree, whichever end governs."""
    above = gold.gather(1, governors.clamp_min(0))
    words = torch.arange(governors.shape[1], device=governors.device)
    return (governors != ROOT) & ((governors == gold) | (above == words))


def edges_to_find(gold: Tensor, outside: Tensor) -> Tensor:
    """[B, N]: whether a word and its governor both take part."""
    return (gold != ROOT) & ~outside & ~outside.gather(1, gold.clamp_min(0))


def ranks(values: Tensor) -> Tensor:
    """Along the last axis, from 1; equal values share the mean of theirs."""
    ordered = values.sort(-1).values
    below = torch.searchsorted(ordered, values)
    through = torch.searchsorted(ordered, values, right=True)
    return (below + through + 1).to(torch.float64) / 2


def correlation(one: Tensor, other: Tensor) -> Tensor:
    """Pearson's, along the last axis; 0 where something doesn't vary."""
    one, other = (each - each.mean(-1, keepdim=True) for each in (one, other))
    size = torch.linalg.vecdot(one, one) * torch.linalg.vecdot(other, other)
    return torch.where(size > 0, torch.linalg.vecdot(one, other) / size.sqrt(), 0.0)


@dataclass(frozen=True)
class Scored:
    """How predictions do on each of some sentences: what metrics are means of."""

    kind: Kind
    sentences: np.ndarray
    """[S]: which they are."""
    lengths: np.ndarray
    """[S]."""
    hits: np.ndarray
    """[S, prediction]: edges that were found, or whether the root was."""
    to_find: np.ndarray
    """[S]: edges that are there; 1 where there is a root to be found."""
    order: np.ndarray
    """[S, prediction]: the rank correlation; of distances, the mean over words."""

    def beside(self, *others: Scored) -> Scored:
        """The same sentences with the predictions of all."""
        every = (self, *others)
        return replace(
            self, hits=np.hstack([each.hits for each in every]), order=np.hstack([each.order for each in every])
        )

    @property
    def inside(self) -> np.ndarray:
        """bool [S]: which sentences have a length that correlations are taken of."""
        return (self.lengths >= SHORTEST) & (self.lengths <= LONGEST)

    @property
    def share(self) -> np.ndarray:
        """[S]: how much each sentence counts in the mean over lengths of the means over sentences of one length."""
        among = np.bincount(self.lengths, minlength=LONGEST + 1)
        return self.inside / among[self.lengths]

    def draws(self, resampling: Resampling) -> dict[str, np.ndarray]:
        """The kind's metrics in the sample itself and in each resample of its sentences, [1 + repeats, prediction].

        In the mean over lengths a sentence's share is the same in every resample: were it counted anew, rare lengths
        would drop out of many, and the mean would lean to the others.
        """
        exact, over_sentences, over_lengths = (RunningMean(resampling) for _ in METRICS[self.kind])
        share, inside = self.share, self.inside.astype(float)
        for start in range(0, len(self.sentences), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            exact.add(self.sentences[part], self.hits[part], self.to_find[part])
            for mean, counts in ((over_sentences, inside[part]), (over_lengths, share[part])):
                mean.add(self.sentences[part], self.order[part] * counts[:, None], counts)
        means = (exact, over_sentences, over_lengths)
        return dict(zip(METRICS[self.kind], (mean.draws for mean in means), strict=True))


def evaluate(kind: Kind, predictions: Predictions, trees: Trees, sentences: np.ndarray) -> Scored:
    """Score what is predicted of these sentences against their trees."""
    batches = list(of_one_length(trees, sentences))
    scored = [_score(kind, predictions(batch), trees, batch) for batch in batches]
    hits, to_find, order = (np.concatenate(each) for each in zip(*scored, strict=True))
    lengths = np.concatenate([batch.lengths for batch in batches])
    return Scored(kind, np.concatenate([batch.sentences for batch in batches]), lengths, hits, to_find, order)


def linear_chain(kind: Kind) -> Predictions:
    """The tree in which each word hangs on the one before it: what knows the order of words alone can say."""

    def predictions(batch: Batch) -> Tensor:
        place = torch.from_numpy(batch.words).float()
        return (place if kind == "depth" else (place[:, :, None] - place[:, None, :]).abs())[None]

    return predictions


def _score(kind: Kind, predicted: Tensor, trees: Trees, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hits [S, probe], what is to be found [S] and order [S, probe] of predictions [probe, S, ...] for sentences of
    one length."""
    device = predicted.device
    gold, outside = (sent(each, device) for each in (trees.governors_of(batch), trees.outside(batch)))
    if kind == "distance":
        hits, to_find = _edges(predicted, gold, outside)
        goal = trees.distances(batch)
    else:
        hits, to_find = _roots(predicted, gold, outside)
        goal = trees.depths(batch)
    order = torch.zeros(predicted.shape[:2], device=device)
    if SHORTEST <= predicted.shape[2] <= LONGEST:
        order = correlation(ranks(predicted), ranks(sent(goal, device)))
        order = order.mean(-1) if kind == "distance" else order
    return hits.T.cpu().numpy(), to_find.cpu().numpy(), order.T.cpu().numpy()


def _edges(distances: Tensor, gold: Tensor, outside: Tensor) -> tuple[Tensor, Tensor]:
    probes, sentences = distances.shape[:2]
    first = outside.to(torch.uint8).argmin(1)
    governors = spanning_trees(distances.flatten(0, 1), outside.repeat(probes, 1), first.repeat(probes))
    found = edges_found(governors, gold.repeat(probes, 1)).sum(1).view(probes, sentences)
    return found, edges_to_find(gold, outside).sum(1)


def _roots(depths: Tensor, gold: Tensor, outside: Tensor) -> tuple[Tensor, Tensor]:
    root = (gold == ROOT).to(torch.uint8).argmax(1)
    lowest = depths.masked_fill(outside, torch.inf).argmin(-1)
    to_find = ~outside.gather(1, root[:, None])[:, 0]  # where punctuation is the root, it can't be found
    return (lowest == root) & to_find, to_find
