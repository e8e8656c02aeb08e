"""What readers add up over batches. On a CPU it is NumPy's; on a GPU it stays there until somebody reads it, so that
no batch waits for the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.memory_mapped import memory_mapped
from bertscope.core.resampling import POISSON, Resampling, Totals
from bertscope.models.sending import sent


def kept(values: Tensor) -> np.ndarray | Tensor:
    """As it is added up: an array on a CPU, else the tensor."""
    return values.numpy() if _place_of(values) == "cpu" else values


def _place_of(values: Tensor) -> str:
    return values.device.type


class MapResampling(Resampling):
    """Adds up what is on a device there."""

    def __init__(self, ids: Sequence[str], *, repeats: int = 1000, seed: int = 0) -> None:
        super().__init__(ids, repeats=repeats, seed=seed, product=_product)

    def totals(self, sums: Any, counts: Any) -> tuple[Totals, Totals]:
        if not isinstance(sums, Tensor):
            return super().totals(sums, counts)
        precision = torch.float32 if sums.dtype == torch.float32 else torch.float64
        of_sums, of_counts = (DeviceTotals(self, one.shape[1:], precision, sums.device) for one in (sums, counts))
        return of_sums, of_counts


class DeviceTotals:
    """Each resample's sums of some numbers, on a device: there is room for the totals of all resamples, and a product
    is added to them at once."""

    def __init__(
        self, resampling: Resampling, shape: Sequence[int], precision: torch.dtype, device: torch.device
    ) -> None:
        self._resampling, self._shape, self._precision, self._device = resampling, shape, precision, device
        self._totals = torch.zeros(1 + resampling.repeats, prod(shape), dtype=torch.float64, device=device)

    @torch.inference_mode()
    def add(self, rows: np.ndarray, values: np.ndarray | Tensor) -> None:
        flat = sent(values, self._device).reshape(len(rows), -1).to(self._precision)
        keys = self._resampling.keys[rows].tobytes()
        weights = device_weights(keys, self._resampling.repeats, self._device).to(self._precision)
        self._totals += weights @ flat

    def settle(self) -> None:
        """Nothing waits."""

    def add_totals(self, totals: np.ndarray) -> None:
        self._totals = self._totals + sent(totals.reshape(self._totals.shape), self._device)

    @property
    def draws(self) -> np.ndarray:
        return self._totals.cpu().numpy().reshape(-1, *self._shape)


class RunningSum:
    """A sum over batches, in double precision."""

    def __init__(self) -> None:
        self._sum: Tensor | None = None

    def add(self, values: Tensor) -> None:
        self._sum = values.double() if self._sum is None else self._sum + values.double()

    def merge(self, values: np.ndarray) -> None:
        """Take in the sum of others, if they have one."""
        if values.ndim:
            self.add(sent(values, "cpu" if self._sum is None else self._sum.device))

    @property
    def value(self) -> np.ndarray:
        """0 where nothing was added."""
        return np.zeros(()) if self._sum is None else self._sum.cpu().numpy()


class KeptRows:
    """Numbers of each of many things, which come in any order."""

    def __init__(self, shape: Sequence[int], dtype: Any, device: torch.device) -> None:
        if device.type == "cpu":
            self._rows = torch.from_numpy(memory_mapped(shape, dtype))
        else:
            self._rows = torch.from_numpy(np.zeros(0, dtype)).new_zeros(*shape, device=device)
        self._array: np.ndarray | None = None

    def add(self, at: Tensor, values: Tensor) -> None:
        """Add to the rows `at`, of which each is there once."""
        self._rows.index_add_(0, at, values)
        self._array = None

    def put(self, at: Tensor, values: Tensor) -> None:
        self._rows[at] = values
        self._array = None

    def merge(self, at: np.ndarray, values: np.ndarray) -> None:
        """Add what others have of the rows `at`."""
        self.add(sent(at, self._rows.device), sent(values, self._rows.device))

    @property
    def array(self) -> np.ndarray:
        if self._array is None:
            self._array = self._rows.cpu().numpy()
        return self._array


def packed_bits(bits: Tensor) -> Tensor:
    """[row, byte] of [row, bit], as NumPy packs them: the first bit is the highest."""
    if _place_of(bits) == "cpu":
        return torch.from_numpy(np.packbits(bits.numpy(), axis=1))
    of_bytes = torch.nn.functional.pad(bits.to(torch.uint8), (0, -bits.shape[1] % 8)).unflatten(1, (-1, 8))
    return (of_bytes << torch.arange(7, -1, -1, device=bits.device, dtype=torch.uint8)).sum(-1, dtype=torch.uint8)


@lru_cache(maxsize=1)
@torch.inference_mode()
def device_weights(keys: bytes, repeats: int, device: torch.device) -> Tensor:
    """`Resampling.weights`, computed on the device. Many quantities ask for the same, one after the other."""
    numbers = sent(np.frombuffer(keys, np.int64).copy(), device)
    hashes = mixed(numbers, torch.arange(1, repeats + 1, device=device)[:, None])
    uniform = _shifted(hashes, 11).double() * 2.0**-53
    drawn = torch.bucketize(uniform, sent(POISSON, device), right=True)
    return torch.cat([drawn.new_ones(1, len(numbers)), drawn]).float()


def mixed(key: Tensor, number: Tensor) -> Tensor:
    """`core.hashing.mixed` of whole numbers of 64 bits: torch has a sign where NumPy has none, and the same bits."""
    z = key + (number + 1) * _signed(0x9E3779B97F4A7C15)
    z = (z ^ _shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shifted(z, 31)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _shifted(values: Tensor, bits: int) -> Tensor:
    """Shifted right, zeros coming in from the left."""
    return (values >> bits) & (2 ** (64 - bits) - 1)


def _product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """A product of matrices by torch, whose threads would be in the way of NumPy's (see `read_maps`)."""
    return (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()
