"""What stands in the place of words' embeddings while a model reads: their own, [MASK]'s, or anything between."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from bertscope.core.errors import UserError

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass
class EmbeddingPath:
    """What stands in the place of words' embeddings while a batch is read."""

    mask: Tensor
    """[d]: [MASK]'s embedding."""
    share: Tensor | None = None
    """[row, token, 1]: how far each is from [MASK]'s (0) to its own (1); None leaves all as they are."""
    differentiable: bool = False
    words: Tensor | None = None
    """[row, token, d]: the words' own embeddings, as they came."""
    given: Tensor | None = None
    """[row, token, d]: what was put in their place, of which gradients can be had."""

    def read(self, share: Tensor | None = None, *, differentiable: bool = False) -> None:
        """What the next passes read: see `share`; gradients can be had if they are `differentiable`."""
        self.share, self.differentiable = share, differentiable

    def gradient_of(self, quantity: Tensor, *, retain: bool = False) -> Tensor:
        """[row, token]: the gradient of the sum at what was read last, times (word - [MASK]); added up in double."""
        assert self.given is not None and self.words is not None
        (found,) = torch.autograd.grad(quantity.sum(), self.given, retain_graph=retain, materialize_grads=True)
        return (found.double() * (self.words - self.mask).double()).sum(-1)

    def _hook(self, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        own = output.detach()
        found = own if self.share is None else torch.lerp(self.mask.expand_as(own), own, self.share.to(own.dtype))
        if self.differentiable:
            found = found.clone().requires_grad_()
        self.words, self.given = own, found
        return found


@contextmanager
def embedding_path(encoder: Encoder) -> Iterator[EmbeddingPath]:
    """Let a path decide what the model reads in the place of words."""
    place = encoder.tokenizer.mask_token_id
    if place is None:
        raise UserError(
            f"the tokenizer of {encoder.name} has no mask token, and words are explained by masking them; "
            "give a model that has one, or set tokenizer.mask_token"
        )
    embeddings = encoder.model.get_input_embeddings()
    with torch.no_grad():
        path = EmbeddingPath(embeddings(torch.tensor([[place]], device=encoder.device))[0, 0].detach())
    hook = embeddings.register_forward_hook(path._hook)
    try:
        yield path
    finally:
        hook.remove()
