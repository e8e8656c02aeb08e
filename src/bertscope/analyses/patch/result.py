"""The answer of `patch`: what each activation carries, as numbers, figures and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from bertscope.analyses.patch.question import DIRECTIONS, PatchConfig, patch
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import bootstrap_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.statement import Statement, counted, number_of, percent, sure

if TYPE_CHECKING:
    from bertscope.data.minimal import MinimalPairs
    from bertscope.models.contrasts import Contrasts
    from bertscope.models.encoder import Encoder

LEVEL = 0.05
_KINDS = {"layer": "a layer's output", "heads": "all heads of a layer", "mlp": "an MLP", "head": "a head"}
_LABELS = {
    "share": "share of the difference",
    "low": "from",
    "high": "to",
    "role": "tokens",
    "n": "pairs that have such tokens",
    "gradient": "the share by the gradient",
    "integrated": "the share by integrated gradients",
    "unrelated": "the share that an unrelated text gives, answered as the patched one",
    "other_text": "the share that an unrelated text gives, answered as the pair's own other text",
    "random_weights": "the share in the same model with random weights",
    "p": "p of the pair's own text against an unrelated one, not corrected",
    "p_holm": "p (Holm)",
    "certain": "does more than an unrelated text: p < .05, corrected (Holm)",
    "value": "share by the method",
    "token": "token",
}
_MEANT = {
    "denoise": "the corrupted text with the clean one's: the share that comes back",
    "noise": "the clean text with the corrupted one's: the share that is lost",
}


def patch_result(
    model: Encoder,
    pairs: MinimalPairs,
    found: Contrasts,
    tables: Mapping[str, pd.DataFrame],
    tested: int,
    config: PatchConfig,
) -> Result:
    patches, n = tables["patches"], len(found)
    ends = bootstrap_interval(lambda means: means[..., 0], found.between[:, None], repeats=config.repeats)
    compared = _compared(patches)
    return patch.result(
        tables={**tables, **({"methods": compared} if len(compared) else {})},
        headline=[
            Number("pairs", float(n), n=len(pairs)),
            *(
                Number("left_out", float(count), n=len(pairs), of={"why": why})
                for why, count in found.paired.dropped.items() if count
            ),
            Number("between", float(found.between.mean()), *ends, n, "logits"),
            *_headline(patches, tables, n, tested),
        ],
        figures=_figures(patches, compared, tables),
        models=records([model]),
        subject={"pairs": pairs.name},
        notes=[*pairs.notes, *_notes(patches, tables["reliability"], found, tested, config)],
    )  # fmt: skip


def _rows(patches: pd.DataFrame, kind: str, direction: str) -> pd.DataFrame:
    """The activations that are tested together."""
    own = patches[(patches["kind"] == kind.removesuffix("_at")) & (patches["direction"] == direction)]
    return own[(own["role"] == "all") == (kind not in ("layer", "head_at"))]


def _families(patches: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    kinds = ("layer", "heads", "mlp", "head", "head_at")
    each = ((kind, way, _rows(patches, kind, way)) for way in DIRECTIONS for kind in kinds)
    return [(kind, way, rows) for kind, way, rows in each if len(rows)]


def _headline(patches: pd.DataFrame, tables: Mapping[str, pd.DataFrame], n: int, tested: int) -> list[Number]:
    numbers = []
    for kind, direction, rows in _families(patches):
        known = rows.dropna(subset=["share"])
        if len(known):
            most = known.loc[known["share"].idxmax()]
            of = {"kind": kind, "unit": most["unit"], "role": most["role"], "direction": direction}
            # The extreme of many gets no interval: the row's own ignores that it was picked.
            numbers.append(Number("most", float(most["share"]), n=n, unit="share", of=of))
    if "certain" in patches:
        numbers.append(Number("tested", float(tested), n=n))
        numbers += [
            Number("found", float(rows["certain"].sum()), n=int(rows["p"].notna().sum()),
                   of={"kind": kind, "direction": direction})
            for kind, direction, rows in _families(patches)
        ]  # fmt: skip
    if (layer := taken_over(patches)) is not None:
        numbers.append(Number("taken_over", float(layer), n=n, unit="layer"))
    for row in tables["agreement"].dropna(subset=["overlap"]).itertuples():  # a rank correlation of few says little
        of = {"method": row.method, "kind": row.kind, "direction": row.direction}
        numbers.append(Number("agreement", row.spearman, n=row.patched, unit="rho", of=of))
        numbers.append(Number("overlap", row.overlap, n=row.patched, unit="share", of=of))
    return numbers + [
        Number("reliability", row.pearson, n=n, unit="r", of={"kind": row.kind, "direction": row.direction})
        for row in tables["reliability"].itertuples()
    ]


def taken_over(patches: pd.DataFrame) -> int | None:
    """The first layer from which on [CLS] carries more than the changed tokens; None where there is none, or where
    there is nothing to compare."""
    layers = _rows(patches, "layer", "denoise").pivot(index="layer", columns="role", values="share")
    if not {"cls", "changed"} <= set(layers) or layers[["cls", "changed"]].isna().any(axis=None):
        return None  # layers that weren't patched may be either
    ahead = (layers["cls"] > layers["changed"])[::-1].cumprod()[::-1].astype(bool)
    return int(ahead.idxmax()) if ahead.any() else None


def _notes(
    patches: pd.DataFrame, reliability: pd.DataFrame, found: Contrasts, tested: int, config: PatchConfig
) -> list[str]:
    notes = []
    if found.paired.asked.reads_single_tokens:
        notes.append(
            "left out, since they carry all of it or nothing by construction: the embeddings, what the last layer "
            "puts out, and its heads at single roles"
        )
    else:
        notes.append("left out, since they carry all of it by construction: the embeddings at the tokens that differ")
    if "certain" not in patches and patches["share"].notna().any():
        notes.append(
            f"only {number_of(tested, 'pair has', 'pairs have')} an unrelated pair of the same answers and length: "
            "too few for a test; give more"
        )
    notes += [
        f"{config.permutations} permutations are too few for any of {rows['p'].notna().sum()} activations to be "
        f"certain ({kind}, {direction})"
        for kind, direction, rows in (_families(patches) if "p" in patches else ())
        if rows["p"].notna().sum() / (config.permutations + 1) >= LEVEL
    ]
    sampled = [
        kind for kind, _, rows in _families(patches) if rows["share"].isna().any() and rows["share"].notna().any()
    ]
    if sampled:
        notes.append(
            "patched one by one is a sample, from large to small by the gradient: "
            f"{', '.join(dict.fromkeys(sampled))}"
        )
    notes += [
        f"ranking of {row.kind} ({row.direction}): split-half reliability {row.pearson:.2f}; under {ENOUGH} it is "
        "mostly noise"
        for row in reliability.itertuples() if row.pearson < ENOUGH
    ]  # fmt: skip
    return notes


def _compared(patches: pd.DataFrame) -> pd.DataFrame:
    """Gradients beside what they stand for: a row for each activation that was patched and each method."""
    known = patches.dropna(subset=["share"])
    own = [name for name in ("unit", "kind", "layer", "head", "role", "direction", "share") if name in known]
    parts = [known[own].assign(method=name, value=known[name]) for name in ("gradient", "integrated")]
    return pd.concat(parts, ignore_index=True)


def _figures(patches: pd.DataFrame, compared: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[Figure]:
    figures = []
    mark = "certain" if "certain" in patches else None
    dot = (
        " A dot: the pair's own text does more than an unrelated one of the same answer and length (paired test, "
        "corrected by Holm's method)." if mark else ""
    )  # fmt: skip
    for kind, direction, rows in _families(patches):
        # What was patched; where that are few or none, what the gradient says of all.
        value = "share" if rows["share"].notna().all() else "integrated"
        by = "" if value == "share" else " by integrated gradients"
        told = f"{_KINDS[kind.removesuffix('_at')]}, {_MEANT[direction]}{by}"
        ends: dict[str, Any] = {"low": "low", "high": "high", "mark": mark} if value == "share" else {}
        where = {"kind": kind.removesuffix("_at"), "direction": direction}
        if kind == "layer":
            figures.append(
                Figure(
                    "heatmap", "patches", x="role", y="layer", value=value, where=where, key=f"layer_{direction}",
                    title=f"Where the difference is carried: {direction}", labels=_LABELS, middle=0.0, **ends,
                    caption=f"{told.capitalize()}, layer by layer and role by role.{dot}",
                )
            )  # fmt: skip
        elif kind == "head":
            figures.append(
                Figure(
                    "heatmap", "patches", x="head", y="layer", value=value, where=where | {"role": "all"},
                    key=f"head_{direction}", title=f"Heads that carry the difference: {direction}", labels=_LABELS,
                    middle=0.0, caption=f"{told.capitalize()}, at all tokens.{dot}", **ends,
                )
            )  # fmt: skip
        elif kind in ("mlp", "heads") and value == "share":
            figures.append(
                Figure(
                    "intervals", "patches", x="share", y="layer", low="low", high="high", where=where,
                    key=f"{kind}_{direction}", labels=_LABELS, middle=0.0,
                    title=f"{'MLPs' if kind == 'mlp' else 'Layers of heads'} that carry the difference: {direction}",
                    caption=f"{told.capitalize()}, at all tokens, with its 95% bootstrap interval over pairs.",
                )
            )  # fmt: skip
    for direction in dict.fromkeys(compared["direction"]):
        figures.append(
            Figure(
                "points", "methods", x="value", y="share", color="method", where={"direction": direction},
                key=f"methods_{direction}", title=f"By the gradient and one by one: {direction}", labels=_LABELS,
                middle=0.0,
                caption="Each activation: the share that the gradient says it carries, against what patching it "
                "gives. "
                "On the diagonal the gradient is right; behind LayerNorms and saturated softmaxes it may not be.",
            )
        )  # fmt: skip
    return figures + _of_pairs(tables)


def _of_pairs(tables: Mapping[str, pd.DataFrame]) -> list[Figure]:
    if "tokens" not in tables:
        return []
    texts = tables["pairs"].set_index("pair")
    return [
        Figure(
            "heatmap", "tokens", x="token", y="layer", value="share", where={"pair": pair}, key=f"pair_{place}",
            title=f"Pair {pair}, word by word", labels=_LABELS, middle=0.0,
            caption=f"Clean: {texts.at[pair, 'clean']} Corrupted: {texts.at[pair, 'corrupted']} The share of the "
            "difference that comes back if the corrupted text is given the clean one's state after this layer, at "
            "this token alone. Where the two texts differ, both words are shown.",
        )
        for place, pair in enumerate(dict.fromkeys(tables["tokens"]["pair"]), start=1)
    ]  # fmt: skip


def sentence(result: Result) -> Statement | None:
    patches = result.tables["patches"]
    heads = _rows(patches, "head", "denoise").dropna(subset=["share"])
    if heads.empty:
        return None
    most = heads.loc[heads["share"].idxmax()]
    share = Estimate.of(most["share"], most["low"], most["high"])
    told = (
        f"Of the difference between clean and corrupted texts, {str(most['unit']).replace(':', ' ')} carries the "
        f"most of the {len(heads)} heads that were patched: {sure(share.without_interval(), percent)}"
    )
    if "certain" in heads:
        carry, take = (int((heads["certain"] & side).sum()) for side in (heads["share"] > 0, heads["share"] < 0))
        away = f"and {take} to take some away " if take else ""
        told += f"; of {len(heads)} heads, {counted(carry, 'is', 'are')} found to carry some {away}(p < .05, Holm)"
    over = result.numbers(key="taken_over")
    if over:
        told += f"; from layer {over[0].value:.0f} on, it is at [CLS] rather than at the words that differ"
    return Statement(f"{told}.", share.value, percent)
