"""`change`: the maps of two checkpoints, compared head by head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.attention.joined import joined, of_encoders
from bertscope.analyses.attention.kept import MapResampling, kept
from bertscope.analyses.attention.maps import LayerMaps, entropy, inner
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.view import View
from bertscope.analyses.change.question import ChangeConfig
from bertscope.analyses.change.result import change_result
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.net import shipped
from bertscope.analyses.side_by_side import subject
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import records
from bertscope.core.resampling import RunningMean
from bertscope.core.sums import Sums
from bertscope.models.encoder import Encoder


def part(before: Encoder, after: Encoder, examples: Examples, config: ChangeConfig) -> PassPart:
    _refuse_other_shapes(before, after)
    net = shipped(before.device)["both"]
    reader = ChangeReader(
        examples.ids, before.head_counts, repeats=config.repeats, seed=config.seed,
        classify=lambda maps: net(features(maps)).argmax(-1), classes=CLASSES,
    )  # fmt: skip
    about = subject(examples, weighted=config.weighted)
    models = records([before, after])
    finish = partial(change_result, reader, models=models, subject=about, notes=examples.notes)
    return PassPart([before, after], examples, reader, finish, weighted=config.weighted)


def _refuse_other_shapes(before: Encoder, after: Encoder) -> None:
    if before.n_layers != after.n_layers:
        raise UserError(
            f"{before.name} has {before.n_layers} layers and {after.name} {after.n_layers}: their heads don't "
            "correspond; choose two checkpoints of one model"
        )
    for layer, (one, other) in enumerate(zip(before.head_counts, after.head_counts, strict=True), start=1):
        if one != other:
            raise UserError(
                f"layer {layer} of {before.name} has {one} heads, of {after.name} {other}: they don't correspond; "
                "choose two checkpoints of one model, both whole"
            )


class ChangeReader:
    """Compares two encoders' maps, the one before and the one after, which have the same heads.

    classify   gives each map of a layer its class: [row, head], numbers of `classes`. With it, the reader also keeps
               how many maps go from each class before to each class after.
    """

    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        ids: Sequence[str],
        head_counts: Sequence[int],
        *,
        repeats: int = 1000,
        seed: int = 0,
        classify: Callable[[LayerMaps], Tensor] | None = None,
        classes: Sequence[str] = (),
    ) -> None:
        self.resampling = MapResampling(ids, repeats=repeats, seed=seed)
        self.head_counts, self._classify, self.classes = list(head_counts), classify, list(classes)
        self.heads = RunningMean(self.resampling)
        """[head of all layers, measure]."""
        self.moves = RunningMean(self.resampling)
        """[layer, class before x class after]."""

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if layer == 0:
            self._found: list[Tensor] = []
            self._moved: list[Tensor] = []
        before, after = maps
        for one in joined(maps):  # both at once, where that can be
            _ = one.squares, one.entropy
        cosine = inner(before.flat, after.flat) / torch.sqrt(before.squares * after.squares)
        apart = entropy(view, before.flat, after.flat) - (before.entropy + after.entropy) / 2
        self._found.append(torch.stack([cosine, apart.clamp_min(0)], -1))
        if self._classify is not None:
            n = len(self.classes)
            classes = [self._classify(one) for one in joined(maps)]
            of_before, of_after = of_encoders(maps, classes, heads=1)
            move = of_before * n + of_after
            named = torch.nn.functional.one_hot(move, n * n)
            self._moved += [named[:, heads].sum(1) for heads in before.layers]
        if layer + len(before.layers) == view.n_layers:
            self._take(view.rows)

    def _take(self, rows: np.ndarray) -> None:
        """Take in what the layers of a batch showed."""
        found = torch.cat(self._found, 1)
        known = ~found[..., 0].isnan()  # a head that moves nothing has no norm-weighted attention
        self.heads.add(rows, kept(torch.where(known[..., None], found, 0)), kept(known))
        if self._moved:
            moved = torch.stack(self._moved, 1)
            self.moves.add(rows, kept(moved), kept(moved.sum(-1)))
        del self._found, self._moved

    def sums(self, first: int = 0) -> Sums:
        return Sums.of({"heads": self.heads.sums(), "moves": self.moves.sums()})

    def merge(self, other: Sums) -> None:
        self.heads.merge(other.part("heads"))
        self.moves.merge(other.part("moves"))
