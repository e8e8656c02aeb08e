"""Parts of an encoder that a training leaves as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile

from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.models.encoder import Encoder
from bertscope.models.families import descend


@contextmanager
def frozen(encoder: Encoder, which: Layers) -> Iterator[int]:
    """Hold these parts still inside the block: they need no gradient, and no graph leads to what is under the lowest
    trained one.

    Yields how many layers, counted from the first, have nothing trained in or under them. The pooler is the
    classifier's, also where the family's code has it in the encoder: it may have been drawn anew. So is a parser.
    """
    still = [parameter for parameter in _parameters(encoder, which) if parameter.requires_grad]
    for parameter in still:
        parameter.requires_grad_(False)
    try:
        yield _settled(encoder, which)
    finally:
        for parameter in still:
            parameter.requires_grad_(True)


def rest(model: nn.Module) -> None:
    """Put the modules of which nothing is trained in the state of inference, dropout included."""
    for module in model.modules():
        parameters = list(module.parameters())
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            module.eval()


def by_rate(encoder: Encoder, trained: list[nn.Parameter], head_rate: float) -> dict[float, list[nn.Parameter]]:
    """What is trained, by the multiple of the learning rate that it learns at: the encoder, and what is on top of it,
    which is all that `frozen="encoder"` leaves to be trained."""
    if head_rate == 1:
        return {1.0: trained}
    below = {id(parameter) for parameter in _parameters(encoder, Layers.parse("encoder"))}
    parts = {
        1.0: [parameter for parameter in trained if id(parameter) in below],
        head_rate: [parameter for parameter in trained if id(parameter) not in below],
    }
    if encoder.task_head == "none" or not parts[head_rate]:
        raise UserError(f"head-rate is {head_rate:g}, but {encoder.name} has no head that is trained; leave it out")
    return {times: some for times, some in parts.items() if some}


def _settled(encoder: Encoder, which: Layers) -> int:
    if which.whole:
        return encoder.n_layers
    if not which.embeddings:
        return 0
    return len(list(takewhile(which.numbers.__contains__, range(1, encoder.n_layers + 1))))


def _parameters(encoder: Encoder, which: Layers) -> list[nn.Parameter]:
    which.within(encoder.n_layers)
    encoder.family.refuse_holding(which.numbers, encoder.n_layers, len(set(encoder.layers)), encoder.name)
    base, family = encoder.model.base_model, encoder.family
    blocks = dict.fromkeys(encoder.layers)  # a shared one once
    chosen = [block for number, block in enumerate(encoder.layers, 1) if number in which.numbers]
    closing = [descend(base, family.closing)] if family.closing else []
    on_top = [module for name in ("pooler", "parser") if (module := getattr(base, name, None)) is not None]
    apart = {id(parameter) for module in (*blocks, *closing, *on_top) for parameter in module.parameters()}
    if which.whole:
        chosen = [*blocks, *closing]
    held = [parameter for module in dict.fromkeys(chosen) for parameter in module.parameters()]
    if which.whole or which.embeddings:
        held += [parameter for parameter in base.parameters() if id(parameter) not in apart]
    return held
