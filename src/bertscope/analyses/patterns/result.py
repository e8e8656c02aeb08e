"""The answer of `patterns`: the shares of the shapes, by model, layer and head, and maps to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.patterns.question import MEASURES, PatternsConfig, patterns
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.net import facts
from bertscope.analyses.side_by_side import is_weighted, subject
from bertscope.analyses.tables import over_half, with_intervals
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import every, heads_of_layers
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.patterns.measure import PatternsReader
    from bertscope.models.observe import Passed

_SHARES = {
    "vertical": "vertical", "diagonal": "diagonal", "vertical+diagonal": "vertical_diagonal", "block": "block",
    "heterogeneous": "heterogeneous",
}  # fmt: skip
"""By class, the key of its share."""
_LABELS = {"low": "from", "high": "to", "class": ""} | MEASURES


def patterns_result(reader: PatternsReader, passed: Passed) -> Result:
    models = {key: encoder.record for key, encoder in reader.checkpoints.items()}
    names, encoders = model_names(models), list(reader.checkpoints.values())
    examples, config = reader.examples, reader.config
    draws = [mean.draws for mean in reader.means]  # of each encoder [1 + repeats, head, classes + measures]
    frames = [
        _of_encoder(key, encoder.head_counts, found)
        for (key, encoder), found in zip(reader.checkpoints.items(), draws, strict=True)
    ]
    tables = {key: pd.concat([one[key] for one in frames], ignore_index=True) for key in frames[0]}
    typical = reader.exemplars.table(encoders[0], examples)
    if len(typical):
        tables["typical"] = typical
    of_heads, maps = reader.representative.tables(reader.checkpoints, examples)
    return patterns.result(
        tables=tables | of_heads,
        arrays={"maps": maps},
        headline=[
            number
            for key, found in reversed(list(zip(models, draws, strict=True)))
            for number in _headline(key, tables["models"], found, len(examples))
        ],
        figures=_figures(names, config, typical=len(typical) > 0),
        models=models,
        subject=subject(examples, weighted=config.weighted),
        notes=[*examples.notes, *read_notes(passed), _how_sure(config)],
    )


def _of_encoder(key: str, head_counts: Sequence[int], draws: np.ndarray) -> dict[str, pd.DataFrame]:
    """Tables by class, by layer and class, by head, by head and class."""
    layer, head = np.array([(unit.layer, unit.number) for unit in every("head", head_counts)]).T
    where = {"checkpoint": key, "layer": layer, "head": head}
    of_class, measured = draws[..., : len(CLASSES)], draws[..., len(CLASSES) :]
    commonest = of_class[0].argmax(-1)
    layers = heads_of_layers(head_counts)
    by_layer = np.stack([of_class[:, at].mean(1) for at in layers.values()], axis=1)
    return {
        "models": _by_class(of_class.mean(1, keepdims=True), {"checkpoint": key}),
        "layers": _by_class(by_layer, {"checkpoint": key, "layer": list(layers)}),
        "heads": pd.DataFrame(
            where | {"class": np.array(CLASSES)[commonest], "consistency": of_class[0].max(-1)}
            | with_intervals(measured, list(MEASURES))
        ),
        "shares": _by_class(of_class, where),
    }  # fmt: skip


def _by_class(draws: np.ndarray, where: Mapping[str, object]) -> pd.DataFrame:
    """A row for each place and class of shares [1 + repeats, place, class]."""
    low, high = interval(draws)
    places = pd.DataFrame(where, index=range(draws.shape[1]))
    table = places.loc[places.index.repeat(len(CLASSES))].reset_index(drop=True)
    found = {"share": draws[0].ravel(), "low": low.ravel(), "high": high.ravel()}
    return table.assign(**{"class": np.tile(CLASSES, draws.shape[1])} | found)


def _headline(model: str, models: pd.DataFrame, draws: np.ndarray, n: int) -> list[Number]:
    """A checkpoint's shares. Of two, the one after comes first."""
    of = {"model": model}
    numbers = [
        Number(_SHARES[row["class"]], row["share"], row["low"], row["high"], n, "of maps", of=of)
        for _, row in models[models["checkpoint"] == model].iterrows()
    ]
    special = draws[..., len(CLASSES) + list(MEASURES).index("to_special")]
    return [*numbers, drawn_number("mostly_on_special", over_half(special), n, "of heads", **of)]


def sentence(result: Result) -> Statement | None:
    if is_weighted(result):
        return None
    *_, (last, model) = result.models.items()
    rows, heads = (result.tables[name] for name in ("models", "heads"))
    shares = {
        row["class"]: cell(row, "share", "low", "high") for _, row in rows[rows["checkpoint"] == last].iterrows()
    }
    most = max(shares, key=lambda kind: shares[kind].value)
    other = "vertical" if most == "heterogeneous" else "heterogeneous"
    told = (
        f"Of the maps of {model.name}'s {len(heads.drop_duplicates(['layer', 'head']))} heads, "
        f"{sure(shares[most], percent)} are {most} and {sure(shares[other], percent)} {other}."
    )
    return Statement(told, shares["heterogeneous"].value, percent)


def _how_sure(config: PatternsConfig) -> str:
    held_out = facts(config.classifier)["evaluations"][0]
    plain = ", none of them norm-weighted" if config.weighted else ""
    return (
        f"the classifier ({config.classifier}) has a macro F1 of {held_out['macro_f1']:.2f} on "
        f"{held_out['maps']} maps, labelled by eye, of heads it never saw{plain}; intervals don't include its "
        "mistakes"
    )


def _figures(names: Mapping[str, str], config: PatternsConfig, *, typical: bool) -> list[Figure]:
    *_, (last, its_name) = names.items()
    side_by_side = "checkpoint" if len(names) > 1 else None
    weighted = ", norm-weighted" if config.weighted else ""
    figures = [
        Figure(
            "bars", "layers", x="share", y="layer", color="class", facet=side_by_side,
            title="Shapes of attention by layer",
            caption=f"The share of maps of each class{weighted}: every head of the layer on every example.",
            labels=_LABELS | {"share": "share of maps"}, key="layers",
        ),
        Figure(
            "heatmap", "shares", x="head", y="layer", value="share", low="low", high="high", facet="class",
            where={"checkpoint": last},
            title="Which heads have which shape",
            caption=f"The share of examples on which the head's map is of that class ({its_name}).",
            labels=_LABELS | {"share": "share of examples"}, key="shares",
        ),
    ]  # fmt: skip
    figures += [
        Figure(
            "heatmap", "heads", x="head", y="layer", value=measure, low=f"{measure}_low", high=f"{measure}_high",
            facet=side_by_side, title=title, caption=caption, labels=_LABELS, key=measure,
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
    if typical:
        figures.append(
            Figure(
                "maps", "typical", x="key", y="query", value="attention", facet="map", token="token",
                title="Typical maps",
                caption=f"Maps of {next(iter(names.values()))} that the classifier is surest of, for each class, "
                "from different layers. Rows are the tokens that look, columns those that are looked at.",
                key="typical",
            )
        )  # fmt: skip
    return figures
