"""How the package gets at attention: taps on every layer of a model, for the length of a `with` block.

transformers looks its attention function up by name, so while a tap is open the model's attention is the function
below. It computes what the library computes, fused where nobody wants the maps, and lets each tap read the maps and
read or replace the heads' outputs before they are projected. When the last tap closes, the model is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_NAME = "bertscope"
_SITE = "_bertscope_site"


class Tap:
    """What may be done at each layer's attention. Layers are 0-based here, as modules are."""

    wants_maps = False

    def on_maps(self, layer: int, maps: Tensor) -> None:
        """Called with the attention maps [batch, head, query, key], if `wants_maps`."""

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Called with the heads' outputs [batch, query, head, d]; what it returns is used instead.

        `value` is [batch, head, key, d]; `mask` is added to the scores ([batch, 1, query, key]) or None.
        """
        return context


@dataclass
class _Site:
    """What the attention function needs to know about the module it is called for."""

    layer: int
    taps: list[Tap]
    untapped: str
    """The model's own attention implementation, to go back to."""


@contextmanager
def tapped(encoder: Encoder, tap: Tap) -> Iterator[None]:
    """Open `tap` on every layer of the encoder. Taps nest: each sees what those opened before it left."""
    first = encoder.attentions[0]
    opens = not hasattr(first, _SITE)
    if opens:
        _open(encoder)
    taps = getattr(first, _SITE).taps
    taps.append(tap)
    try:
        yield
    finally:
        taps.remove(tap)
        if opens:
            _close(encoder)


def _open(encoder: Encoder) -> None:
    AttentionInterface.register(_NAME, _attention)
    AttentionMaskInterface.register(_NAME, eager_mask)  # padding arrives as a mask that is added to the scores
    taps: list[Tap] = []
    untapped = encoder.model.config._attn_implementation
    for layer, module in enumerate(encoder.attentions):
        setattr(module, _SITE, _Site(layer, taps, untapped))
    encoder.model.set_attn_implementation(_NAME)


def _close(encoder: Encoder) -> None:
    encoder.model.set_attn_implementation(getattr(encoder.attentions[0], _SITE).untapped)
    for module in encoder.attentions:
        delattr(module, _SITE)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    site: _Site = getattr(module, _SITE)
    maps = None
    if kwargs.get("output_attentions") or any(tap.wants_maps for tap in site.taps):
        scores = query @ key.transpose(-1, -2) * (scaling or query.shape[-1] ** -0.5)
        maps = torch.softmax(scores if attention_mask is None else scores + attention_mask, dim=-1)
        for tap in site.taps:
            if tap.wants_maps:
                tap.on_maps(site.layer, maps)
        context = (nn.functional.dropout(maps, dropout, module.training) @ value).transpose(1, 2)
    else:
        context, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, is_causal=False
        )
    for tap in site.taps:
        context = tap.on_context(site.layer, context, value, attention_mask)
    return context.contiguous(), maps
