"""What a reader should know before believing what a fine-tuned model's parts do for its score, or what a linear map
of states says."""

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
            f"the whole model is not clearly above chance ({score.chance:.3f}): what its answers rest on means little"
        )
    if task.may_have_been_seen_by(model):
        notes.append(f"the model was fine-tuned on another split or other data: it may have seen some {split} rows")
    if truncated:
        notes.append(too_long(truncated, f"{split} text", f"{model.max_length} tokens"))
    return notes


def fitted_on_pieces(pieces: int, texts: int, width: int) -> list[str]:
    """On what affine maps between the states of two models are fitted, and whether that is little."""
    better = "with more texts the maps could be better, and less be forgotten"
    return [
        f"affine maps are fitted on {pieces:,} masked pieces of {texts:,} texts",
        *few_states(pieces, width, better),
    ]


def few_states(states: int, width: int, better: str) -> list[str]:
    """Behind what says on how many states a linear map is fitted: that they are few, and what more would do."""
    if states >= 2 * width:
        return []
    return [f"that is fewer than twice the {width} numbers of a state: {better}"]
