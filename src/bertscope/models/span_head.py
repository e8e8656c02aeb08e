"""Span answers: the library's task head for extractive questions, and how its scores become an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import transformers
from torch import Tensor
from torch.nn.functional import pad as filled

from bertscope.core.errors import UserError
from bertscope.models.new_task_head import with_new_task_head

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

LONGEST_ANSWER = 30
"""Tokens, as in BERT's own code for SQuAD: longer spans aren't answers."""


def with_span_head(base: Encoder, **how: Any) -> Encoder:
    """A copy of the encoder with a new task head that points at a first and a last token; `how` as for
    `with_new_task_head`."""

    def build(config: Any) -> Any:
        config.id2label = {0: "start", 1: "end"}
        config.label2id = {"start": 0, "end": 1}
        config.problem_type = None
        try:
            return transformers.AutoModelForQuestionAnswering.from_config(config, dtype=torch.float32)
        except ValueError as error:
            raise UserError(
                f"transformers has no head for spans on a {config.model_type}; give a model of another family"
            ) from error

    return with_new_task_head(base, "span-qa", build, **how)


def best_spans(
    starts: Tensor, ends: Tensor, inside: Tensor, longest: int = LONGEST_ANSWER
) -> tuple[Tensor, Tensor, Tensor]:
    """The best span of each row: its score, its first and its last token.

    A span's score is its first token's score as a start plus its last token's as an end. Both are inside, the first
    isn't behind the last, and there are at most `longest` tokens. Where no token is inside, the score is -inf. Of
    scores that aren't numbers a span is given, too, and lies within the row: who looks it up breaks nothing.
    """
    starts, ends = (scores.masked_fill(~inside, -torch.inf) for scores in (starts, ends))
    reach = filled(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)  # [row, first, length - 1]
    score, at = (starts[..., None] + reach).flatten(1).max(1)
    first = at // longest
    return score, first, (first + at % longest).clamp_max(ends.shape[1] - 1)
