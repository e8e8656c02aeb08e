"""How many dimensions the words of a layer really fill: TwoNN (Facco et al. 2017)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

_KEPT = 0.9  # of the ratios: the largest are noise, as the paper says
_SAME = (
    1e-5  # of the vectors' spread: what is closer is the same vector twice, such as a word at one place in layer 0
)


def two_nn(vectors: Tensor, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """The intrinsic dimension [1 + groups] of the distinct vectors among these, and how many there are.

    Only the distances r1 and r2 to the two nearest neighbours count. In d dimensions, r2 / r1 is at most x with
    probability 1 - x^-d: d is the slope of -log(1 - F) over log(r2 / r1), F being the share of smaller ratios. The
    distances within each group are kept apart, so that leaving it out needs no new search.
    """
    vectors = vectors.double() - vectors.double().mean(0)
    distances = torch.cdist(vectors, vectors)
    twice = distances < _SAME * vectors.square().sum(1).mean().sqrt()
    distinct = ~twice.tril(-1).any(1)
    group = torch.from_numpy(np.repeat(np.arange(len(edges) - 1), np.diff(edges))).to(vectors.device)[distinct]
    distances = distances[distinct][:, distinct].fill_diagonal_(torch.inf)
    nearest = torch.stack([_two_smallest(distances[:, group == one]) for one in range(len(edges) - 1)], 1)
    kept = torch.ones(nearest.shape[1], dtype=torch.bool, device=vectors.device)
    draws = [_slope(nearest)]
    for one in range(nearest.shape[1]):
        others = kept.index_fill(0, torch.tensor(one, device=kept.device), False)
        draws.append(_slope(nearest[group != one][:, others]))
    return np.array(draws), len(group)


def _two_smallest(distances: Tensor) -> Tensor:
    """Of each row; infinite where there are fewer."""
    padded = torch.nn.functional.pad(distances, (0, 2), value=torch.inf)
    return padded.topk(2, largest=False).values


def _slope(nearest: Tensor) -> float:
    """From the two nearest neighbours in each group [vector, group, 2] to the dimension."""
    if len(nearest) < 10:
        return float("nan")
    first, second = _two_smallest(nearest.flatten(1)).T
    ratios = torch.log(second / first).sort().values.cpu().numpy()
    kept = int(_KEPT * len(ratios))
    x, y = ratios[:kept], -np.log1p(-np.arange(1, kept + 1) / len(ratios))
    return float((x @ y) / (x @ x)) if (x @ x) > 0 else float("nan")
