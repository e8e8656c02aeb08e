"""Forward passes of which nothing is measured if a number gets lost in them: weights may be finite, and what comes
of them not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.models.evaluating import evaluating

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@contextmanager
def measuring(encoders: Sequence[Encoder]) -> Iterator[None]:
    """Run models in this block as they are measured (see `evaluating`), and refuse NaN and infinity: on a CPU after
    the batch, elsewhere at the end of the block, so that no batch waits for the last one."""
    with evaluating(encoders), ExitStack() as undo:
        watches = [_Watch(encoder, undo) for encoder in encoders]
        try:
            yield
        except Exception:
            for watch in watches:
                watch.refuse_lost()  # what broke may have broken for that
            raise
        for watch in watches:
            watch.refuse_lost()


def not_finite(name: str, where: str) -> UserError:
    """What is said of a model whose numbers get lost."""
    return UserError(
        f"{name} gives NaN or infinite values, {where}, though its weights are finite: nothing can be measured of "
        "it; copy the model again, or train it again with a lower learning rate"
    )


class _Watch:
    """Adds up what a model puts out: a sum is finite only if all of its terms are. What isn't finite inside,
    attention too, isn't finite in any layer above either; how far the first token got tells where it began."""

    def __init__(self, encoder: Encoder, undo: ExitStack) -> None:
        self._name, self._layers = encoder.name, encoder.n_layers
        self._sums: list[Tensor] = []
        """Of the pass that goes on: each layer's first tokens, all that the encoder puts out, all that is on top."""
        self._lost: Tensor | None = None
        """By the same places: NaN where a sum wasn't finite, else 0."""
        model, base = encoder.model, encoder.model.base_model
        hooks = [base.register_forward_pre_hook(self._start)]
        hooks += [block.register_forward_hook(self._after_layer) for block in dict.fromkeys(encoder.layers)]
        hooks.append(base.register_forward_hook(self._after_model))
        if model is not base:
            hooks.append(model.register_forward_hook(self._after_model))
        for hook in hooks:
            undo.callback(hook.remove)

    def refuse_lost(self) -> None:
        """Refuse if anything got lost so far."""
        self._note()
        if self._lost is not None:
            self._refuse(self._lost)

    def _start(self, *_: Any) -> None:
        self._note()

    def _after_layer(self, module: Any, args: Any, output: Any) -> None:
        # The first token reads all others in the next layer: it tells about where, and is little to add up.
        self._sums.append(_sum((output[0] if isinstance(output, tuple) else output)[:, 0]))

    def _after_model(self, module: Any, args: Any, output: Any) -> None:
        self._sums.append(torch.stack([_sum(each) for each in output.values() if isinstance(each, Tensor)]).sum())
        if _read_at_once(self._sums[-1]):
            self._refuse(torch.stack(self._sums))

    def _note(self) -> None:
        """Add what the latest pass lost to what is known."""
        if self._sums:
            lost = torch.stack(self._sums) * 0
            lost = torch.cat([lost, lost.new_zeros(self._layers + 2 - len(lost))])  # not every pass goes to the top
            self._lost = lost if self._lost is None else self._lost + lost
            self._sums = []

    def _refuse(self, sums: Tensor) -> None:
        finite = sums.isfinite().tolist()
        if not all(finite):
            layer = finite.index(False) + 1
            where = f"in layer {layer} at the latest" if layer <= self._layers else "in its last layer or behind it"
            raise not_finite(self._name, where)


def _sum(tensor: Tensor) -> Tensor:
    return tensor.detach().sum(dtype=torch.float32)


def _read_at_once(tensor: Tensor) -> bool:
    """Whether its value is there already; a GPU may still be at work on it, and would have to be waited for."""
    return tensor.device.type == "cpu"
