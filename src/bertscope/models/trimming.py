"""Leaving only some heads and neurons in a block: rows and columns of its linear maps, and what counts them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bertscope.models.families import Family, descend

_KEPT = "bertscope_kept_heads"


def kept_heads(attention: nn.Module) -> list[int] | None:
    """Which of its first heads (0-based) an attention module has left; None where a head doesn't need its place,
    because nothing outside the module is told apart by it."""
    return getattr(attention, _KEPT, None)


def trim(
    block: nn.Module, family: Family, head_size: int, heads: Sequence[int], neurons: Sequence[int], *, mlp: bool
) -> None:
    """Leave only these heads and neurons in a block (by 0-based index among those that it has)."""
    _trim_heads(block, family, head_size, heads)
    mlp_out = descend(block, family.mlp_out)
    for linear in family.maps(block, family.mlp_weights).values():
        keep(linear, rows=part_rows(linear, mlp_out.in_features, 1, neurons))
    keep(mlp_out, columns=neurons)
    if not mlp:
        mlp_out.bias = None  # a gate at 0 silences the bias too


def _trim_heads(block: nn.Module, family: Family, head_size: int, heads: Sequence[int]) -> None:
    attention, projection = descend(block, family.attention), descend(block, family.projection)
    before = projection.in_features // head_size
    if len(heads) == before:
        return
    for path, linear in family.maps(block, family.head_weights).items():
        if path not in family.shared_weights:
            keep(linear, rows=part_rows(linear, before, head_size, heads))
    if family.shared_weights or family.head_bias is not None:
        known = kept_heads(attention)
        setattr(attention, _KEPT, [head if known is None else known[head] for head in heads])
        if family.shared_weights:
            _trim_shared(block, family, head_size, heads)
        if family.head_bias is not None and known is None:
            attention.register_forward_pre_hook(_OwnBias(family.head_bias))
    keep(projection, columns=[head * head_size + place for head in heads for place in range(head_size)])
    counts = {"num_attention_heads": len(heads), "n_heads": len(heads), "all_head_size": len(heads) * head_size}
    for name, value in counts.items():
        if hasattr(attention, name):
            setattr(attention, name, value)
    if not heads:
        _leave_empty(attention, family)


def _leave_empty(attention: Any, family: Family) -> None:
    if hasattr(attention, "config"):
        # Fused attention over no heads at all crashes on a GPU in half precision; the plain form takes it.
        attention.config = copy.deepcopy(attention.config)
        attention.config._attn_implementation = "eager"
    elif family.attention_ends_at_heads:
        attention.forward = _no_heads  # DeBERTa divides by their number


def _no_heads(hidden_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, None]:
    return hidden_states[..., :0], None


def sharing(block: nn.Module, family: Family) -> list[int] | None:
    """Which of a layer's keys and values (0-based) each of its heads reads; None where each has its own."""
    attention, maps = descend(block, family.attention), family.maps(block, family.shared_weights)
    if not maps:
        return None
    first, together = next(iter(maps.values())), attention.num_key_value_groups
    heads = first.out_features // attention.head_dim * together
    return first.own if isinstance(first, SharedHeads) else [head // together for head in range(heads)]


def _trim_shared(block: nn.Module, family: Family, head_size: int, heads: Sequence[int]) -> None:
    """Leave only the keys and values that a head still reads, and give each head its own of them.

    The library repeats each for as many heads as every other; what is left may be shared by fewer heads than others.
    """
    before = sharing(block, family)
    assert before is not None
    left = sorted({before[head] for head in heads})
    own = [left.index(before[head]) for head in heads]
    descend(block, family.attention).num_key_value_groups = 1
    for path, linear in family.maps(block, family.shared_weights).items():
        keep(linear, rows=part_rows(linear, len(set(before)), head_size, left))
        above, _, name = path.rpartition(".")
        setattr(descend(block, above), name, SharedHeads(linear, own, head_size))


class SharedHeads(nn.Linear):
    """A map to the keys (or values) of a layer's heads, some of which share theirs."""

    def __init__(self, linear: nn.Linear, own: Sequence[int], head_size: int) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=False, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.own, self.head_size = list(own), head_size

    def reset_parameters(self) -> None:
        """Nothing: its weights are those of the map that it takes the place of."""

    def forward(self, states: Tensor) -> Tensor:
        apart = super().forward(states).unflatten(-1, (self.out_features // self.head_size, self.head_size))
        return apart.index_select(-2, torch.tensor(self.own, dtype=torch.long, device=apart.device)).flatten(-2)


class _OwnBias:
    """Before an attention that lost heads: of a bias that all layers share, the matrices of those that it has."""

    def __init__(self, argument: int) -> None:
        self._argument = argument

    def __call__(self, attention: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        bias = args[self._argument]
        own = torch.tensor(kept_heads(attention), dtype=torch.long, device=bias.device)
        return (*args[: self._argument], bias.index_select(1, own), *args[self._argument + 1 :])


def part_rows(linear: nn.Linear, parts: int, size: int, kept: Sequence[int]) -> list[int]:
    """The rows of these parts in a layer that has rows for each of them, once or several times."""
    width = parts * size
    starts = range(0, linear.out_features, width) if width else ()
    return [start + part * size + place for start in starts for part in kept for place in range(size)]


def keep(linear: nn.Linear, *, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> None:
    """Leave only these rows, or these columns, in a linear layer."""
    axis, wanted = (0, rows) if rows is not None else (1, columns)
    assert wanted is not None
    index = torch.tensor(list(wanted), dtype=torch.long, device=linear.weight.device)
    linear.weight = nn.Parameter(linear.weight.detach().index_select(axis, index), linear.weight.requires_grad)
    if axis == 0 and linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.detach()[index], linear.bias.requires_grad)
    linear.out_features, linear.in_features = linear.weight.shape
