"""What a forward pass puts out on its way: each layer's input, heads' outputs, MLPs' outputs, the last states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor

from bertscope.models.taps import Tap, tapped

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder
    from bertscope.models.outputs.base import ModelOutput, RowBatch


@dataclass
class Activations:
    """Of one forward pass, layer by layer, 0-based."""

    inputs: list[Tensor] = field(default_factory=list)
    """[row, token, hidden]: what each layer gets, which is what the layer below put out; the first gets the
    embeddings."""
    contexts: list[Tensor] = field(default_factory=list)
    """[row, token, head, d]: the heads' outputs before the output projection."""
    mlps: list[Tensor] = field(default_factory=list)
    """[row, token, hidden]: the MLP's output, its bias included, before residual and LayerNorm."""
    last: Tensor | None = None
    """What the last layer puts out."""

    def states(self, layer: int) -> Tensor:
        """What a layer puts out; 0 is the embeddings'."""
        if layer < len(self.inputs):
            return self.inputs[layer]
        assert self.last is not None
        return self.last

    @property
    def all(self) -> list[Tensor]:
        assert self.last is not None
        return [*self.inputs, self.last, *self.contexts, *self.mlps]


class Recorder(Tap):
    """Keeps the activations of the latest pass."""

    def __init__(self, *, gradients: bool = False) -> None:
        self.activations, self._gradients = Activations(), gradients
        self._embeddings: Tensor | None = None

    def run(self, asked: ModelOutput, batch: RowBatch, embeddings: Tensor | None = None) -> Any:
        """What the model says of a batch, with other embeddings if there are any."""
        self._embeddings = embeddings
        try:
            return asked.run(batch)
        finally:
            self._embeddings = None

    def on_start(self, inputs: Mapping[str, Any]) -> None:
        self.activations = Activations()

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        if layer == 0:
            inputs = inputs if self._embeddings is None else self._embeddings
            inputs = inputs.detach().requires_grad_() if self._gradients else inputs
        self.activations.inputs.append(inputs)
        return inputs

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        self.activations.contexts.append(context)
        return context

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        self.activations.mlps.append(output)
        return output

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        self.activations.last = after
        return after


@contextmanager
def recording(encoder: Encoder, *, gradients: bool = False) -> Iterator[Recorder]:
    """Keep the activations of each pass in the block; with the graph that leads to them, if gradients are wanted."""
    recorder = Recorder(gradients=gradients)
    with tapped(encoder, recorder):
        yield recorder
