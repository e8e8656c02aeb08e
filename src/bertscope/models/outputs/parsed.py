"""Dependency trees: each word's governor and relation in the best tree that a parser's scores make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.bucketing import rounded
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.output import Output
from bertscope.core.statement import too_long
from bertscope.models.batches import Shape
from bertscope.models.config_notes import PARSER
from bertscope.models.needed_rows import first_tokens
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import kl
from bertscope.models.outputs.explained import WordText, above_others, chosen_words, moved_word, on
from bertscope.models.parser import EveryPair, arc_scores, possible, seen_words, with_parser, word_vectors
from bertscope.models.spanning_tree import best_trees

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class _Scored:
    """What a parser says of a batch."""

    relations: Callable[[Tensor], Tensor]
    """[row, word, relation]: how well each relation suits each word under its governor [row, word]; 0 is what is
    above the root."""
    arcs: Tensor
    """[row, word, 1 + word]"""
    counts: Tensor
    """[row]: words that are read."""


class Parsed(ModelOutput):
    """Each word chooses its governor by itself where it learns; that they make a tree is seen to afterwards."""

    kind = "trees"
    task_head = "parser"
    gives = ("arcs", "relations")
    says_of_words = True
    no_contrast = "a tree is many choices at once, and two trees have no one logit that tells them apart"

    def __init__(self, encoder: Encoder, output: Output | None = None) -> None:
        super().__init__(encoder, output)
        self._tables: dict[torch.device, Tensor] = {}

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_parser(base, output.labels, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        super().refuse_other(encoder, output)
        output.in_order(np.zeros((0, 0, 2), dtype=np.int64), encoder.labels)

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (max(map(len, examples.words or ()), default=0), 2)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        if examples.words is None or examples.pair is not None:
            raise UserError(f"{self.encoder.name} parses sentences whose words are marked; give a treebank")
        return super().rows(examples, gold=gold)

    def batch(
        self, rows: Rows, starts: np.ndarray, group: np.ndarray, first: int = 0, shape: Shape | None = None
    ) -> RowBatch:
        made = super().batch(rows, starts, group, first, shape)
        if shape is None or made.gold is None:
            return made
        return replace(made, gold=made.gold[:, : rounded(int(seen_words(made).max()))].contiguous())

    def notes_on(self, rows: Rows) -> tuple[str, ...]:
        truncated, longest = int(rows.truncated.sum()), self.encoder.max_length
        return (too_long(truncated, "training sentence", f"{longest} tokens"),) if truncated else ()

    def called_with(self, batch: RowBatch) -> dict[str, Tensor]:
        """The parser is told, too, which word each token is of."""
        return batch.inputs | {"words": batch.words.long()}

    @property
    def reads(self) -> list[str]:
        return [*super().reads, "words"]

    def deployed(self, model: nn.Module) -> nn.Module:
        return EveryPair(model, super().reads)

    def run(self, batch: RowBatch) -> _Scored:
        model, counts = self.encoder.model, seen_words(batch)
        longest = _most(batch, counts)
        if hasattr(model, PARSER):  # otherwise it is in an ONNX file
            vectors = word_vectors(model, batch, longest)
            return _Scored(partial(model.parser.relations, vectors), arc_scores(model, vectors, counts), counts)
        found = model(**self.called_with(batch))
        arcs = possible(found.arcs[:, :longest, : 1 + longest], counts)
        return _Scored(partial(_under, found.relations[:, :longest, : 1 + longest]), arcs, counts)

    def read_tokens(self, batch: RowBatch) -> Tensor:
        """Those of words, and the first, which stands for what is above the root."""
        return (batch.words >= 0) | first_tokens(batch)

    def double(self, raw: _Scored) -> _Scored:
        return _Scored(raw.relations, raw.arcs.double(), raw.counts)

    def outputs(self, raw: _Scored, batch: RowBatch) -> Tensor:
        """Of words that aren't read nothing is said."""
        governors = self._governors(raw)
        relations = raw.relations(governors).argmax(-1)
        found = torch.stack([governors - 1, relations], dim=-1)
        return found.where(self._inside(raw)[..., None], NOTHING)

    def losses(self, raw: _Scored, batch: RowBatch) -> tuple[Tensor, Tensor]:
        """Of each word's governor, and of its relation to the right one; of words whose governor is read too."""
        governors, relations, there = self._learnable(batch, raw.counts)
        kinds = raw.relations(governors.where(there, 0)).to(raw.arcs.dtype)
        if batch.filled is not None:  # what isn't learnt is computed, too: how much that is, nobody has to know
            found = _each(raw.arcs, governors.where(there, 0)) + _each(kinds, relations.where(there, 0))
            return found.where(there, 0.0).sum(1), there.sum(1).clamp_min(1).to(found.dtype)
        found = raw.arcs.new_zeros(there.shape)
        found[there] = cross_entropy(raw.arcs[there], governors[there], reduction="none") + cross_entropy(
            kinds[there], relations[there], reduction="none"
        )
        return found.sum(1), there.sum(1).clamp_min(1).to(found.dtype)

    def divergence(self, whole: _Scored, raw: _Scored, batch: RowBatch) -> Tensor:
        """KL(whole || other) in nats, of the governor of each word, averaged over the words of a sentence."""
        least = torch.finfo(raw.arcs.dtype).min
        found = kl(whole.arcs.clamp_min(least), raw.arcs.clamp_min(least)) * self._inside(raw)
        return found.sum(1) / raw.counts.clamp_min(1)

    def size(self, batch: RowBatch) -> float:
        *_, there = self._learnable(batch, seen_words(batch))
        return float(there.sum(1).clamp_min(1).sum())

    def _learnable(self, batch: RowBatch, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[row, word]: governors, of which 0 is what is above the root, relations, and whether both are to be
        learnt."""
        assert batch.gold is not None
        width = _most(batch, counts)
        governors, relations = batch.gold[:, :width, 0] + 1, self._own_places(batch.gold[:, :width, 1])
        inside = torch.arange(width, device=counts.device) < counts[:, None]
        return governors, relations, inside & (governors >= 0) & (governors <= counts[:, None]) & (relations >= 0)

    def targets(self, raw: _Scored, batch: RowBatch, wanted: Wanted) -> Targets:
        """Each word's governor in the best tree; 0 is what is above the root."""
        example, word = np.nonzero(chosen_words(self._inside(raw).cpu().numpy(), wanted))
        return Targets(example, word, self._governors(raw).cpu().numpy()[example, word])

    def quantity(self, raw: _Scored, batch: RowBatch, targets: Targets) -> Tensor:
        """The governor's score minus the mean of the others that the word could have."""
        example, word, governor = on(raw.arcs.device, targets.example, targets.place, targets.label)
        scores = raw.arcs[example, word]
        return above_others(scores, governor, scores > -torch.inf)

    def probability(self, raw: _Scored, batch: RowBatch, targets: Targets) -> Tensor:
        """Of that governor among all that the word could have."""
        example, word, governor = on(raw.arcs.device, targets.example, targets.place, targets.label)
        return raw.arcs[example, word].softmax(1).gather(1, governor[:, None])[:, 0]

    def about(self, targets: Targets) -> np.ndarray:
        """The word and its governor."""
        return np.stack([targets.place, targets.label - 1], axis=1)

    def without_words(self, targets: Targets, kept: np.ndarray) -> Targets:
        governor = np.where(targets.label > 0, 1 + moved_word(targets.label - 1, kept), 0)
        return replace(targets, place=moved_word(targets.place, kept), label=governor)

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        each = zip(targets.example, targets.place, targets.label, strict=True)
        return [
            f"{word(example, governor - 1) if governor else 'root'} governs {word(example, place)}"
            for example, place, governor in each
        ]

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def _governors(self, raw: _Scored) -> Tensor:
        """[row, word]: the best tree; 0 is what is above the root."""
        scores = raw.arcs.detach().log_softmax(-1).double().cpu().numpy()
        return torch.from_numpy(best_trees(scores, raw.counts.cpu().numpy())).to(raw.arcs.device)

    def _own_places(self, relations: Tensor) -> Tensor:
        """Relations of the task as places among those that the parser knows; `NOTHING` where it hasn't one."""
        if relations.device not in self._tables:  # brought there once
            assert self.output is not None
            own = {label: at for at, label in enumerate(self.encoder.labels)}
            table = [*(own.get(label, NOTHING) for label in self.output.labels), NOTHING]
            self._tables[relations.device] = torch.tensor(table, device=relations.device)
        return self._tables[relations.device][relations.clamp_min(-1)]

    def _inside(self, raw: _Scored) -> Tensor:
        """[row, word]: whether there is one, and it is read."""
        return torch.arange(raw.arcs.shape[1], device=raw.arcs.device) < raw.counts[:, None]


def _most(batch: RowBatch, counts: Tensor) -> int:
    """Words that there is room for: as many as the longest sentence has, or as the shape of the batch says."""
    return int(counts.max()) if batch.filled is None else batch.gold.shape[1]


def _each(scores: Tensor, right: Tensor) -> Tensor:
    """The cross-entropy of each word [row, word]."""
    return cross_entropy(scores.flatten(0, 1), right.flatten(), reduction="none").view_as(right)


def _under(relations: Tensor, governors: Tensor) -> Tensor:
    """Of scores of relations under every governor [row, word, 1 + word, relation], those under these [row, word]."""
    at = governors[:, :, None, None].expand(-1, -1, 1, relations.shape[-1])
    return relations.gather(2, at)[:, :, 0]
