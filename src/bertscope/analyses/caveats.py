"""What a reader should know before believing what a fine-tuned model's parts do for its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.core.statement import too_long

if TYPE_CHECKING:
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


def cautions(model: Encoder, task: Task, score: Scores, truncated: int, split: str = "test") -> list[str]:
    """`score` and `truncated` (texts longer than the model reads) are those of the whole model on that split."""
    notes = []
    if score.low <= score.chance:
        notes.append(
            f"the whole model is not clearly above chance ({score.chance:.3f}): what its parts do means little"
        )
    if task.may_have_been_seen_by(model):
        notes.append(f"the model was fine-tuned on another split or other data: it may have seen some {split} rows")
    if truncated:
        notes.append(too_long(truncated, f"{split} text", f"{model.max_length} tokens"))
    return notes
