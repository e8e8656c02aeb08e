"""How alike the heads' outputs are, for a sample of tokens: linear CKA."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.sums import Sums
from bertscope.models.sending import sent

NONE = np.uint64(2**64 - 1)
"""The hash of what is no token to be taken."""


class Outputs:
    """The outputs of all heads of one encoder for a sample of tokens: those with the smallest hashes."""

    def __init__(self, head_counts: Sequence[int], size: int) -> None:
        self._head_counts, self._ends = list(head_counts), [0, *accumulate(head_counts)]
        self._hashes = np.full(size, NONE)  # as many places as tokens are wanted, none taken yet
        self._values: Tensor | None = None  # [place, head, d]

    def add(self, layer: int, contexts: Sequence[Tensor], hashes: np.ndarray) -> None:
        """Take in the outputs [row, token, head, d] of layers from `layer` on: of the tokens whose hash [row, token]
        is low enough."""
        if layer == 0:  # which tokens come, and whose places they take
            self._free, self._come = (sent(places, contexts[0].device) for places in self._places(hashes.ravel()))
            if self._values is None:
                self._values = self._empty(contexts[0].shape[-1], contexts[0].device)
        if len(self._come):
            assert self._values is not None
            heads = slice(self._ends[layer], self._ends[layer + len(contexts)])
            come = [context.flatten(0, 1)[self._come] for context in contexts]
            self._values[self._free, heads] = torch.cat(come, 1) if len(come) > 1 else come[0]

    def sums(self) -> Sums:
        """The sample: tokens in the order of their hashes."""
        hashes = self._hashes[self._taken]
        values = self.values.unflatten(1, (self._ends[-1], -1)) if len(hashes) else torch.zeros(0, self._ends[-1], 0)
        return Sums({"hashes": hashes, "values": values.cpu().numpy()})

    def merge(self, other: Sums) -> None:
        """Take in another sample: of both, the tokens with the smallest hashes."""
        hashes, values = other.arrays["hashes"], other.arrays["values"]
        if not len(hashes):
            return
        if self._values is None:
            self._values = self._empty(values.shape[2], torch.device("cpu"))
        free, come = self._places(hashes)
        self._values[sent(free, self._values.device)] = sent(values[come], self._values.device)

    def _empty(self, size: int, device: torch.device) -> Tensor:
        """Places for as many outputs as are wanted, each of this size."""
        shape = len(self._hashes), self._ends[-1], size
        if device.type == "cpu":
            return torch.from_numpy(memory_mapped(shape, np.float32))
        return torch.zeros(shape, device=device)

    def _places(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of tokens with these hashes, whose places are taken, and by which of them."""
        size = len(self._hashes)
        both = np.concatenate([self._hashes, hashes])
        best = np.argsort(both, kind="stable")[:size]
        free = np.setdiff1d(np.arange(size), best)
        come = best[best >= size] - size
        self._hashes[free] = hashes[come]
        return free, come

    @property
    def _taken(self) -> np.ndarray:
        """The places that hold a token, in the order of the hashes."""
        return np.argsort(self._hashes, kind="stable")[: int((self._hashes < NONE).sum())]

    @property
    def values(self) -> Tensor:
        """[token, head x d], in the order of the hashes."""
        assert self._values is not None
        return self._values[sent(self._taken, self._values.device)].flatten(1)

    @property
    def alike(self) -> np.ndarray:
        """[head, head]: linear CKA of the heads' outputs."""
        return cka(self.values, self._head_counts)


def cka(values: Tensor, head_counts: Sequence[int]) -> np.ndarray:
    """Linear CKA between the heads' outputs [token, head x d]: |X'Y|^2 / (|X'X| |Y'Y|), columns centred.

    1 for outputs that are rotations or multiples of each other; NaN for a head whose output never varies. In double
    precision: of the same outputs it is then the same, however many threads multiply them.
    """
    heads, values = sum(head_counts), values.double()
    centred = (values - values.mean(0)).unflatten(1, (heads, -1))  # [token, head, d]
    squares = np.zeros((heads, heads))
    ends = [0, *accumulate(head_counts)]
    for start, end in pairwise(ends):
        cross = centred[:, start:end].flatten(1).T @ centred[:, :end].flatten(1)
        size = centred.shape[2]
        blocks = cross.unflatten(1, (end, size)).unflatten(0, (end - start, size))  # [head, d, head, d]
        squares[start:end, :end] = blocks.square().sum((1, 3)).cpu().numpy()
    own = np.sqrt(np.diag(squares))
    scale = own[:, None] * own
    found = np.divide(squares, scale, out=np.full_like(squares, np.nan), where=scale > 0)
    return mirrored(found) + np.diag(np.where(own > 0, 1.0, np.nan))


def mirrored(values: np.ndarray) -> np.ndarray:
    """The triangle under the diagonal, and its mirror image above; the diagonal itself is 0."""
    below = np.tril(values, -1)
    return below + below.T
