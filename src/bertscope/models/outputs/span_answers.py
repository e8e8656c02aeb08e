"""Spans of a text: where an answer begins and ends, of all windows of a long text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.statement import number_of, too_long
from bertscope.models.evaluating import at_least_single
from bertscope.models.needed_rows import first_tokens
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.classifier import kl
from bertscope.models.outputs.explained import WordText, on
from bertscope.models.span_head import best_spans, with_span_head
from bertscope.models.windows import targets, windowed

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class SpanAnswers(ModelOutput):
    """An example is a question with a text, read as windows. A window without the answer has its first token for both
    ends, as in BERT's own code for SQuAD, so that the scores of different windows can be compared."""

    kind = "spans"
    task_head = "span-qa"
    padding = 0
    gives = ("start_logits", "end_logits")
    reads_marked_words = False
    words_can_go = False
    no_contrast = "an answer is a place in the text, and at that place of the other text other words may stand"

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_span_head(base, **how)

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (2,)

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        encoder = self.encoder
        if examples.pair is None:
            raise UserError(f"{encoder.name} answers questions about a text; give pairs, the question first")
        windows = windowed(encoder.tokenizer, examples, encoder.max_length)
        right = None
        if gold:
            assert examples.answers is not None
            right = targets(windows, np.array([answers[0] for answers in examples.answers]))
        first, last = windows.spans.T
        return Rows(windows.tokens, windows.example, windows.shortened, right, {"first": first, "last": last})

    def notes_on(self, rows: Rows) -> tuple[str, ...]:
        questions, windows, notes = len(rows.truncated), len(rows.example), []
        assert rows.gold is not None
        answered = len(np.unique(rows.example[rows.gold[:, 1] > 0]))
        if windows > questions:
            notes.append(f"{questions:,} training questions are read in {windows:,} windows: their texts are long")
        if answered < questions:
            unread = number_of(questions - answered, "training answer has", "training answers have")
            notes.append(f"{unread} no token that the model reads")
        if truncated := int(rows.truncated.sum()):
            notes.append(too_long(truncated, "training question", "a quarter of what the model reads"))
        return tuple(notes)

    def run(self, batch: RowBatch) -> tuple[Tensor, Tensor]:
        """The scores of tokens as a first and as a last one, [window, token]; -inf where the answer can't be."""
        found = self.encoder.model(**batch.inputs)
        possible = self.read_tokens(batch)
        start, end = (
            at_least_single(each).masked_fill(~possible, -torch.inf)
            for each in (found.start_logits, found.end_logits)
        )
        return start, end

    def read_tokens(self, batch: RowBatch) -> Tensor:
        """Where the answer can be: in the second text, or, where a window hasn't got it, at the first token."""
        return ((batch.segments == 1) & ~batch.added) | first_tokens(batch)

    def double(self, raw: Any) -> Any:
        return tuple(each.double() for each in raw)

    def outputs(self, raw: tuple[Tensor, Tensor], batch: RowBatch) -> Tensor:
        """The span with the highest score of all of an example's windows; (0, 0) where there is none."""
        score, first, last, window = _best(raw, batch)
        row = torch.arange(len(score), device=score.device)
        ends = torch.stack([batch.marks["first"][row, first], batch.marks["last"][row, last]], dim=1)
        return ends.where(score.isfinite()[:, None], 0)[window]

    def losses(self, raw: tuple[Tensor, Tensor], batch: RowBatch) -> tuple[Tensor, Tensor]:
        """The mean of the cross-entropies of both ends, of each window."""
        each = [cross_entropy(scores, gold, reduction="none") for scores, gold in zip(raw, batch.gold.T, strict=True)]
        found = torch.stack(each).mean(0)
        return batch.per_example(found), batch.per_example(torch.ones_like(found))

    def divergence(self, whole: tuple[Tensor, Tensor], raw: tuple[Tensor, Tensor], batch: RowBatch) -> Tensor:
        """KL(whole || other) in nats, of both ends and all windows, averaged."""
        found = torch.stack([_kl_of_possible(before, after) for before, after in zip(whole, raw, strict=True)]).mean(
            0
        )
        return batch.per_example(found) / batch.per_example(torch.ones_like(found))

    def targets(self, raw: tuple[Tensor, Tensor], batch: RowBatch, wanted: Wanted) -> Targets:
        """The answer; of examples of whose text nothing is read, nothing."""
        score, first, last, window = (each.detach().cpu().numpy() for each in _best(raw, batch))
        example = np.flatnonzero(np.isfinite(score[window]))
        row = window[example]
        begins = np.searchsorted(batch.owner.cpu().numpy(), example)
        return Targets(example, row - begins, first[row], last[row])

    def quantity(self, raw: tuple[Tensor, Tensor], batch: RowBatch, targets: Targets) -> Tensor:
        """The answer's score: its first token's as a start plus its last token's as an end."""
        assert targets.end is not None
        start, end = raw
        example, place, first, last = on(start.device, targets.example, targets.place, targets.label, targets.end)
        row = torch.searchsorted(batch.owner, example) + place
        return start[row, first] + end[row, last]

    def probability(self, raw: tuple[Tensor, Tensor], batch: RowBatch, targets: Targets) -> Tensor:
        """Of its first token as a start times that of its last as an end, among all that its window could have."""
        start, end = (scores.log_softmax(1) for scores in raw)
        return self.quantity((start, end), batch, targets).exp()

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        assert targets.end is not None and examples.pair is not None
        row = np.searchsorted(rows.example, targets.example) + targets.place
        begins, ends = rows.marks["first"], rows.marks["last"]
        at = rows.tokens.starts[row]
        spans = zip(begins[at + targets.label], ends[at + targets.end], targets.example, strict=True)
        return [f"answer: {examples.pair[example][first:last]}" for first, last, example in spans]

    @property
    def names(self) -> tuple[str, ...]:
        return ()


def _best(raw: tuple[Tensor, Tensor], batch: RowBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best span of each window, [row] each: its score, its first and its last token; and the row of the window
    that each example's best is in [example]."""
    inside = (batch.segments == 1) & ~batch.added
    score, first, last = best_spans(*raw, inside)
    row = torch.arange(len(score), device=score.device)
    best = score.new_full((len(batch.examples),), -torch.inf).scatter_reduce(0, batch.owner, score, "amax")
    # Of equals the first window; of scores that aren't numbers none wins, and the last row is as good as any.
    last_row = -(len(score) - 1)
    wins = torch.where(score == best[batch.owner], -row, last_row)
    return score, first, last, -row.new_full(best.shape, last_row).scatter_reduce(0, batch.owner, wins, "amax")


def _kl_of_possible(whole: Tensor, other: Tensor) -> Tensor:
    """KL(whole || other) of scores that are -inf where nothing can be: those places count for nothing."""
    least = torch.finfo(whole.dtype).min
    return kl(whole.clamp_min(least), other.clamp_min(least))
