"""Sentence vectors: the cosine of what an encoder makes of two texts, each read alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from bertscope.core.attributions import NO_PLACE, Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.models.batches import tokenise
from bertscope.models.evaluating import at_least_single
from bertscope.models.needed_rows import first_tokens
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import from_teacher
from bertscope.models.outputs.explained import WordText, of_all, on
from bertscope.models.own_task_head import as_embedder
from bertscope.models.sentence_vectors import pooled
from bertscope.models.words import special_ids

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder, TaskHead

WITHOUT_SCORES: tuple[TaskHead, ...] = ("none", "masked-lm")
"""What may sit on an encoder that is asked for vectors: it is left alone."""


class Cosines(ModelOutput):
    """Two rows for each example, one for each of its texts."""

    kind = "vectors"
    task_head = "none"
    by_itself = False
    rows_stand_alone: ClassVar[bool] = False
    padding = 0
    gives = ("sentence_embedding",)
    reads_marked_words = False

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        """The encoder itself, with what its maker put behind it, and nothing new."""
        return as_embedder(base, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        if encoder.task_head not in WITHOUT_SCORES:
            raise UserError(
                f"{encoder.name} is no embedding model (it is: {encoder.task_head}); leave out --kind vectors, or "
                "give an encoder"
            )

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (1,)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        """Texts are read as they are written, without marks of words, as whoever uses the vectors would."""
        if examples.pair is None:
            raise UserError(f"{self.encoder.name} is asked how alike two texts are; give pairs")
        texts = tuple(text for both in zip(examples.text, examples.pair, strict=True) for text in both)
        tokens = tokenise(self.encoder.tokenizer, Examples(texts, texts), self.encoder.max_length)
        example = np.repeat(np.arange(len(examples)), 2)
        truncated = tokens.truncated[0::2] | tokens.truncated[1::2]
        right = np.repeat(self.output.gold(examples), 2) if gold and self.output else None
        return Rows(replace(tokens, encodings=()), example, truncated, right)

    def deployed(self, model: nn.Module) -> nn.Module:
        return _Embedding(model, self.encoder, self.reads)

    def run(self, batch: RowBatch) -> Tensor:
        """The vectors of texts [row, d]."""
        model = self.encoder.model
        if not hasattr(model, "base_model"):  # an ONNX file, which gives them
            return model(**batch.inputs).sentence_embedding
        states = at_least_single(model.base_model(**batch.inputs).last_hidden_state)
        own = self.encoder.sentence
        return pooled(states, batch.special, "mean") if own is None else own(states, batch.inputs["attention_mask"])

    def read_tokens(self, batch: RowBatch) -> Tensor:
        own = self.encoder.sentence
        if own is None:
            return ~batch.special
        if set(own.layout.pooling) == {"cls"}:
            return first_tokens(batch)
        return super().read_tokens(batch)

    def outputs(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return _cosines(raw)[:, None]

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        """The squared error of the cosine."""
        found = (_cosines(raw) - batch.gold[0::2].to(raw.dtype)).square()
        return found, torch.ones_like(found)

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """The squared change of the cosine."""
        return (_cosines(raw) - _cosines(whole)).square()

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        return from_teacher(_cosines(raw)[:, None], teacher, temperature, weight)

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        return of_all(NO_PLACE, batch)

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The cosine."""
        return _cosines(raw)[on(raw.device, targets.example)[0]]

    @property
    def reads_single_tokens(self) -> bool:
        return False

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return _cosines(raw)

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        return _cosines(raw) * (one - other).sign()

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        return ["cosine"] * len(targets)

    @property
    def pushed(self) -> tuple[str, ...]:
        return ("cosine",)

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def text_of(self, rows: Rows) -> np.ndarray:
        return np.repeat(np.arange(len(rows.example)) % 2, rows.tokens.lengths)


class _Embedding(nn.Module):
    """An encoder that takes tensors in an order and gives its texts' vectors: `Cosines.run` without a batch."""

    def __init__(self, model: nn.Module, encoder: Encoder, reads: Sequence[str]) -> None:
        super().__init__()
        base: Any = model.base_model
        self.model, self._sentence, self._reads = base, encoder.sentence, tuple(reads)
        self.special: Tensor
        self.register_buffer("special", torch.tensor(special_ids(encoder.tokenizer)), persistent=False)

    def forward(self, *inputs: Tensor) -> tuple[Tensor]:
        named = dict(zip(self._reads, inputs, strict=True))
        states, mask = self.model(**named).last_hidden_state, named["attention_mask"]
        if self._sentence is not None:
            return (self._sentence(states, mask),)
        special = (named["input_ids"][..., None] == self.special).any(-1) | (mask == 0)
        return (pooled(states, special, "mean"),)


def _cosines(vectors: Tensor) -> Tensor:
    """Of texts two by two, [2 x example, d] -> [example]: an example's rows follow each other."""
    return cosine_similarity(vectors[0::2], vectors[1::2], dim=-1)
