"""Which parts to cut: step by step, those that cost the loss least for what they save.

Each step asks anew how much the loss on the validation set feels every head, MLP and neuron (the gradient at its
gate, in the model as cut so far). From that come a few moves: some heads, some neurons, some of both, an MLP, any
layer. All are tried on the validation set, and the one that raises the loss least for what it saves is made. So heads
and neurons go only where that saves anything, and layers where it is better than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.analyses.gradients import Gradients, gate_gradients
from bertscope.core.errors import UserError
from bertscope.core.progress import progress
from bertscope.core.units import Unit, UnitKind
from bertscope.experiments.shrink.costs import Cost
from bertscope.models.judge import judge_without

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

_BUNDLE = 16  # neurons that go together, at most: products of odd sizes are slower than their size says
_CLOSEST = 3  # layers that are tried again before each move: those that were missed least when all were tried
_Names = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PartIndex:
    """What the parts of a model that was cut, and cut again, are called in the whole one."""

    layers: tuple[int, ...]
    """The number that each layer has in the whole model."""
    heads: _Names
    """Of each layer, its heads'."""
    neurons: _Names

    @classmethod
    def of(cls, encoder: Encoder) -> PartIndex:
        """Those of a model that counts as whole."""
        heads, neurons = (
            tuple(tuple(range(1, count + 1)) for count in counts)
            for counts in (encoder.head_counts, encoder.neuron_counts)
        )
        return cls(tuple(range(1, encoder.n_layers + 1)), heads, neurons)

    def original(self, unit: Unit) -> Unit:
        """A part of the cut model as a part of the whole one."""
        layer = self.layers[unit.layer_index]
        named = {"head": self.heads, "neuron": self.neurons}.get(unit.kind)
        return Unit(unit.kind, layer, None if named is None else named[unit.layer_index][unit.index])

    def without(self, units: Iterable[Unit]) -> PartIndex:
        """Once these parts of the cut model are cut too."""
        gone = set(units)
        stay = [at for at in range(len(self.layers)) if Unit.at("layer", at) not in gone]

        def left(kind: UnitKind, whole: UnitKind, names: _Names) -> _Names:
            return tuple(
                ()
                if Unit.at(whole, at) in gone
                else tuple(name for place, name in enumerate(names[at]) if Unit.at(kind, at, place) not in gone)
                for at in stay
            )

        layers = tuple(self.layers[at] for at in stay)
        return PartIndex(layers, left("head", "heads", self.heads), left("neuron", "mlp", self.neurons))


@dataclass(frozen=True)
class Move:
    """Parts that might go together, in the numbers of the model as cut so far."""

    kind: str
    units: tuple[Unit, ...]
    felt: float
    """How much the loss feels them, by their gates."""
    saved: float
    """What the model costs less without them."""


class Search:
    """A model that is cut further and further."""

    def __init__(
        self,
        encoder: Encoder,
        task: Task,
        examples: Examples,
        cost: Cost,
        *,
        step: float = 1 / 16,
        plain: bool = False,
        off: Iterable[Unit] = (),
    ) -> None:
        """`step` is the share of the whole model's cost that goes at a time; `off` is gone from the start; a `plain`
        search makes only cuts that leave all layers alike: whole layers, and as many neurons in each."""
        self.encoder, self.off = encoder, set[Unit]()
        """What is left, and what went, in the whole model's numbers."""
        self.task, self.examples, self.cost, self.plain = task, examples, cost, plain
        self.rows: list[dict[str, Any]] = []
        """What happened, step by step."""
        self.ways: list[frozenset[Unit]] = []
        """What was off after each step."""
        self._missed: dict[int, float] = {}
        """How much the loss rose without each layer, by its number in the whole model, when it was tried last."""
        self._index = PartIndex.of(encoder)
        self._step = step * cost.of(encoder)
        if off := tuple(off):
            self._cut(off)

    @property
    def now(self) -> float:
        """What the model costs by now."""
        return self.cost.of(self.encoder)

    @property
    def least(self) -> float:
        """What the smallest model that a search can come to costs."""
        return self.cost.total(1, self.encoder.n_heads, 1) if self.plain else self.cost.total(1, 1, 0)

    def to(self, goal: float) -> None:
        """Go on until the model costs no more than `goal`."""
        with progress(f"searching what {self.encoder.name} can do without", self._steps_to(goal)) as bar:
            while self.now > goal:
                if not self.advance(goal):
                    raise UserError("nothing is left that could go, and more would have to; ask for less")
                bar.advance(1, **{self.task.metric: f"{self.rows[-1]['score']:.3f}"})

    def advance(self, goal: float = 0.0) -> bool:
        """Make one move, towards a model that costs `goal`; False if there is none left."""
        wanted = min(self._step, self.now - goal)
        moves = [move for move in self._moves(wanted) if move.saved > 0]
        if not moves:
            return False
        tried = self._tried(moves)
        loss = tried.losses.mean(-1) / self.task.loss_scale
        rise = loss[1:] - loss[0]
        # What goes beyond the goal is worth nothing: towards the end small moves win.
        best = int(np.argmin(rise / [min(move.saved, wanted) for move in moves]))
        self._remember(moves, rise, best)
        self._cut(moves[best].units)
        score = self.task.value(tried.moments[1 + best].mean(0))
        self.rows.append(
            {"step": len(self.rows) + 1, "move": moves[best].kind, "parts": len(moves[best].units)}
            | self._left()
            | {"cost": self.now, "loss": float(loss[1 + best]), "score": float(score)}
        )
        self.ways.append(frozenset(self.off))
        return True

    def _tried(self, moves: Sequence[Move]) -> Judged:
        """The examples scored without any move and with each."""
        sets = [(), *(move.units for move in moves)]
        return judge_without(self.encoder, self.task.output, self.examples, sets)

    def _remember(self, moves: Sequence[Move], rise: np.ndarray, best: int) -> None:
        """Keep what the layers were worth; once one is gone, all are to be tried again."""
        tried = zip(moves, rise, strict=True)
        found = {self._index.original(move.units[0]).layer: float(by) for move, by in tried if move.kind == "layer"}
        self._missed = {} if moves[best].kind == "layer" else self._missed | found

    def _steps_to(self, goal: float) -> int:
        return max(1, math.ceil((self.now - goal) / self._step))

    def _left(self) -> dict[str, int]:
        encoder = self.encoder
        counts = {"heads": sum(encoder.head_counts), "neurons": sum(encoder.neuron_counts)}
        return {"layers": encoder.n_layers} | counts

    def _cut(self, units: Sequence[Unit]) -> None:
        self.off |= {self._index.original(unit) for unit in units}
        self.encoder = self.encoder.cut(units)
        self._index = self._index.without(units)

    def _moves(self, wanted: float) -> Iterator[Move]:
        felt = gate_gradients(self.encoder, self.task, self.examples, neurons=True)
        if self.plain:
            yield self._even(felt, wanted)
        else:
            heads, neurons = list(self._heads(felt)), list(self._bundles(felt))
            alone = [_cheapest("heads", heads, wanted), _cheapest("neurons", neurons, wanted)]
            both = _cheapest("heads_and_neurons", [*heads, *neurons], wanted)
            yield from alone
            if both.units not in [move.units for move in alone]:
                yield both
            yield from self._least_mlp(felt)
        if self.encoder.n_layers > 1:
            yield from self._layers()

    def _heads(self, felt: Gradients) -> Iterator[Move]:
        """Every head but the one that is felt most: without any, no token would know of another."""
        if not any(self.encoder.head_counts):
            return
        last = np.unravel_index(np.nanargmax(felt.heads), felt.heads.shape)
        for layer, count in enumerate(self.encoder.head_counts):
            for head in range(count):
                if (layer, head) != last:
                    feels = float(felt.heads[layer, head])
                    yield Move("heads", (Unit.at("head", layer, head),), feels, self.cost.head)

    def _bundles(self, felt: Gradients) -> Iterator[Move]:
        """A layer's neurons from the least felt to the most, some at a time."""
        assert felt.neurons is not None
        for layer, each in enumerate(felt.neurons):
            order = np.argsort(each, kind="stable")
            for start in range(0, len(order), _BUNDLE):
                some = order[start : start + _BUNDLE]
                units = tuple(Unit.at("neuron", layer, int(neuron)) for neuron in some)
                yield Move("neurons", units, float(each[some].sum()), self.cost.neuron * len(some))

    def _least_mlp(self, felt: Gradients) -> Iterator[Move]:
        """The MLP that is felt least, whole."""
        if not np.isnan(felt.mlps).all():
            least = int(np.nanargmin(felt.mlps))
            saved = self.cost.neuron * self.encoder.neuron_counts[least]
            yield Move("mlp", (Unit.at("mlp", least),), float(felt.mlps[least]), saved)

    def _layers(self) -> Iterator[Move]:
        """Each layer that can go but one that has all heads; after the first time, those that were missed least. How
        much they are needed is measured."""
        stays = self.encoder.family.first_stays(vars(self.encoder.model.config))
        every = sum(self.encoder.head_counts)
        counts = zip(self._index.layers, self.encoder.head_counts, self.encoder.neuron_counts, strict=True)
        closest = sorted(self._missed, key=self._missed.__getitem__)[:_CLOSEST]
        for at, (layer, heads, neurons) in enumerate(counts):
            if stays and layer == 1:
                continue
            if (heads < every or not every) and (not closest or layer in closest):
                saved = self.cost.layer + self.cost.head * heads + self.cost.neuron * neurons
                yield Move("layer", (Unit.at("layer", at),), float("nan"), saved)

    def _even(self, felt: Gradients, wanted: float) -> Move:
        """The least felt neurons, as many in each layer; some stay in each."""
        assert felt.neurons is not None
        most = min(self.encoder.neuron_counts) - 1
        each = self.cost.neuron * self.encoder.n_layers or math.inf
        count = min(most, _BUNDLE * math.ceil(wanted / each / _BUNDLE))
        layers = [np.argsort(values, kind="stable")[:count] for values in felt.neurons]
        units = [Unit.at("neuron", layer, int(place)) for layer, some in enumerate(layers) for place in some]
        return Move("neurons", tuple(units), float("nan"), self.cost.neuron * len(units))


def _cheapest(kind: str, pieces: Iterable[Move], wanted: float) -> Move:
    """The pieces that are felt least for what they save, until they save what is wanted."""
    units: list[Unit] = []
    felt = saved = 0.0
    for piece in sorted((piece for piece in pieces if piece.saved > 0), key=lambda piece: piece.felt / piece.saved):
        if saved >= wanted:
            break
        units += piece.units
        felt, saved = felt + piece.felt, saved + piece.saved
    return Move(kind, tuple(units), felt, saved)
