"""What each layer of a model hands on, and what its task head says of other states in the last ones' place.

The last states are those that the encoder puts out: behind the norm that closes some families. States of a layer
below are what the next one gets, before any such norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.models.families import descend
from bertscope.models.replay import replayed, stand_in
from bertscope.models.taps import Kept, Tap, tapped

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class LayerStates(Tap):
    """The states of the latest forward pass that wasn't replayed."""

    def __init__(self) -> None:
        self._inputs: list[Tensor] = []
        self._last: Tensor | None = None

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        if layer == 0:
            self._inputs = []
        self._inputs.append(inputs)
        return inputs

    def take_last(self, module: Any, args: Any, output: Any) -> None:
        self._last = output[0]

    def all(self) -> tuple[Tensor, ...]:
        """[row, token, d] each: the embeddings, each layer, and in the last one's place the last states."""
        assert self._last is not None
        return (*self._inputs, self._last)


@contextmanager
def layer_states(encoder: Encoder) -> Iterator[LayerStates]:
    """Keep the states of forward passes in this block."""
    if encoder.n_layers == 1 and encoder.family.first_stays_with and encoder.family.first_stays(_config(encoder)):
        raise UserError(
            f"the only layer of {encoder.name} isn't the last to change its states: "
            f"{encoder.family.first_stays_because}; give a model with more layers"
        )
    states = LayerStates()
    hook = encoder.model.base_model.register_forward_hook(states.take_last)
    try:
        with tapped(encoder, states):
            yield states
    finally:
        hook.remove()


@contextmanager
def other_last_states(encoder: Encoder, states: Tensor, *, closed: bool) -> Iterator[None]:
    """Let forward passes in this block compute no layer and find these states [row, token, d] behind the last: as
    they are where they are `closed`, through the family's last norm otherwise. Open it inside `layer_states`."""
    family, layers = encoder.family, encoder.n_layers
    with replayed(encoder, [Kept(states, states, None, states)] * layers, layers), ExitStack() as undo:
        if closed and family.closing:
            stand_in(descend(encoder.model.base_model, family.closing), lambda *_, **__: states, undo)
        yield


def _config(encoder: Encoder) -> dict[str, Any]:
    return encoder.model.config.to_dict()
