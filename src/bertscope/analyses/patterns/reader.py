"""What `patterns` takes from each batch, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, View, product, read_notes
from bertscope.analyses.patterns.question import MEASURES, PatternsConfig
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.exemplars import Exemplars
from bertscope.analyses.shapes.net import facts, shipped
from bertscope.analyses.shapes.representative import RepresentativeMaps
from bertscope.analyses.side_by_side import subject
from bertscope.analyses.tables import over_half
from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.resampling import Resampling, RunningMean, drawn_number, interval
from bertscope.core.result import Number, Result
from bertscope.core.units import every, heads_of_layers
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed

Classifier = Callable[[LayerMaps], Tensor]
"""From a layer's maps to how likely each class is: [row, head, class]."""
_LABELS = {"low": "from", "high": "to", "class": ""} | MEASURES


class PatternsReader:
    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        checkpoints: Mapping[str, Encoder],
        examples: Examples,
        config: PatternsConfig,
        *,
        classify: Classifier | None = None,
    ) -> None:
        """`classify` takes the place of the classifier that the config names."""
        self._checkpoints = checkpoints
        self._names, self._encoders = list(checkpoints), list(checkpoints.values())
        self._examples, self._config = examples, config
        self._classify = classify or shipped(config.classifier, self._encoders[0].device)
        self.resampling = Resampling(examples.ids, repeats=config.repeats, seed=config.seed, product=product)
        self.means = [RunningMean(self.resampling) for _ in self._encoders]
        """Of each encoder, [head of all layers, classes + measures]: a map's class is 1 in one of the columns."""
        self._exemplars, self._representative = Exemplars(), RepresentativeMaps()

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if layer == 0:
            self._found: list[list[Tensor]] = [[] for _ in maps]
            self._representative.choose(view)
        for which, (one, found) in enumerate(zip(maps, self._found, strict=True)):
            chances = self._classify(one)
            shape = torch.nn.functional.one_hot(chances.argmax(-1), len(CLASSES)).float()
            to_special = torch.einsum("bhk,bk->bh", one.received, (view.cls | view.sep).float())
            measured = torch.stack([to_special, one.entropy, one.distance], -1)
            found.append(torch.cat([shape, measured], -1))
            self._representative.look(which, layer, one, measured)
            if which == 0:
                self._exemplars.look(layer, one, chances)
        if layer + 1 == view.n_layers:
            for mean, found in zip(self.means, self._found, strict=True):
                mean.add(view.rows, torch.cat(found, 1).cpu().numpy())
            del self._found

    def result(self, passed: Passed) -> Result:
        names = self._names
        frames = [self._of_encoder(which, name) for which, name in enumerate(names)]
        heads, shares, layers, models = (
            pd.concat([frame[place] for frame in frames], ignore_index=True) for place in range(4)
        )
        tables = {"models": models, "layers": layers, "heads": heads, "shares": shares}
        typical = self._exemplars.table(self._encoders[0], self._examples)
        if len(typical):
            tables["typical"] = typical
        usual, maps = self._representative.tables(self._checkpoints, self._examples)
        return Result(
            "patterns",
            2,
            tables=tables | usual,
            arrays={"maps": maps},
            headline=self._headline(names, models),
            figures=self._figures(names, typical),
            subject=subject(names, self._examples, weighted=self._config.weighted),
            notes=[*self._examples.notes, *read_notes(passed), *self._whose(), self._how_sure()],
        )

    def _of_encoder(self, which: int, name: str) -> list[pd.DataFrame]:
        """Tables by head, by head and class, by layer and class, by class."""
        flat = self.means[which].draws  # [1 + repeats, head, classes + measures]
        counts = self._encoders[which].head_counts
        layer, head = np.array([(unit.layer, unit.number) for unit in every("head", counts)]).T
        where = {"checkpoint": name, "layer": layer, "head": head}
        of_class, measured = flat[..., : len(CLASSES)], flat[..., len(CLASSES) :]
        commonest = of_class[0].argmax(-1)
        heads = pd.DataFrame(
            where | {"class": np.array(CLASSES)[commonest], "consistency": of_class[0].max(-1)}
            | _with_interval(measured, list(MEASURES))
        )  # fmt: skip
        layers = heads_of_layers(counts)
        by_layer = np.stack([of_class[:, at].mean(1) for at in layers.values()], axis=1)
        return [
            heads,
            _by_class(of_class, where),
            _by_class(by_layer, {"checkpoint": name, "layer": list(layers)}),
            _by_class(of_class.mean(1, keepdims=True), {"checkpoint": name}),
        ]

    def _headline(self, names: Sequence[str], models: pd.DataFrame) -> list[Number]:
        """The last checkpoint's shares: of two, the one after."""
        rows = models[models["checkpoint"] == names[-1]]
        n = len(self._examples)
        numbers = [
            Number(row["class"], row["share"], row["low"], row["high"], n, "of maps") for _, row in rows.iterrows()
        ]
        special = self.means[-1].draws[..., len(CLASSES) + list(MEASURES).index("to_special")]
        return [*numbers, drawn_number("over half on [CLS] and [SEP]", over_half(special), n, "of heads")]

    def _whose(self) -> list[str]:
        return [f"the numbers above are of {self._names[-1]}"] if len(self._names) > 1 else []

    def _how_sure(self) -> str:
        known = facts(self._config.classifier)
        held_out = known["evaluations"][0]
        plain = ", none of them norm-weighted" if self._config.weighted else ""
        return (
            f"the classifier ({self._config.classifier}) has a macro F1 of {held_out['macro_f1']:.2f} on "
            f"{held_out['maps']} maps, labelled by eye, of heads it never saw{plain}; intervals don't include its "
            "mistakes"
        )

    def _figures(self, names: Sequence[str], typical: pd.DataFrame) -> list[Figure]:
        several = len(names) > 1
        weighted = ", norm-weighted" if self._config.weighted else ""
        figures = [
            Figure(
                "bars", "layers", x="share", y="layer", color="class", facet="checkpoint" if several else None,
                title="Shapes of attention by layer",
                caption=f"The share of maps of each class{weighted}: every head of the layer on every example.",
                labels=_LABELS | {"share": "share of maps"},
            ),
            Figure(
                "heatmap", "shares", x="head", y="layer", value="share", low="low", high="high", facet="class",
                where={"checkpoint": names[-1]},
                title="Which heads have which shape",
                caption=f"The share of examples on which the head's map is of that class ({names[-1]}).",
                labels=_LABELS | {"share": "share of examples"},
            ),
        ]  # fmt: skip
        figures += [
            Figure(
                "heatmap", "heads", x="head", y="layer", value=measure, low=f"{measure}_low", high=f"{measure}_high",
                facet="checkpoint" if several else None, title=title, caption=caption, labels=_LABELS,
            )
            for measure, title, caption in (
                ("to_special", "Attention to [CLS] and [SEP]",
                 "The mean share of a query's attention that goes to special tokens."),
                ("entropy", "How spread the attention is",
                 "The mean entropy of a query's attention: 0 bits is one token, 3 bits as much as eight equal ones."),
                ("distance", "How far heads look",
                 "The mean distance, in tokens, between a query and what it attends to."),
            )
        ]  # fmt: skip
        if len(typical):
            figures.append(
                Figure(
                    "maps", "typical", x="key", y="query", value="attention", facet="map", token="token",
                    title="Exemplars maps",
                    caption=f"Maps of {names[0]} that the classifier is surest of, for each class, from different "
                    "layers. Rows are the tokens that look, columns those that are looked at.",
                )
            )  # fmt: skip
        return figures


def _with_interval(draws: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns for values [1 + repeats, row, name] and the ends of their intervals."""
    low, high = interval(draws)
    columns: dict[str, np.ndarray] = {}
    for place, name in enumerate(names):
        columns |= {name: draws[0, :, place], f"{name}_low": low[:, place], f"{name}_high": high[:, place]}
    return columns


def _by_class(draws: np.ndarray, where: Mapping[str, object]) -> pd.DataFrame:
    """A row for each place and class of shares [1 + repeats, place, class]."""
    low, high = interval(draws)
    places = pd.DataFrame(where, index=range(draws.shape[1]))
    table = places.loc[places.index.repeat(len(CLASSES))].reset_index(drop=True)
    found = {"share": draws[0].ravel(), "low": low.ravel(), "high": high.ravel()}
    return table.assign(**{"class": np.tile(CLASSES, draws.shape[1])} | found)
