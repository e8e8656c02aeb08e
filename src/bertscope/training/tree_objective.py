"""Learning to parse: cross-entropy over each word's governors, and over the relations to the right one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertscope.data.task import Scores
from bertscope.data.tree_task import TreeTask
from bertscope.models.batches import Batch, tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.parser import arc_scores, seen_words, word_vectors


class Trees:
    """An `Objective`. Each word chooses its governor by itself; that they make a tree is seen to when scored."""

    def __init__(self, encoder: Encoder, task: TreeTask) -> None:
        self.encoder, self.task = encoder, task
        self.metric, self.fingerprint = task.metric, task.fingerprint
        self.chance = task.chance(task.validation)
        self.tokens = tokenise(encoder.tokenizer, task.train, encoder.max_length)
        self._gold = torch.from_numpy(task.gold(task.train)).to(encoder.device)
        truncated = int(self.tokens.truncated.sum())
        longest = f"{truncated:,} training sentences are longer than {encoder.max_length} tokens and were cut"
        self.notes = (longest,) if truncated else ()

    def loss(self, batch: Batch, rows: Tensor) -> Tensor:
        """The mean over the words whose governor is read too."""
        model, counts = self.encoder.model, seen_words(batch)
        width = int(counts.max())
        governors, relations = (self._gold[rows, :width] + torch.tensor([1, 0], device=rows.device)).unbind(-1)
        there = torch.arange(width, device=rows.device) < counts[:, None]
        there &= (governors >= 0) & (governors <= counts[:, None])
        vectors = word_vectors(model, batch, width)
        arcs = arc_scores(model, vectors, counts)
        kinds = model.parser.relations(vectors, governors.where(there, 0)).float()
        return cross_entropy(arcs[there], governors[there]) + cross_entropy(kinds[there], relations[there])

    def score(self) -> Scores:
        return self.task.score(self.encoder.predict(self.task.validation), self.task.validation)

    def finish(self) -> None:
        """The model is what it is to be."""
