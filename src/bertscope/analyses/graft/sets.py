"""Sets of weights that are exchanged together, and a tuned model that lends and borrows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.core.predictions import Judged
from bertscope.core.units import Unit, every
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.grafting import Place, Weights, on_the_way, permuted_change, weights_of_base
from bertscope.models.judge import judge_each
from bertscope.models.replay import TemporaryChange
from bertscope.models.taps import Tap, tapped


@dataclass(frozen=True)
class Part:
    """Some weights that are exchanged together."""

    kind: str
    name: str
    places: Sequence[Place]
    layer: int | None = None
    head: int | None = None


def parts_of(weights: Weights, kind: str) -> list[Part]:
    """Sets of weights of a kind. Where one block serves many layers, there is nothing to exchange layer by layer."""
    encoder, layers = weights.encoder, range(weights.encoder.n_layers)
    if kind == "kind":
        kinds = ("embeddings", "attention", "mlp", "norm")
        return [Part(kind, each, weights.of(kinds=[each])) for each in kinds]  # type: ignore[list-item]
    if encoder.shares_blocks:
        return []
    if kind == "head":
        heads = every("head", encoder.head_counts)
        return [Part(kind, str(head), weights.of_head(head), head.layer, head.number) for head in heads]
    places = {
        "layer": lambda at: weights.of(layers=[at]),
        "attention": lambda at: weights.of_layer(at, "attention"),
        "mlp": lambda at: weights.of_layer(at, "mlp"),
        "bottom_up": lambda at: weights.of(layers=range(at + 1), outside="embeddings"),
        "top_down": lambda at: weights.of(layers=layers[at:], outside="norm"),
    }[kind]
    numbers = [Unit.at("layer", at).layer for at in layers]
    return [Part(kind, f"{kind}:{number}", places(at), number) for at, number in zip(layers, numbers, strict=True)]


class Grafts:
    """A tuned model and the weights of its base."""

    def __init__(self, model: Encoder, base: Encoder) -> None:
        self.model, self.weights = model, Weights(model)
        self.base = weights_of_base(self.weights, base)
        self.tuned = {name: parameter.data for name, parameter in self.weights.parameters.items()}
        self._all = [Place(name) for name in self.tuned]

    def from_tuned(self, parts: Sequence[Part]) -> list[TemporaryChange]:
        return [self.weights.lent(part.places, self.tuned.__getitem__) for part in parts]

    def from_base(self, parts: Sequence[Part]) -> list[TemporaryChange]:
        return [self.weights.lent(part.places, self.base.__getitem__) for part in parts]

    def along(self, way: np.ndarray) -> list[TemporaryChange]:
        return [self.weights.lent(self._all, on_the_way(self.base, self.tuned, float(share))) for share in way]

    def permuted(self, part: Part, draws: int, seed: int) -> list[TemporaryChange]:
        drawn = (permuted_change(self.base, self.tuned, seed + 1 + draw) for draw in range(draws))
        return [self.weights.lent(part.places, values) for values in drawn]

    def judged(self, task: Task, into: str, changes: Sequence[TemporaryChange]) -> Judged:
        """The test set scored by the base under the tuned task head, or the tuned model, and with each change."""
        nothing = self.weights.lent([], self.tuned.__getitem__)
        with self._as(into), tapped(self.model, Tap()):
            return judge_each(
                self.model, task.output, task.test, [nothing, *changes],
                doing=f"grafting {{parts}} parts into the {into} of {{model}}",
            )  # fmt: skip

    @contextmanager
    def _as(self, into: str) -> Iterator[None]:
        if into == "tuned":
            yield
            return
        with self.weights.lend(self._all, self.base.__getitem__):
            yield

    def moved(self, places: Sequence[Place]) -> float:
        """How far these weights moved, relative to how long they were."""
        pairs = [(_at(self.base[place.name], place), _at(self.tuned[place.name], place)) for place in places]
        far, long = (sum(float(each.double().square().sum()) for each in of) for of in (
            [tuned - base for base, tuned in pairs], [base for base, _ in pairs]))  # fmt: skip
        return float(np.sqrt(far / long)) if long else np.nan


def _at(tensor: Tensor, place: Place) -> Tensor:
    return (
        tensor if place.at is None else tensor.index_select(place.axis, torch.tensor(place.at, device=tensor.device))
    )
