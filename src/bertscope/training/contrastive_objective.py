"""Contrastive training: what belongs together is to be nearer than everything else in the batch.

One loss of our own, of two lines. sentence-transformers' `MultipleNegativesRankingLoss` is the same, and a test
compares them; but it would bring its own trainer, without our loop's seeds and its way to go on after a kill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from bertscope.core.bucketing import rounded
from bertscope.core.errors import UserError
from bertscope.core.files import digest_text
from bertscope.core.intervals import bootstrap_interval, percentile_ends
from bertscope.core.rank_resampling import rank_draws
from bertscope.core.statement import too_long
from bertscope.data.positives import Sets
from bertscope.data.scored import Scores
from bertscope.models.batches import Batch, Filled, Tokens, fill_up, group_by_budget, pad, tokenise_all
from bertscope.models.encoder import Encoder
from bertscope.models.observe import default_budget
from bertscope.models.sentence_vectors import TextPool, pooled, sentence_vectors, unnamed

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.training.contrastive.question import ContrastiveConfig
    from bertscope.training.row_course import RowCourse

_ENDS = (0.025, 0.975)  # `core.intervals.ENDS` but for the last bit: stored curves stay as they are
_SEED = 0  # of the dropout in views of held-out texts: the same in every epoch


@dataclass(frozen=True)
class SetBatch(Batch):
    """Anchors, and what stands beside them."""

    others: tuple[Batch, ...] = ()
    """Their positives and hard negatives, in the same order; none where dropout makes another view of them."""


def in_batch_loss(anchors: Tensor, candidates: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
    """The cross-entropy of finding each anchor's positive among all candidates by cosine / temperature.

    `anchors` is [n, d]. Of the `candidates` [n + more, d], the i-th is the i-th anchor's positive; all others, among
    them hard negatives after the first n, are negatives. Anchors whose `weight` [n] is 0 aren't there, nor is
    whatever belongs to them.
    """
    # In half precision a cosine has two or three digits, and the temperature would magnify what rounding it leaves.
    with torch.autocast(anchors.device.type, enabled=False):
        similarity = normalize(anchors, dim=-1) @ normalize(candidates, dim=-1).T
    right = torch.arange(len(anchors), device=anchors.device)
    if weight is None:
        return cross_entropy(similarity / temperature, right)
    there = weight > 0
    similarity = similarity.masked_fill(~there.repeat(len(candidates) // len(anchors)), -torch.inf)
    found = cross_entropy(similarity / temperature, right.where(there, 0), reduction="none")
    return (found * weight).sum() / weight.sum()


class Contrastive:
    """Sets of texts; the score is how cosines follow the scores of `sts`, or else how often a held-out text finds its
    positive."""

    label = "fine-tuning"
    row_course: RowCourse | None = None

    def __init__(
        self, encoder: Encoder, train: Sets, validation: Sets, config: ContrastiveConfig, sts: Task | None = None
    ) -> None:
        self.encoder, self.config, self.sts = encoder, config, sts
        self.metric, self.chance = (
            ("spearman", 0.0) if sts else ("retrieval", 1 / (len(validation) * _candidates(validation)))
        )
        data = [sets.fingerprint for sets in (train, validation)] + ([sts.fingerprint] if sts else [])
        self.fingerprint = digest_text(f"{config} {data}")
        self.tokens, *self._others = self._tokenised(train)
        self._validation = self._tokenised(validation)
        if not self._others:
            _need_dropout(encoder)
        if config.projection:
            encoder.model.projection = _projection(encoder, config.seed)

    @property
    def lengths(self) -> np.ndarray:
        return self.tokens.lengths

    def batch(self, things: np.ndarray) -> SetBatch:
        return _as_set(self._padded(self.tokens, things), [self._padded(tokens, things) for tokens in self._others])

    def fixed_batch(self, things: np.ndarray, most: int) -> SetBatch:
        filled, columns = fill_up(things, most), [self.tokens, *self._others]
        length = min(rounded(max(int(tokens.lengths[things].max()) for tokens in columns)), self.encoder.max_length)
        own = np.ones(len(filled), bool)
        anchors, *others = (
            pad(tokens, filled, pad_id=self._pad_id, device="cpu", length=length) for tokens in columns
        )
        return replace(_as_set(anchors, others), filled=Filled.of(filled, len(things), own))

    def loss(self, batch: SetBatch) -> Tensor:
        vectors = self._read([batch, *(batch.others or [batch])])
        if self.config.projection:
            vectors = self.encoder.model.projection(vectors)
        anchors, candidates = vectors.float().split([len(batch), len(vectors) - len(batch)])
        weight = None if batch.filled is None else batch.filled.weight
        return in_batch_loss(anchors, candidates, self.config.temperature, weight)

    def sized_loss(self, batch: SetBatch) -> tuple[Tensor, Tensor]:
        loss = self.loss(batch)
        return loss, loss.new_tensor(len(batch)) if batch.filled is None else batch.filled.weight.sum()

    def size(self, batch: Batch) -> float:
        return float(len(batch))

    def score(self) -> Scores:
        """Beside the score: how often a held-out text finds its positive, how near it is, and how even the texts lie
        (Wang and Isola 2020)."""
        anchors, candidates = self._held_out()
        similarity = anchors @ candidates.T
        n = len(anchors)
        hits = (similarity.argmax(1) == torch.arange(n, device=similarity.device)).double().cpu().numpy()
        spread = torch.exp(4 * (anchors @ anchors.T - 1)).fill_diagonal_(0).double().sum() / (n * (n - 1))
        near = {
            "alignment": float(2 - 2 * similarity.diagonal().double().mean()), "uniformity": float(spread.log()),
        }  # fmt: skip
        if self.sts is None:
            low, high = bootstrap_interval(lambda means: means[..., 0], hits[:, None])
            return Scores("retrieval", float(hits.mean()), low, high, n, self.chance, near)
        return _follows_scores(self.encoder, self.sts, self.config.pool, {"retrieval": float(hits.mean()), **near})

    @property
    def notes(self) -> list[str]:
        """Which texts were truncated: in training, and where the score is taken."""
        truncated = sum(int(tokens.truncated.sum()) for tokens in (self.tokens, *self._others))
        long = f"{too_long(truncated, 'text', f'{self._length} tokens')} in training"
        notes = [long] if truncated else []
        if self.sts is not None and self.sts.validation.pair is not None:
            watched = unnamed([*self.sts.validation.text, *self.sts.validation.pair])
            longest = self.encoder.max_length
            truncated = int(tokenise_all(self.encoder.tokenizer, watched, longest).truncated.sum())
            long = f"{self.sts.name}: {too_long(truncated, 'text', f'{longest} tokens')}"
            notes += [long] if truncated else []
        return notes

    def finish(self) -> None:
        """The projection is for training alone."""
        if self.config.projection:
            del self.encoder.model.projection

    @contextmanager
    def as_kept(self) -> Iterator[None]:
        model = self.encoder.model
        projection = model.projection if self.config.projection else None
        self.finish()
        try:
            yield
        finally:
            if projection is not None:
                model.projection = projection

    def _tokenised(self, sets: Sets) -> list[Tokens]:
        return [tokenise_all(self.encoder.tokenizer, unnamed(column), self._length) for column in sets.columns]

    @property
    def _length(self) -> int:
        return min(self.config.length, self.encoder.max_length)

    def _padded(self, tokens: Tokens, rows: np.ndarray) -> Batch:
        return pad(tokens, rows, pad_id=self._pad_id, device=self.encoder.device)

    @property
    def _pad_id(self) -> int:
        return self.encoder.tokenizer.pad_token_id or 0

    def _read(self, batches: Sequence[Batch]) -> Tensor:
        """The vectors of all rows, in one pass: a small encoder on a GPU waits for kernels more than it computes."""
        longest = max(batch.special.shape[1] for batch in batches)

        def joined(parts: Sequence[Tensor], filler: int | bool) -> Tensor:
            return torch.cat([nn.functional.pad(one, (0, longest - one.shape[1]), value=filler) for one in parts])

        inputs = {
            name: joined([batch.inputs[name] for batch in batches], self._pad_id if name == "input_ids" else 0)
            for name in batches[0].inputs
        }
        special = joined([batch.special for batch in batches], True)
        return pooled(self.encoder.model(**inputs).last_hidden_state, special, self.config.pool)

    def _held_out(self) -> tuple[Tensor, Tensor]:
        """Unit vectors of the held-out anchors [n, d], of their positives and hard negatives in the same order."""
        anchors, *others = self._validation
        parts: list[tuple[Tensor, ...]] = []
        with _views(self.encoder, dropout=not others), torch.no_grad():
            for rows in group_by_budget(anchors.lengths, default_budget(self.encoder)):
                batch = self._padded(anchors, rows)
                beside = [self._padded(tokens, rows) for tokens in others] or [batch]
                vectors = normalize(self._read([batch, *beside]).float(), dim=-1)
                parts.append(vectors.split(len(batch)))
        first, *rest = (torch.cat(column) for column in zip(*parts, strict=True))
        return first, torch.cat(rest)


def _as_set(anchors: Batch, others: Sequence[Batch]) -> SetBatch:
    return SetBatch(**{each.name: getattr(anchors, each.name) for each in fields(anchors)}, others=tuple(others))


def _candidates(sets: Sets) -> int:
    """How many candidates there are for each anchor of these sets."""
    return max(1, len(sets.columns) - 1)


def _projection(encoder: Encoder, seed: int) -> nn.Module:
    """SimCSE's: a linear layer and tanh, as the family's own layers begin."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        linear = nn.Linear(encoder.hidden_size, encoder.hidden_size)
        nn.init.normal_(linear.weight, std=getattr(encoder.model.config, "initializer_range", 0.02))
        nn.init.zeros_(linear.bias)
    return nn.Sequential(linear, nn.Tanh()).to(encoder.device)


def _need_dropout(encoder: Encoder) -> None:
    if not any(isinstance(module, nn.Dropout) and module.p > 0 for module in encoder.model.modules()):
        raise UserError(
            "this encoder has no dropout: two views of a text would be the same; use --pairs pairs or triples"
        )


@contextmanager
def _views(encoder: Encoder, *, dropout: bool) -> Iterator[None]:
    """Dropout on or off, the same each time it is on; what it was before is back afterwards."""
    device, was = encoder.device, encoder.model.training
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(_SEED)
        encoder.model.train(dropout)
        try:
            yield
        finally:
            encoder.model.train(was)


def _follows_scores(encoder: Encoder, sts: Task, pool: TextPool, beside: dict[str, float]) -> Scores:
    """Spearman's correlation of the validation set's scores with the cosines of its texts, in the last layer."""
    validation = sts.validation
    assert validation.pair is not None and validation.label is not None
    texts = [*validation.text, *validation.pair]
    vectors = sentence_vectors(encoder, texts, pools=[pool], layers=[encoder.n_layers])[0][0, 0]
    ones, others = np.split(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), 2)
    draws = rank_draws((ones * others).sum(-1)[None], validation.label)[:, 0]
    low, high = percentile_ends(draws[1:], _ENDS)
    return Scores("spearman", float(draws[0]), float(low), float(high), len(validation), 0.0, beside)
