"""Models that are asked about together, in one place: a GPU can't read what lies on the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from torch import nn

from bertscope.core.errors import UserError

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def bring_together(opened: Iterable[tuple[Any, bool]]) -> None:
    """Bring models to those that were given as objects. Each comes with whether it was opened here, by its name: who
    gave an object said where it lies, and it stays there."""
    # An ONNX file, which also scores, is read by another library, where that wants it.
    encoders = [(one, here) for one, here in opened if isinstance(getattr(one, "model", None), nn.Module)]
    given = next((one.device for one, here in encoders if not here), None)
    for one, here in encoders:
        if here and given is not None and one.device != given:
            one.model.to(given)


def refuse_apart(encoders: Sequence[Encoder]) -> None:
    """Refuse encoders that shall see the same batches and don't lie in one place."""
    first, *others = encoders
    for other in others:
        if other.device != first.device:
            raise UserError(
                f"{first.name} is on {first.device} and {other.name} on {other.device}: open both in one place, such "
                "as load(..., device='cpu')"
            )
