"""What heads and MLPs put out on texts, as a model reads them for a kind of output, shown batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.progress import progress
from bertscope.models.batches import Batch, batches
from bertscope.models.finite_pass import measuring
from bertscope.models.observe import Seen, default_budget, look
from bertscope.models.outputs.kinds import model_output

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_NEEDS = frozenset({"contexts", "mlps"})


def show_parts(
    encoder: Encoder, read: Iterable[Batch], take: Callable[[Batch, Seen], None], *, total: int, label: str
) -> None:
    """Let `take` have what heads and MLPs put out on each batch; `total` is how many rows there are about."""
    with measuring([encoder]), torch.inference_mode(), progress(label, total) as bar:
        for batch in read:
            take(batch, look(encoder, batch, _NEEDS))
            bar.advance(len(batch))


def as_read(encoder: Encoder, examples: Examples, output: Output | None) -> Iterator[Batch]:
    """The examples in batches, with the rows that the model reads for an output: windows, candidates, each of two
    texts that are compared; without one, a row each."""
    if not len(examples):
        raise UserError("there are no examples to read")
    if output is not None:
        return model_output(encoder, output).batches(examples)
    return batches(
        encoder.tokenizer, examples, max_length=encoder.max_length, tokens=default_budget(encoder),
        device=encoder.device,
    )  # fmt: skip


def real_tokens(inputs: Mapping[str, Any]) -> Tensor:
    """[row, token]: 1 for a token, 0 for padding, of what a model is called with."""
    real = inputs.get("attention_mask")
    if real is not None:
        return real.long()
    read = inputs.get("input_ids")
    read = inputs["inputs_embeds"][..., 0] if read is None else read
    return torch.ones_like(read, dtype=torch.long)


def places(real: Tensor) -> Tensor:
    """[row, token]: how many real tokens of its row stand before it, on whichever side the padding is."""
    return (real.cumsum(1) - 1).clamp_min(0)


def by_layer(encoder: Encoder, layers: list[Tensor]) -> Tensor:
    """What was found of each layer's heads [..., head, d] as one tensor [layer, ..., head, d]: in a cut model layers
    have different numbers of heads, and those that aren't there are 0."""
    *outer, _, size = layers[0].shape
    whole = layers[0].new_zeros(len(layers), *outer, encoder.n_heads, size)
    for target, found in zip(whole, layers, strict=True):
        target[..., : found.shape[-2], :] = found
    return whole
