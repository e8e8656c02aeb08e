"""Linear shortcuts: for each layer the affine map from its states that comes nearest to the last layer's states.

Ridge regression, from sums over tokens alone: of training texts for the maps, of validation texts for the penalty.
Texts are read once, for all layers and all penalties, and nothing is kept of them but the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed, to_unit
from bertscope.core.progress import progress
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.layer_states import layer_states
from bertscope.models.outputs.base import ModelOutput, RowBatch

PENALTIES = tuple(10.0**power for power in range(-6, 4))
"""Times the mean variance of a layer's states, times the number of tokens."""
_OF_A_ROW = 16
"""Tokens of a row that are looked at, where more are read: those of one text are much alike."""
_TOGETHER = 1024
"""Tokens whose targets are permuted, and that are added up, at a time."""
_ROUNDING = 1e-12
"""Of the mean square of states in single precision: a direction that varies less holds nothing but rounding."""


@dataclass(frozen=True)
class Shortcut:
    """An affine map from a layer's states to the last ones."""

    centre: Tensor
    weight: Tensor
    offset: Tensor
    penalty: float
    """The one of `PENALTIES` that was chosen."""
    explained: float
    """The share of the variance of validation's last states that it explains; NaN where they don't vary."""

    def __call__(self, states: Tensor) -> Tensor:
        return (states - self.centre.to(states)) @ self.weight.to(states) + self.offset.to(states)


class Sums:
    """What ridge regression needs of states x [token, d] of some layers and of targets y [token, d] of some kinds, in
    double precision."""

    def __init__(self, layers: int, kinds: int, size: int, device: torch.device | str = "cpu") -> None:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.double, device=device)

        self.n, self.size = 0, size
        self.x, self.xx, self.xy = zeros(layers, size), zeros(layers, size, size), zeros(layers, size, kinds * size)
        self.y, self.yy = zeros(kinds, size), zeros(kinds)

    def add(self, states: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
        y = torch.stack([each.double() for each in targets])
        side_by_side = torch.cat([*y], -1)
        for layer, x in enumerate(each.double() for each in states):
            self.x[layer] += x.sum(0)
            self.xx[layer] += x.T @ x
            self.xy[layer] += x.T @ side_by_side
        self.y += y.sum(1)
        self.yy += y.square().sum((1, 2))
        self.n += len(y[0])

    def around(self, layer: int, kind: int, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sums of squares and products of what lies around these middles: of states, of states and targets, of
        targets."""
        kinds = slice(kind * self.size, (kind + 1) * self.size)
        own_x, own_y, n = self.x[layer], self.y[kind], self.n
        xx = self.xx[layer] - torch.outer(own_x, x) - torch.outer(x, own_x) + n * torch.outer(x, x)
        xy = self.xy[layer][:, kinds] - torch.outer(own_x, y) - torch.outer(x, own_y) + n * torch.outer(x, y)
        return xx, xy, self.yy[kind] - 2 * own_y @ y + n * y @ y


def shortcut(train: Sums, held: Sums, layer: int, kind: int = 0, penalties: Sequence[float] = PENALTIES) -> Shortcut:
    """Ridge regression with a free constant, of the penalty whose squared error on what is held out is least."""
    x, y = train.x[layer] / train.n, train.y[kind] / train.n
    xx, xy, _ = train.around(layer, kind, x, y)
    square = float(train.xx[layer].diagonal().mean())
    values, axes = torch.linalg.eigh(xx)
    counts = values > _ROUNDING * square
    along, scale = (axes.T @ xy) * counts[:, None], values.clamp_min(0).mean()
    held_xx, held_xy, held_yy = held.around(layer, kind, x, y)
    held_xx, held_xy = axes.T @ held_xx @ axes, axes.T @ held_xy
    best, least = along * 0, torch.inf
    chosen = penalties[-1]
    for penalty in penalties:
        weight = along / (values + penalty * scale).where(counts, 1.0)[:, None]
        error = float(held_yy + (weight * (held_xx @ weight - 2 * held_xy)).sum())
        if error < least:
            best, least, chosen = weight, error, penalty
    own_y = held.y[kind]
    varies = float(held.yy[kind] - own_y @ own_y / held.n)
    explained = 1 - least / varies if varies > _ROUNDING * float(held.yy[kind]) else float("nan")
    return Shortcut(x, axes @ best, y, chosen, explained)


@dataclass(frozen=True)
class Shortcuts:
    """For each layer below the last, from the embeddings (0) on."""

    own: tuple[Shortcut, ...]
    permuted: tuple[Shortcut, ...] = ()
    """Fitted to last states of other tokens."""
    random: tuple[Shortcut, ...] = ()
    """From the states of a model with random weights to this one's last states."""
    tokens: int = 0
    """How many tokens they are fitted on."""


def fit_shortcuts(
    asked: ModelOutput, train: Examples, held: Examples, *, random: Encoder | None = None, seed: int = 0
) -> Shortcuts | None:
    """At the tokens that the task head reads; with the controls where a `random` model is given. None where the texts
    have no such tokens."""
    (own, of_random), (own_held, random_held) = (
        _sums(asked, examples, random, seed, f"fitting shortcuts: {name}")
        for examples, name in ((train, "train"), (held, "validation"))
    )
    if own.n < 2 or not own_held.n:
        return None
    layers = range(asked.encoder.n_layers)
    found = Shortcuts(tuple(shortcut(own, own_held, layer) for layer in layers), tokens=own.n)
    if of_random is None or random_held is None:
        return found
    return Shortcuts(
        found.own,
        tuple(shortcut(own, own_held, layer, 1) for layer in layers),
        tuple(shortcut(of_random, random_held, layer) for layer in layers),
        own.n,
    )


def _sums(
    asked: ModelOutput, examples: Examples, random: Encoder | None, seed: int, doing: str
) -> tuple[Sums, Sums | None]:
    """Those of the model's states, with its last states and permuted ones as targets, and those of a random
    model's."""
    encoder, keys = asked.encoder, hashed(examples.ids, seed)
    layers, size, device = encoder.n_layers, encoder.hidden_size, encoder.device
    own = Sums(layers, 1 if random is None else 2, size, device)
    of_random = None if random is None else Sums(layers, 1, size, device)
    waiting = _Waiting(own, of_random, seed)
    encoders = [encoder, *([random] if random is not None else [])]
    with ExitStack() as opened:
        opened.enter_context(measuring(encoders))
        opened.enter_context(torch.inference_mode())
        seen = [opened.enter_context(layer_states(one)) for one in encoders]
        opened.enter_context(asked.sparing())
        bar = opened.enter_context(progress(doing, len(examples)))
        for batch in asked.batches(examples):
            at = some_tokens(asked.read_tokens(batch), batch, keys)
            found = []
            for one, states in zip(encoders, seen, strict=True):
                one.model.base_model(**batch.inputs)
                found.append([each[at] for each in states.all()])
            waiting.add([each[:-1] for each in found], found[0][-1])
            bar.advance(len(batch.examples))
        waiting.settle()
    return own, of_random


def some_tokens(read: Tensor, batch: RowBatch, keys: np.ndarray) -> tuple[Tensor, Tensor]:
    """The rows and places of the tokens that are read, a few of each row: by a hash of its example, its own place and
    the token's. `keys` are those of all examples."""
    row = mixed(keys[batch.examples][batch.owner.cpu().numpy()], batch.rows.astype(np.uint64))
    luck = to_unit(mixed(row[:, None], np.arange(read.shape[1], dtype=np.uint64)))
    rank = np.where(read.cpu().numpy(), luck, 2.0).argsort(1).argsort(1)
    row_at, place = (read & torch.from_numpy(rank < _OF_A_ROW).to(read.device)).nonzero(as_tuple=True)
    return row_at, place


class _Waiting:
    """Tokens that wait until there are enough of them to be permuted."""

    def __init__(self, own: Sums, of_random: Sums | None, seed: int) -> None:
        self._sums = [own, *([of_random] if of_random is not None else [])]
        self._generator = torch.Generator().manual_seed(seed)
        self._kept: list[tuple[list[list[Tensor]], Tensor]] = []
        self._n = 0

    def add(self, states: list[list[Tensor]], last: Tensor) -> None:
        """Of each model the states of its layers [token, d], and the last states of the first."""
        self._kept.append((states, last))
        self._n += len(last)
        if self._n >= _TOGETHER:
            self.settle()

    def settle(self) -> None:
        permutes = len(self._sums) > 1
        if self._n > permutes:  # a single one can't be permuted
            last = torch.cat([each for _, each in self._kept])
            targets = [last, *([self._elsewhere(last)] if permutes else [])]
            for place, sums in enumerate(self._sums):
                layers = zip(*(states[place] for states, _ in self._kept), strict=True)
                sums.add([torch.cat(each) for each in layers], targets if place == 0 else targets[:1])
        self._kept, self._n = [], 0

    def _elsewhere(self, last: Tensor) -> Tensor:
        """The last states, each at another token: along one circle through all of them."""
        circle = torch.randperm(len(last), generator=self._generator).to(last.device)
        moved = torch.empty_like(last)
        moved[circle] = last[circle.roll(1)]
        return moved
