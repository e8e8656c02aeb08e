"""`patch`: what is measured of one text's run with one activation of another's, for many activations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.patch.question import (
    AFFORDABLE,
    NODES,
    SAMPLED,
    SHOWN,
    Direction,
    PartKind,
    PatchConfig,
)
from bertscope.analyses.patch.result import LEVEL, patch_result
from bertscope.analyses.patch.rows import pair_table, token_table
from bertscope.analyses.patch.scans import Family, Scan, scanned, without_rounding
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed
from bertscope.core.intervals import interval
from bertscope.core.reliability import split_half_of_means
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.statistics import holm, paired_p, paired_p_of_nothing
from bertscope.core.units import UnitKind, columns, every
from bertscope.data.minimal import MinimalPairs
from bertscope.models.contrasts import Contrasts, compared, contrasts
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.kinds import own_output
from bertscope.models.paired_rows import ROLES
from bertscope.models.patching import ALL, Patch

_TOP = 10
_METHODS = ("gradient", "integrated")


def measure(model: Encoder, pairs: MinimalPairs, config: PatchConfig) -> Result:
    asked = own_output(model, pairs=pairs.clean.pair is not None)
    found = contrasts(asked, pairs.clean, pairs.corrupted)
    refuse_nothing(model, pairs, found)
    found = _few(found, pairs, config)
    found = compared(found.paired, found.answers, gradients=True, nodes=NODES)
    families = [
        _family(found, kind, direction, config)
        for direction in dict.fromkeys(config.directions)
        for kind in dict.fromkeys(config.units)
        if _patches(found, kind)
    ]
    if not families:
        raise UserError(
            f"nothing of {', '.join(config.units)} is left to patch in {model.name}: in its only layer what a part "
            "does is there by construction; name other units"
        )
    scans = scanned(found, families, config)
    tables = [_table(found, family, scans[family.direction], config) for family in families]
    table = pd.concat(tables, ignore_index=True)
    more = {
        "reliability": _reliability(families, scans),
        "agreement": _agreement(families, tables),
        "pairs": pair_table(found, pairs),
        **token_table(found, pairs, SHOWN),
    }
    if config.null:
        more[null_panel.TABLE] = _nothing(families, scans, config)
    tested = len(next(iter(scans.values())).tested)
    return patch_result(model, pairs, found, {"patches": table, **more}, tested, config)


def refuse_nothing(model: Encoder, pairs: MinimalPairs, found: Contrasts) -> None:
    """Refuse pairs of which none can be patched, with why and what to do."""
    if len(found):
        return
    left = found.paired.dropped
    told = {
        "unequal": "have their tokens at other places in the two texts",
        "long": f"are longer than the {model.max_length} tokens that the model reads",
        "no_mask": "have no mask",
        "same": "are answered the same on both sides",
    }
    cures = {
        "unequal": "exchange words for words of as many pieces",
        "long": "give shorter texts",
        "no_mask": f"write {model.tokenizer.mask_token} at the same place of both texts",
        "same": "give a model that was trained for what the pairs differ in, or other pairs",
    }
    most = max(told, key=lambda why: left.get(why, 0))
    counted = ", ".join(f"{left[why]:,} {words}" for why, words in told.items() if left.get(why))
    raise UserError(
        f"nothing to patch in {model.name}: of {len(pairs):,} pairs of {pairs.name} {counted}; {cures[most]}"
    )


def _few(found: Contrasts, pairs: MinimalPairs, config: PatchConfig) -> Contrasts:
    """At most as many as are wanted, in their order."""
    ids = [pairs.clean.ids[at] for at in found.paired.pairs]
    order = np.argsort(hashed(ids, config.seed), kind="stable")[: config.sample]
    return found.take(np.sort(order), sampled=len(found) - len(order))


def _patches(found: Contrasts, kind: PartKind) -> list[Patch]:
    """The activations of a kind, without what is 1 or 0 by construction: what the last layer puts out, where what is
    on top reads single tokens of it; and its heads at single roles: either nothing, or the same as at all tokens."""
    asked = found.paired.asked
    by_role = kind in ("layer", "head_at")
    own: UnitKind = "head" if kind == "head_at" else kind
    units = every(own, asked.encoder.head_counts)
    if by_role and asked.reads_single_tokens:
        units = [unit for unit in units if unit.layer < asked.encoder.n_layers]
    roles = found.paired.roles_there if by_role else [ALL]
    return [Patch(unit, role) for unit in units for role in roles]


def _family(found: Contrasts, kind: PartKind, direction: Direction, config: PatchConfig) -> Family:
    patches, attributed = _patches(found, kind), found.attributed
    assert attributed is not None and attributed.integrated is not None
    gradient, integrated = (
        np.stack([way.of(patch.unit, str(patch.at)) for patch in patches])
        for way in (getattr(attributed, direction), attributed.integrated)
    )
    return Family(kind, direction, patches, gradient, integrated, _exact(gradient, len(found), config))


def _exact(gradient: np.ndarray, pairs: int, config: PatchConfig) -> np.ndarray:
    """Which of these activations are patched one by one: all, or some from large to small by the gradient."""
    count = len(gradient)
    if config.exact == "none":
        return np.zeros(0, dtype=np.int64)
    affordable = config.exact == "all" or (config.exact == "auto" and count * pairs <= AFFORDABLE)
    if affordable or count <= SAMPLED:
        return np.arange(count)
    generator = np.random.default_rng(config.seed)
    order = np.argsort(-np.abs(gradient.mean(1)), kind="stable")
    return np.sort([int(generator.choice(stratum)) for stratum in np.array_split(order, SAMPLED)])


def _mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _ratio(means: np.ndarray) -> np.ndarray:
    return means[..., 0] / means[..., 1]


def _shares(effects: np.ndarray, between: np.ndarray, config: PatchConfig) -> tuple[np.ndarray, ...]:
    """Effects [patch, pair] as a share of what lies between the runs [pair]: a ratio of means, and its interval over
    pairs."""
    if not len(effects):
        return (np.zeros(0),) * 3
    arms = np.stack([effects, np.broadcast_to(between, effects.shape)], -1)
    draws = metric_draws(_ratio, arms, repeats=config.repeats, seed=config.seed)
    return draws[0], *interval(draws)


def _table(found: Contrasts, family: Family, scan: Scan, config: PatchConfig) -> pd.DataFrame:
    """A row for each activation of a family."""
    at, rows = family.exact, scan.places[family.kind]
    between, having = found.between, found.paired.having
    roles = [patch.at for patch in family.patches]
    table = pd.DataFrame(
        columns([patch.unit for patch in family.patches])
        | {
            "role": roles,
            "direction": family.direction,
            "n": [len(found) if role == ALL else int(having[:, ROLES.index(role)].sum()) for role in roles],
            "gradient": family.gradient.mean(1) / between.mean(),
            "integrated": family.integrated.mean(1) / between.mean(),
        }
    )
    share, low, high = _shares(scan.own[rows], between, config)
    exact = pd.DataFrame({"share": share, "low": low, "high": high}, index=at)
    if scan.can_test and len(at):
        apart = scan.apart[rows]
        exact["unrelated"] = scan.same[0][rows].mean(1) / between[scan.tested].mean()
        # More than an unrelated text does, and more than nothing: beside what breaks things, nothing looks like much.
        own = scan.own[rows][:, scan.tested]
        exact["p"] = np.maximum(_p(apart, config), _p(own, config))
        exact["p_holm"] = holm(exact["p"].to_numpy())
        exact["certain"] = (exact["p_holm"] < LEVEL) & (np.sign(apart.mean(1)) == np.sign(own.mean(1)))
        if scan.other is not None:
            exact["other_text"] = scan.other[rows].mean(1) / between[scan.tested].mean()
    if scan.random_weights is not None:
        exact["random_weights"] = scan.random_weights[rows]
    known = exact.reindex(table.index)
    if "certain" in known:
        known["certain"] = known["certain"].fillna(False).astype(bool)
    return pd.concat([table, known], axis=1)


def _p(apart: np.ndarray, config: PatchConfig) -> np.ndarray:
    """[patch]: of differences between two donors [patch, pair], exchanged pair by pair."""
    nothing = np.zeros((apart.shape[1], 1))
    return paired_p(_mean, nothing, apart[..., None], permutations=config.permutations, seed=config.seed)


def _nothing(families: Sequence[Family], scans: Mapping[Direction, Scan], config: PatchConfig) -> pd.DataFrame:
    """The null panel: two unrelated texts with the same answer, exchanged pair by pair, tested as own and unrelated
    one are."""
    counts: dict[Hashable, np.ndarray] = {}
    for family in families:
        scan = scans[family.direction]
        if not scan.can_test:
            continue
        one, other = scan.same[:, scan.places[family.kind]]
        apart, nothing = without_rounding(one - other, scan.between), np.zeros((one.shape[1], 1))
        p = paired_p_of_nothing(
            _mean, nothing, apart[..., None], draws=null_panel.DRAWS, permutations=config.permutations,
            seed=config.seed,
        )  # fmt: skip
        counts[family.kind, family.direction] = (holm(p) < LEVEL).sum(1)
    return null_panel.panel(counts, ["kind", "direction"])


def _reliability(families: Sequence[Family], scans: Mapping[Direction, Scan]) -> pd.DataFrame:
    """Of the ranking of the activations that were patched; kinds of fewer than 3 have none."""
    rows = []
    for family in families:
        of = split_half_of_means(scans[family.direction].own[scans[family.direction].places[family.kind]])
        if not np.isnan(of.pearson):
            rows.append((family.kind, family.direction, of.pearson, of.spearman, len(family.exact)))
    return pd.DataFrame(rows, columns=["kind", "direction", "pearson", "spearman", "parts"])


def _agreement(families: Sequence[Family], tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """How well gradients rank the activations that were patched one by one."""
    rows = []
    for family, table in zip(families, tables, strict=True):
        known = table.iloc[family.exact]
        for method in _METHODS:
            both = known[[method, "share"]]
            if len(both) < 3 or both.nunique().min() < 2:
                continue
            rank, linear = (both.corr(how).iloc[0, 1] for how in ("spearman", "pearson"))
            top = [set(both[name].abs().nlargest(_TOP).index) for name in both]
            overlap = len(top[0] & top[1]) / _TOP if len(both) > _TOP else np.nan
            rows.append((family.kind, family.direction, method, rank, linear, overlap, len(both), len(table)))
    names = ["kind", "direction", "method", "spearman", "pearson", "overlap", "patched", "parts"]
    return pd.DataFrame(rows, columns=names)
