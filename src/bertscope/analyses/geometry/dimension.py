"""How many dimensions the words of a layer really fill: TwoNN (Facco et al. 2017)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

_FEWEST = 10  # vectors: fewer say nothing
_KEPT = 0.9  # of the ratios: the largest are noise, as the paper says
_SAME = 1e-5  # of the vectors' spread: what is closer is one vector twice, such as a word at one place in layer 0


def two_nn(vectors: Tensor, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """The intrinsic dimension [1 + groups] of the distinct vectors among these, and how many there are.

    Only the distances r1 and r2 to the two nearest neighbours count. In d dimensions, r2 / r1 is at most x with
    probability 1 - x^-d: d is the slope of -log(1 - F) over log(r2 / r1), F being the share of smaller ratios.
    """
    vectors = vectors.double() - vectors.double().mean(0)
    distances = torch.cdist(vectors, vectors)
    distinct = ~(distances < _SAME * vectors.square().sum(1).mean().sqrt()).tril(-1).any(1)
    distances = distances[distinct][:, distinct].fill_diagonal_(torch.inf)
    before = np.concatenate([[0], np.cumsum(distinct.cpu().numpy())])[edges]  # the groups' edges among the distinct
    # The two nearest in each group; of those the four nearest, of which no group has more than two: whichever group
    # is left out, the two nearest of the others are there.
    nearest = torch.cat([_two_smallest(distances[:, begin:end]) for begin, end in pairwise(before)], 1)
    four, place = pad(nearest, (0, 2), value=torch.inf).topk(4, largest=False)
    own = torch.from_numpy(np.repeat(np.arange(len(edges) - 1), np.diff(before))).to(place)
    draws = [_slope(four)]
    for group in range(len(edges) - 1):
        others = own != group
        draws.append(_slope(four[others].masked_fill(place[others] // 2 == group, torch.inf)))
    return np.array(draws), len(own)


def _two_smallest(values: Tensor) -> Tensor:
    """Of each row; infinite where there are fewer. Two minima take a fifth of the time of `topk`."""
    if values.shape[1] < 2:
        values = pad(values, (0, 2), value=torch.inf)
    first, place = values.min(1, keepdim=True)
    return torch.cat([first, values.scatter(1, place, torch.inf).min(1, keepdim=True).values], 1)


def _slope(near: Tensor) -> float:
    """From the distances to some neighbours [vector, neighbour] to the dimension."""
    if len(near) < _FEWEST:
        return float("nan")
    first, second = _two_smallest(near).T
    ratios = np.sort(torch.log(second / first).cpu().numpy())
    kept = int(_KEPT * len(ratios))
    x, y = ratios[:kept], -np.log1p(-np.arange(1, kept + 1) / len(ratios))
    return float((x @ y) / (x @ x))
