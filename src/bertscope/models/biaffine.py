"""Biaffine scores of arcs and relations between words (Dozat and Manning 2017, Deep Biaffine Attention)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_DROPOUT = 0.1  # theirs is 0.33, for a parser trained for days; the encoder below drops out too


class Biaffine(nn.Module):
    """From vectors of words to scores of their heads and relations. Word 0 is what is above the root.

    A word has four small vectors, each its own linear map and a leaky ReLU: as head and as dependent, for arcs and
    for relations. With h the head's and d the dependent's, an arc scores h'Ud + h'u and a relation
    h'U_r d + h'a_r + d'b_r + c_r; here the linear parts are a column more in U, as if the vectors had a 1 at the end.
    """

    def __init__(self, hidden: int, relations: int, arc_size: int = 128, relation_size: int = 64) -> None:
        super().__init__()
        self.arc_head, self.arc_dependent = _small(hidden, arc_size), _small(hidden, arc_size)
        self.relation_head, self.relation_dependent = _small(hidden, relation_size), _small(hidden, relation_size)
        self.arc_weight = nn.Parameter(torch.empty(arc_size, arc_size + 1))
        self.relation_weight = nn.Parameter(torch.empty(relations, relation_size + 1, relation_size + 1))
        nn.init.xavier_uniform_(self.arc_weight)
        for weight in self.relation_weight:
            nn.init.xavier_uniform_(weight)

    def arcs(self, vectors: Tensor) -> Tensor:
        """[batch, 1 + word, hidden] -> [batch, word, 1 + word]: how well each head suits each word."""
        heads, dependents = self.arc_head(vectors), _with_one(self.arc_dependent(vectors[:, 1:]))
        return torch.einsum("bhi,ij,bdj->bdh", heads, self.arc_weight, dependents)

    def relations(self, vectors: Tensor, heads: Tensor) -> Tensor:
        """[batch, word, relation]: how well each relation suits a word under its head [batch, word]."""
        at = heads[..., None].expand(-1, -1, vectors.shape[-1])
        above = _with_one(self.relation_head(vectors.gather(1, at)))
        below = _with_one(self.relation_dependent(vectors[:, 1:]))
        return torch.einsum("bwi,rij,bwj->bwr", above, self.relation_weight, below)


def _small(hidden: int, size: int) -> nn.Module:
    return nn.Sequential(nn.Linear(hidden, size), nn.LeakyReLU(0.1), nn.Dropout(_DROPOUT))


def _with_one(vectors: Tensor) -> Tensor:
    return torch.cat([vectors, torch.ones_like(vectors[..., :1])], dim=-1)
