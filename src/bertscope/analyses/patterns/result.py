"""The answer of `patterns`: where the mass is, the shares of the shapes, by model, layer and head; maps to look at.

An interval of mass is over texts. That of a class's share also holds the classifiers' error: it reaches over those
trained on both labellers' labels and on each one's, as they say it and where their mistakes, as they made them on the
maps of a model that they weren't trained on, are undone (`_ways`). Where a user has labelled maps of a model, that
model's shares are corrected by them, and what the classifiers say stands beside (`_by_labels`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.patterns.question import MEASURES, PART_WORDS, PatternsConfig, patterns
from bertscope.analyses.shapes import CLASSES, LABELS
from bertscope.analyses.shapes.confusion import called_for_class, shares_behind
from bertscope.analyses.shapes.decomposition import PARTS
from bertscope.analyses.shapes.net import facts
from bertscope.analyses.side_by_side import is_weighted, subject
from bertscope.analyses.tables import over_half, tidy, with_intervals
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.prediction_powered import corrected_shares
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import every, heads_of_layers
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.patterns.measure import LabelledCalls, PatternsReader
    from bertscope.models.observe import Passed

_SHARES = {
    "vertical": "vertical", "diagonal": "diagonal", "vertical+diagonal": "vertical_diagonal", "block": "block",
    "heterogeneous": "heterogeneous",
}  # fmt: skip
"""By class, the key of its share."""
_MASSES = {"columns": "columns_mass", "band": "band_mass", "block": "block_mass", "rest": "rest_mass"}
"""By part, the key of its share of the mass."""
_LABELS = {"low": "from", "high": "to", "class": "", "part": ""} | PART_WORDS | MEASURES
_NAMED = len(LABELS) * len(CLASSES)  # columns of a head's draws: classes by each classifier, parts, measures
_DIVIDED = _NAMED + len(PARTS)


def patterns_result(reader: PatternsReader, passed: Passed) -> Result:
    models = {key: encoder.record for key, encoder in reader.checkpoints.items()}
    names = model_names(models)
    examples, config = reader.examples, reader.config
    draws = [mean.draws for mean in reader.means]  # of each encoder [1 + repeats, head, classes + parts + measures]
    frames = [
        _of_encoder(key, encoder.head_counts, found)
        for (key, encoder), found in zip(reader.checkpoints.items(), draws, strict=True)
    ]
    tables = {key: pd.concat([one[key] for one in frames], ignore_index=True) for key in frames[0]}
    if reader.labelled:
        of_labelled = draws[list(models).index(reader.labelled.checkpoint)]
        tables["models"] = _by_labels(tables["models"], reader.labelled, of_labelled, passed.examples)
    if len(draws) > 1:
        tables["changes"] = _changes(list(models), draws)
    typical = reader.exemplars.table(reader.tokens)
    if len(typical):
        tables["typical"] = typical
    of_heads, maps = reader.representative.tables(reader.checkpoints, reader.tokens)
    return patterns.result(
        tables=tables | of_heads,
        arrays={"maps": maps},
        headline=[
            number
            for key, found in reversed(list(zip(models, draws, strict=True)))
            for number in _headline(key, tables, found, passed.examples)
        ],
        figures=_figures(names, config, typical=len(typical) > 0),
        models=models,
        subject=subject(examples, weighted=config.weighted),
        notes=[
            *examples.notes,
            *read_notes(passed),
            _how_sure(config),
            *([_how_labelled(reader.labelled, names)] if reader.labelled else []),
        ],
    )


def _of_encoder(key: str, head_counts: Sequence[int], draws: np.ndarray) -> dict[str, pd.DataFrame]:
    """Tables by class, by layer and class, by head, by head and class; by part, by layer and part."""
    layer, head = np.array([(unit.layer, unit.number) for unit in every("head", head_counts)]).T
    where = {"checkpoint": key, "layer": layer, "head": head}
    of_class, parts = _classes(draws), draws[..., _NAMED:_DIVIDED]
    named = of_class[0].argmax(-1)  # [head, classifier]
    layers = heads_of_layers(head_counts)
    by_layer = np.stack([draws[:, at].mean(1) for at in layers.values()], axis=1)
    in_layer = interval(by_layer[..., _NAMED:_DIVIDED])
    in_model = interval(parts.mean(1))
    return {
        "models": _by_class(_ways(of_class.mean(1, keepdims=True)), {"checkpoint": key}),
        "layers": _by_class(_ways(_classes(by_layer)), {"checkpoint": key, "layer": list(layers)}),
        "heads": pd.DataFrame(
            where | {"class": np.array(CLASSES)[named[:, 0]], "consistency": of_class[0, :, 0].max(-1)}
            | {f"class_{labels}": np.array(CLASSES)[named[:, at]] for at, labels in enumerate(LABELS) if at}
            | with_intervals(draws[..., _NAMED:], [*PARTS, *MEASURES])
        ),
        "shares": _by_class(_ways(of_class), where),
        "model_parts": tidy(
            {"checkpoint": [key], "part": PARTS}, mass=parts.mean(1)[0], low=in_model[0], high=in_model[1]
        ),
        "layer_parts": tidy(
            {"checkpoint": [key], "layer": list(layers), "part": PARTS},
            mass=by_layer[0, :, _NAMED:_DIVIDED], low=in_layer[0], high=in_layer[1],
        ),
    }  # fmt: skip


def _classes(draws: np.ndarray) -> np.ndarray:
    """[1 + repeats, place, classifier, class] of all that was drawn."""
    return draws[..., :_NAMED].reshape(*draws.shape[:-1], len(LABELS), len(CLASSES))


def _ways(draws: np.ndarray) -> np.ndarray:
    """Shares [1 + repeats, place, classifier, class] in all ways that they can be told, [..., way, class], the first
    what the classifier trained on both says: by each classifier, and again with its mistakes undone, which in each
    repeat are others that the labelled maps allow."""
    chances = called_for_class(facts(), len(draws) - 1)
    undone = shares_behind(draws.swapaxes(1, 2), chances).swapaxes(1, 2)
    return np.concatenate([draws, undone], axis=2)


def _changes(models: Sequence[str], draws: Sequence[np.ndarray]) -> pd.DataFrame:
    """Of every checkpoint but the first, by class: its share minus the first's, told in the same way of the same
    texts."""
    first, *others = (_ways(_classes(one).mean(1, keepdims=True)) for one in draws)
    frames = [_by_class(one - first, {"checkpoint": key}) for key, one in zip(models[1:], others, strict=True)]
    return pd.concat(frames, ignore_index=True).rename(columns={"share": "change"})


def _by_class(ways: np.ndarray, where: Mapping[str, object]) -> pd.DataFrame:
    """A row for each place and class of shares [1 + repeats, place, way, class], from the lowest to the highest end
    of the ways' intervals over texts."""
    low, high = interval(ways)
    places = pd.DataFrame(where, index=range(ways.shape[1]))
    table = places.loc[places.index.repeat(len(CLASSES))].reset_index(drop=True)
    ends = {"low": low.min(1), "high": high.max(1)}  # a mistake that is undone leaves 1e-20, which is 0
    found = {"share": ways[0, :, 0].ravel()} | {name: end.ravel().round(6) for name, end in ends.items()}
    return table.assign(**{"class": np.tile(CLASSES, ways.shape[1])} | found)


def _by_labels(models: pd.DataFrame, labelled: LabelledCalls, draws: np.ndarray, texts: int) -> pd.DataFrame:
    """The table of shares by model, where those of the labelled one are corrected by the labels; beside them what the
    classifiers say. `draws` are the labelled one's."""
    of_both = _classes(draws).mean(1)[:, 0]  # [1 + repeats, class], by the classifier that names the maps
    error = np.nanstd(of_both[1:], axis=0, ddof=1)
    found = corrected_shares(of_both[0], error, texts, labelled.things)
    beside = {"classifiers": "share", "classifiers_low": "low", "classifiers_high": "high"}
    kept = {name: models[column] for name, column in beside.items()}
    own = (models["checkpoint"] == labelled.checkpoint).to_numpy()
    shares = models.assign(by=np.where(own, "labels", "classifiers"), **kept)
    shares.loc[own, ["share", "low", "high"]] = np.stack(found, 1)
    return shares


def _headline(model: str, tables: Mapping[str, pd.DataFrame], draws: np.ndarray, n: int) -> list[Number]:
    """A checkpoint's parts and shares. Of two, the one after comes first."""
    of = {"model": model}
    models, parts = (tables[name][tables[name]["checkpoint"] == model] for name in ("models", "model_parts"))
    masses = dict(zip(PARTS, draws[..., _NAMED:_DIVIDED].mean(1).T, strict=True))
    numbers = [
        Number(
            _MASSES[row["part"]], row["mass"], row["low"], row["high"], n, "of mass", of=of, draws=masses[row["part"]]
        )
        for _, row in parts.iterrows()
    ]  # fmt: skip
    numbers += [
        Number(_SHARES[row["class"]], row["share"], row["low"], row["high"], n, "of maps", of=of)
        for _, row in models.iterrows()
    ]
    special = draws[..., _DIVIDED + list(MEASURES).index("to_special")]
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
    by_head, by_model = (
        next(one for one in facts()["evaluations"] if (one["held_out"], one["labels"]) == (held_out, "agreed"))
        for held_out in ("head", "model")
    )
    plain = ", none of them norm-weighted" if config.weighted else ""
    return (
        f"classes come from classifiers with a macro F1 of {by_head['macro_f1']:.2f} on {by_head['maps']} maps, "
        f"labelled alike by two people, of heads they never saw ({by_model['macro_f1']:.2f} on those of a model "
        f"they never saw){plain}; ranges cover classifiers trained on each person's labels, with and without the "
        "classifiers' mistakes"
    )


def _how_labelled(labelled: LabelledCalls, names: Mapping[str, str]) -> str:
    same, n = int((labelled.labels == labelled.called).sum()), len(labelled.labels)
    return (
        f"the class shares of {names[labelled.checkpoint]} as a whole are corrected by your labels of {n} maps drawn "
        f"at random, of which the classifier calls {same} as you do; shares by layer and head, and changes, are the "
        "classifiers' alone"
    )


def _figures(names: Mapping[str, str], config: PatternsConfig, *, typical: bool) -> list[Figure]:
    *_, (last, its_name) = names.items()
    side_by_side = "checkpoint" if len(names) > 1 else None
    weighted = ", norm-weighted" if config.weighted else ""
    figures = [
        Figure(
            "bars", "layer_parts", x="mass", y="layer", color="part", facet=side_by_side,
            title="Where the mass of attention is, by layer",
            caption=f"The mass of maps{weighted} in columns that most queries share, in a band along the diagonal, "
            "in what a text gets evenly (block), and the rest: mean of every head of the layer on every example.",
            labels=_LABELS | {"mass": "share of mass"}, key="layer_parts",
        ),
    ]  # fmt: skip
    figures += [
        Figure(
            "heatmap", "heads", x="head", y="layer", value=part, low=f"{part}_low", high=f"{part}_high",
            facet=side_by_side, title=title, caption=caption, labels=_LABELS, key=part,
        )
        for part, title, caption in (
            ("columns", "Mass in columns",
             "What most queries of a text give to the same token, above what they give evenly; mean of the texts."),
            ("band", "Mass in a band", "What most queries give to tokens at the same distance; mean of the texts."),
            ("block", "Mass in blocks", "What most queries of a text give evenly to a text; mean of the texts."),
            ("rest", "Mass in the rest", "What is neither: it depends on the query and on the token."),
        )
    ]  # fmt: skip
    figures += [
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
