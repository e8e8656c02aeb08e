"""Which of several candidate texts is right: each is read with the text it is for, and gets one number.

An example's rows are its candidates. The library's task head takes them as one more axis; here it sees one candidate
at a time, so that examples can have different numbers of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import NO_CANDIDATE, Examples
from bertscope.core.output import Output
from bertscope.models.batches import tokenise
from bertscope.models.evaluating import at_least_single
from bertscope.models.needed_rows import first_token_only, first_tokens
from bertscope.models.new_task_head import with_new_task_head
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import from_teacher, kl
from bertscope.models.outputs.contrasted import between
from bertscope.models.outputs.explained import WordText, above_others, of_all, on

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class Candidates(ModelOutput):
    """Cross-entropy over an example's candidates."""

    kind = "choices"
    task_head = "multiple-choice"
    rows_stand_alone = False
    padding = NO_CANDIDATE
    axes = ("batch", "candidates", "length")
    reads_marked_words = False

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        def build(config: Any) -> Any:
            config.problem_type = None
            config.summary_type = "first"  # RoFormer would read the last token, which may be padding
            try:
                return transformers.AutoModelForMultipleChoice.from_config(config, dtype=torch.float32)
            except ValueError as error:
                raise UserError(
                    f"transformers has no head for choices on a {config.model_type}; give a model of another family"
                ) from error

        return with_new_task_head(base, "multiple-choice", build, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        super().refuse_other(encoder, output)
        summary = getattr(encoder.model, "sequence_summary", None)
        if summary is not None and summary.summary_type not in ("first", "cls_index"):
            raise UserError(
                f"{encoder.name} scores candidates by the {summary.summary_type} token, padding included "
                "(summary_type in its config.json): its answers depend on what else is read; fine-tune one anew"
            )

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (max(map(len, _choices(self.encoder, examples)), default=0),)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        choices = _choices(self.encoder, examples)
        example = np.repeat(np.arange(len(examples)), [len(texts) for texts in choices])
        candidates = Examples(
            tuple(examples.ids[row] for row in example),
            tuple(examples.text[row] for row in example),
            tuple(text for texts in choices for text in texts),
        )
        tokens = tokenise(self.encoder.tokenizer, candidates, self.encoder.max_length)
        truncated = np.bincount(example, tokens.truncated, len(examples)) > 0
        right = self.output.gold(examples)[example, 0] if gold and self.output else None
        return Rows(tokens, example, truncated, right)

    def called_with(self, batch: RowBatch) -> dict[str, Tensor]:
        return self.encoder.shaped(batch.inputs)

    def run(self, batch: RowBatch) -> Tensor:
        """A number for each candidate, [example, most]; `NO_CANDIDATE` where there is none."""
        scores = at_least_single(self.encoder.model(**self.called_with(batch)).logits)[:, 0]
        if batch.filled is not None:  # then all have as many rows
            return scores.where(batch.filled.rows, NO_CANDIDATE).unflatten(0, (len(batch.examples), -1))
        counts = torch.bincount(batch.owner, minlength=len(batch.examples))
        place = torch.arange(len(scores), device=scores.device) - (counts.cumsum(0) - counts)[batch.owner]
        found = scores.new_full((len(counts), int(counts.max())), NO_CANDIDATE)
        return found.index_put((batch.owner, place), scores)

    def read_tokens(self, batch: RowBatch) -> Tensor:
        first = self._summary_reads_first and self.encoder.family.reads_first_token(self.encoder.model.config)
        return first_tokens(batch) if first else super().read_tokens(batch)

    def outputs(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        if batch.filled is not None:
            right = batch.right
        else:  # its rows all say the same
            right = batch.gold.new_zeros(len(raw)).index_put((batch.owner,), batch.gold)
        found = cross_entropy(raw, right, reduction="none")
        return found, torch.ones_like(found)

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """KL(whole || other) over an example's candidates, in nats."""
        return kl(whole, raw)

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        """Of examples that haven't got a candidate that is asked for, nothing."""
        if wanted.label is None:
            return of_all(raw.argmax(1), batch)
        there = (raw[:, wanted.label] > NO_CANDIDATE) if wanted.label < raw.shape[1] else raw.new_zeros(len(raw)) > 0
        return of_all(wanted.label, batch).take(np.flatnonzero(there.cpu().numpy()))

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The candidate's score minus the mean of the others'."""
        example, label = on(raw.device, targets.example, targets.label)
        return above_others(raw[example], label, raw[example] > NO_CANDIDATE)

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw.argmax(1)

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        return between(raw, one, other)

    def probability(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        example, label = on(raw.device, targets.example, targets.label)
        return raw.softmax(1)[example, label]

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        return [f"candidate {label + 1}" for label in targets.label]

    @property
    def pushed(self) -> tuple[str, ...]:
        return ()

    def place_of(self, name: str) -> int:
        if not name.strip().isdecimal() or int(name) < 1:
            raise UserError(f"of is {name!r}; give the number of a candidate, from 1, or leave it out")
        return int(name) - 1

    def texts(self, examples: Examples) -> list[tuple[str, ...]]:
        choices = _choices(self.encoder, examples)
        return [(text, *candidates) for text, candidates in zip(examples.text, choices, strict=True)]

    def text_of(self, rows: Rows) -> np.ndarray:
        candidate = np.arange(len(rows.example)) - np.searchsorted(rows.example, rows.example)
        return rows.tokens.segments * (1 + np.repeat(candidate, rows.tokens.lengths))

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        return from_teacher(raw, teacher[:, : raw.shape[1]], temperature, weight)

    def sparing(self) -> AbstractContextManager[None]:
        return first_token_only(self.encoder) if self._summary_reads_first else nullcontext()

    @property
    def _summary_reads_first(self) -> bool:
        summary = getattr(self.encoder.model, "sequence_summary", None)
        return summary is None or summary.summary_type == "first"


def _choices(encoder: Encoder, examples: Examples) -> tuple[tuple[str, ...], ...]:
    if examples.choices is None:
        raise UserError(f"{encoder.name} chooses among candidate texts; give examples that have some")
    return examples.choices
