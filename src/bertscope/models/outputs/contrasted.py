"""What a model says of one text rather than of another: the answers to two texts, and how far a run is from the one
answer to the other. Two texts that are compared have the same tokens but for some, at the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder
    from bertscope.models.outputs.base import RowBatch


class Contrasted:
    """The members of a `ModelOutput` that patching asks for."""

    encoder: Encoder
    kind: ClassVar[str]
    no_contrast: ClassVar[str] = ""
    """Why the answers to two texts can't be compared by a logit; empty where they can."""
    reads_typed_masks: ClassVar[bool] = False
    """Whether it answers what stands in the place of masks that are typed in a text."""

    @property
    def reads_single_tokens(self) -> bool:
        """Whether what is on top reads the last state of a token or a few, and not a mean over the text."""
        return True

    def answers(self, raw: Any, batch: RowBatch) -> Tensor:
        """[example, ...]: what is predicted, as places (of a label, a candidate, a tag, a piece; `NOTHING` where
        there is none), or as a number where that is all there is. Answers that differ can be contrasted."""
        raise UserError(f"{self.encoder.name} can't be patched, because {self.no_contrast}; give another model")

    def contrast(self, raw: Any, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        """[example]: the logit of the one answer minus that of the other, whatever the run: added up where there are
        several that differ. Of a number, the number itself, its sign turned where the one is the lower."""
        raise NotImplementedError(f"{self.kind} has no contrast")


def between(scores: Tensor, one: Tensor, other: Tensor) -> Tensor:
    """Scores [..., place] of the one answer [...] minus those of the other; 0 where they are the same, or there is
    none."""
    differ = (one != other) & (one != NOTHING) & (other != NOTHING)
    there = [scores.gather(-1, places.clamp_min(0)[..., None])[..., 0] for places in (one, other)]
    return (there[0] - there[1]).where(differ, 0.0)
