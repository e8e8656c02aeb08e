"""`patterns`: what is taken from each batch of maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from bertscope.analyses.attention.joined import joined, of_encoders
from bertscope.analyses.attention.kept import MapResampling, kept
from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.attention.view import View
from bertscope.analyses.patterns.question import PatternsConfig
from bertscope.analyses.patterns.result import patterns_result
from bertscope.analyses.shapes import CLASSES, LABELS, Labels
from bertscope.analyses.shapes.decomposition import Parts, decompose
from bertscope.analyses.shapes.exemplars import Exemplars, tokens_of
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.net import shipped
from bertscope.analyses.shapes.own_labels import OwnLabels, need_enough
from bertscope.analyses.shapes.representative import RepresentativeMaps
from bertscope.analyses.side_by_side import side_by_side
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.prediction_powered import Labelled
from bertscope.core.resampling import RunningMean
from bertscope.core.sums import Sums
from bertscope.models.encoder import Encoder


def part(
    models: Sequence[Encoder], examples: Examples, config: PatternsConfig, labels: OwnLabels | None = None
) -> PassPart:
    checkpoints = side_by_side(models)
    labelled = LabelledCalls(labels, checkpoints, examples, config) if labels else None
    reader = PatternsReader(checkpoints, examples, config, labelled=labelled)
    return PassPart(models, examples, reader, partial(patterns_result, reader), weighted=config.weighted)


Classify = Callable[[LayerMaps, Parts], Mapping[Labels, Tensor]]
"""From a layer's maps and their parts to [row, head, class] probabilities, by whose labels are followed."""


def shipped_classifiers(device: torch.device | str) -> Classify:
    nets = shipped(device)

    def classify(maps: LayerMaps, parts: Parts) -> dict[Labels, Tensor]:
        numbers = features(maps, parts)
        return {labels: net(numbers) for labels, net in nets.items()}

    return classify


class LabelledCalls:
    """What the classifier calls the maps that a user has labelled."""

    def __init__(
        self, labels: OwnLabels, checkpoints: Mapping[str, Encoder], examples: Examples, config: PatternsConfig
    ) -> None:
        if config.weighted:
            raise UserError("labels are of attention as it is, not norm-weighted; leave out --labels or --weighted")
        need_enough(labels)
        whose = [key for key, encoder in checkpoints.items() if labels.is_of(encoder.record)]
        self.checkpoint = (whose or list(checkpoints))[0]
        """The key of the model that the maps are of."""
        self.places = labels.places(checkpoints[self.checkpoint], examples)
        self.labels = labels.classes
        self.called = np.full(len(self.labels), -1)
        """[map]: the class's place in `CLASSES`."""
        self.shares = np.zeros((len(self.labels), len(CLASSES)))
        """[map, class]: what the classifier calls all maps of the map's text."""

    def look(self, layer: int, maps: LayerMaps, called: Tensor) -> None:
        """Take what the batch's maps of layers from `layer` on are called, [row, head]."""
        for at, heads in enumerate(maps.layers, start=layer):
            which, row, head = self.places.seen(at, maps.view)
            self.called[which] = called[row, heads.start + head].cpu().numpy()

    def end(self, view: View, shares: np.ndarray) -> None:
        """Take what the classifier calls the maps of each of the batch's texts, [row, class]."""
        which, row = self.places.rows_seen(view)
        self.shares[which] = shares[row]

    @property
    def things(self) -> Labelled:
        return Labelled(self.labels, self.called, self.places.rows, self.shares)


class PatternsReader:
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        checkpoints: Mapping[str, Encoder],
        examples: Examples,
        config: PatternsConfig,
        *,
        classify: Classify | None = None,
        labelled: LabelledCalls | None = None,
    ) -> None:
        """`classify` takes the place of the classifiers that come with the package."""
        self.checkpoints, self.examples, self.config = checkpoints, examples, config
        self.labelled = labelled
        self._labelled = list(checkpoints).index(labelled.checkpoint) if labelled else None
        encoders = list(checkpoints.values())
        self._classify = classify or shipped_classifiers(encoders[0].device)
        self.resampling = MapResampling(examples.ids, repeats=config.repeats, seed=config.seed)
        self.means = [RunningMean(self.resampling) for _ in encoders]
        """Of each encoder, [head of all layers, labels x classes + parts + measures]: a map's class, by each of the
        classifiers, is 1 in one of its columns."""
        self.exemplars, self.representative = Exemplars(), RepresentativeMaps()
        self._tokens: dict[int, list[str]] = {}  # of examples that others read

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if layer == 0:
            self._found: list[list[Tensor]] = [[] for _ in maps]
            self.representative.choose(view)
        shown = joined(maps)
        found, sure, measured = (
            of_encoders(maps, each, heads=1) for each in zip(*map(self._measured, shown), strict=True)
        )
        for which, one in enumerate(maps):
            self._found[which].append(found[which])
            self.representative.look(which, layer, one, measured[which])
            if self.labelled and which == self._labelled:  # the first classes are of both labellers
                self.labelled.look(layer, one, found[which][..., : len(CLASSES)].argmax(-1))
        self.exemplars.look(layer, maps[0], sure[0])
        if layer + len(maps[0].layers) == view.n_layers:
            for which, (mean, found) in enumerate(zip(self.means, self._found, strict=True)):
                of_heads = torch.cat(found, 1)
                mean.add(view.rows, kept(of_heads))
                if self.labelled and which == self._labelled:
                    self.labelled.end(view, of_heads[..., : len(CLASSES)].cpu().numpy().mean(1))
            del self._found

    def _measured(self, maps: LayerMaps) -> tuple[Tensor, Tensor, Tensor]:
        """[row, head, ...] each: what `means` has, how likely each class is, and the measures alone."""
        view, parts = maps.view, decompose(maps)
        chances = self._classify(maps, parts)
        named = torch.stack([chances[of] for of in LABELS], 2).argmax(-1)  # [row, head, labels]
        shape = one_hot(named, len(CLASSES)).flatten(2).float()
        to_special = (maps.received @ (view.cls | view.sep)[..., None].float())[..., 0]
        measured = torch.stack([to_special, maps.entropy, maps.distance], -1)
        return torch.cat([shape, parts.shares, measured], -1), chances["both"], measured

    def tokens(self, row: int) -> list[str]:
        """What the first encoder reads of an example."""
        if row not in self._tokens:
            self._tokens[row] = tokens_of(next(iter(self.checkpoints.values())), self.examples, row)
        return self._tokens[row]

    def sums(self, first: int = 0) -> Sums:
        shown = sorted(self.exemplars.rows | self.representative.rows)
        parts = {f"means.{which}": mean.sums() for which, mean in enumerate(self.means)}
        maps = {"exemplars": self.exemplars.sums(first), "representative": self.representative.sums(first)}
        return Sums.of(parts | maps, tokens=[[first + row, self.tokens(row)] for row in shown])

    def merge(self, other: Sums) -> None:
        for which, mean in enumerate(self.means):
            mean.merge(other.part(f"means.{which}"))
        self.exemplars.merge(other.part("exemplars"))
        self.representative.merge(other.part("representative"))
        shown = self.exemplars.rows | self.representative.rows
        told = self._tokens | dict(other.facts["tokens"])
        self._tokens = {row: tokens for row, tokens in told.items() if row in shown}
