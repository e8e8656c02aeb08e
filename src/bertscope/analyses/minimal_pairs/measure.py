"""`minimal-pairs`: pseudo-log-likelihoods of both texts of each pair, by a model's own head or by another's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile

import numpy as np
import pandas as pd
import torch

from bertscope.analyses.caveats import fitted_on_pieces
from bertscope.analyses.minimal_pairs.question import MinimalPairsConfig
from bertscope.analyses.minimal_pairs.result import LEVEL, Arm, minimal_pairs_result
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.intervals import bootstrap_interval, share_interval
from bertscope.core.model_record import by_key
from bertscope.core.progress import progress
from bertscope.core.result import Result
from bertscope.core.statement import number_of, too_long
from bertscope.core.statistics import holm, sign_flip_p, sign_flip_ps
from bertscope.data.minimal import MinimalPairs
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.observe import default_budget
from bertscope.models.outputs.masked_words import GuessedWords
from bertscope.models.own_task_head import with_own_task_head
from bertscope.models.pieces import Pieces, read_pieces
from bertscope.models.state_map import GROUPS, AffineMap, StateSums
from bertscope.models.word_guesses import last_states, log_p, refuse_other_width, refuse_without_head

_LONGEST = 1000  # characters of a text that a table keeps


def measure(models: Sequence[Encoder], pairs: MinimalPairs, config: MinimalPairsConfig) -> Result:
    if not models:
        raise UserError("no model is given; name one, or give one")
    named = by_key(models)
    key, first = next(iter(named.items()))
    refuse_without_head(first)
    guessing = {own: one for own, one in named.items() if one.task_head == GuessedWords.task_head}
    borrowing = {own: one for own, one in named.items() if own not in guessing}
    for one in borrowing.values():
        refuse_other_width(one, first)
    longest = {own: one.max_length for own, one in guessing.items()}
    longest[key] = min(one.max_length for one in (first, *borrowing.values()))
    read = {own: read_pieces(one, _both(pairs), longest[own]) for own, one in guessing.items()}
    pairs, at, notes = _short_enough(pairs, list(read.values()), min(longest.values()))
    read = {own: pieces.take(at) for own, pieces in read.items()}
    own_values, lent = _scored(first, list(borrowing.values()), read[key], _groups(read[key], config.seed))
    found = {key: [Arm(key, "own", own_values)]}
    for own, one in guessing.items():
        if own != key:
            found[own] = [Arm(own, "own", _scored(one, [], read[own], None)[0])]
    for own, (as_it_is, mapped) in zip(borrowing, lent, strict=True):
        found[own] = [Arm(own, "as_it_is", as_it_is)]
        if mapped is None:
            notes.append("too few texts for an affine map: what was forgotten can't be told from what drifted")
        else:
            found[own].append(Arm(own, "mapped", mapped.values, mapped.explained))
    arms = [arm for own in named for arm in found[own]]
    if any(arm.way == "mapped" for arm in arms):
        notes += fitted_on_pieces(len(read[key].texts), len(read[key].lengths), first.hidden_size)
    tables = {"phenomena": _phenomena(arms, pairs, config), "pairs": _rows(arms, pairs, config)}
    random = None
    if config.null:
        drawn = with_own_task_head(first, init="random", seed=config.seed)
        random = Arm(key, "own", _scored(drawn, [], read[key], None)[0])
        by = _phenomena([random], pairs, config).set_index("phenomenon")["accuracy"]
        tables["phenomena"]["random"] = tables["phenomena"]["phenomenon"].map(by)
        tables[null_panel.TABLE] = _panel(arms, pairs, config)
    return minimal_pairs_result(models, pairs, arms, tables, notes, random)


@dataclass(frozen=True)
class _Mapped:
    values: np.ndarray
    """The pseudo-log-likelihood of each text, [2 n]."""
    explained: float
    """The share of the variance that the map explains in texts it wasn't fitted on."""


def _both(pairs: MinimalPairs) -> Examples:
    """The good texts and behind them the bad ones."""
    good, bad = pairs.clean, pairs.corrupted
    seconds = None if good.pair is None or bad.pair is None else good.pair + bad.pair
    return Examples(good.ids + bad.ids, good.text + bad.text, seconds)


def _short_enough(
    pairs: MinimalPairs, read: Sequence[Pieces], longest: int
) -> tuple[MinimalPairs, np.ndarray, list[str]]:
    """The pairs that all models read to their ends, where these are, and what a reader must know."""
    n, notes = len(pairs), list(pairs.notes)
    long = np.any([one.cut.reshape(2, n).any(0) for one in read], axis=0)
    kept = np.flatnonzero(~long)
    if not len(kept):
        raise UserError(
            f"every pair of {pairs.name} is longer than {longest} tokens, which is all that is read of it"
        )
    if len(kept) < n:
        notes.append(too_long(n - len(kept), "pair", "the models read", "left out"))
    if strange := int(np.any([one.unknown.reshape(2, n).any(0) for one in read], axis=0)[kept].sum()):
        have = number_of(strange, "pair has", "pairs have")
        notes.append(f"{have} pieces that the vocabulary doesn't know: such likelihoods mean little")
    return (pairs if len(kept) == n else pairs.take(kept)), np.concatenate([kept, n + kept]), notes


def _groups(pieces: Pieces, seed: int) -> np.ndarray | None:
    """[different text]: its group. Texts of one pair are in one, and so are those of pairs that share a text; None
    where there are too few to divide."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    good, bad = pieces.which.reshape(2, -1)
    texts = len(pieces.lengths)
    count, part = connected_components(coo_array((np.ones(len(good)), (good, bad)), (texts, texts)), directed=False)
    if count < 2 * GROUPS:
        return None
    return np.random.default_rng(seed).permutation(np.arange(count) % GROUPS)[part]


def _scored(
    first: Encoder, borrowing: Sequence[Encoder], pieces: Pieces, groups: np.ndarray | None
) -> tuple[np.ndarray, list[tuple[np.ndarray, _Mapped | None]]]:
    """What the first model says of the texts [2 n] by its own head, and what each of the others does by that head: as
    it is, and mapped. Every model reads every masked copy once; the others' states wait in a file for their maps."""
    texts = pieces.texts
    found = np.zeros((1 + len(borrowing), len(texts)))
    sums = [StateSums(first.hidden_size) for _ in borrowing]
    with ExitStack() as until, measuring([first, *borrowing]), torch.inference_mode():
        kept = [
            np.memmap(until.enter_context(TemporaryFile()), np.float32, "w+", shape=(len(texts), first.hidden_size))
            for _ in borrowing
        ]
        bar = until.enter_context(progress("masking", len(texts)))
        for batch in pieces.batches(default_budget(first), first.device):
            states = last_states(first, batch.inputs, batch.at)
            found[0, batch.pieces] = log_p(first, states, batch.right)
            for place, other in enumerate(borrowing):
                theirs = last_states(other, _on(other, batch.inputs), batch.at.to(other.device)).to(states)
                found[1 + place, batch.pieces] = log_p(first, theirs, batch.right)
                if groups is not None:
                    kept[place][batch.pieces] = theirs.float().cpu().numpy()
                    sums[place].add(theirs, states, groups[texts[batch.pieces]])
            bar.advance(len(batch.pieces))
        lent: list[tuple[np.ndarray, _Mapped | None]] = []
        for place in range(len(borrowing)):
            maps = None if groups is None else sums[place].maps()
            mapped = (
                None if groups is None or maps is None else _mapped(first, kept[place], maps, pieces, groups[texts])
            )
            lent.append((pieces.sums(found[1 + place]), mapped))
    return pieces.sums(found[0]), lent


def _mapped(
    head: Encoder, states: np.ndarray, maps: Sequence[AffineMap], pieces: Pieces, groups: np.ndarray
) -> _Mapped:
    """The same of states [piece, d] that are mapped, each group's by what the other groups give."""
    right = pieces.fields["input_ids"][pieces.places]
    values = np.zeros(len(right))
    for group, affine in enumerate(maps):
        for at in np.array_split(mine := np.flatnonzero(groups == group), 1 + len(mine) // 8192):
            some = torch.from_numpy(np.array(states[at])).to(head.device)
            values[at] = log_p(head, affine(some), torch.from_numpy(right[at]).long().to(head.device))
    explained = float(np.average([one.explained for one in maps], weights=np.bincount(groups, minlength=GROUPS)))
    return _Mapped(pieces.sums(values), explained)


def _on(encoder: Encoder, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: each.to(encoder.device) for name, each in inputs.items()}


def _phenomena(arms: Sequence[Arm], pairs: MinimalPairs, config: MinimalPairsConfig) -> pd.DataFrame:
    """The accuracy of each arm in each phenomenon, from the first's best to its worst, and how far it is from the
    first's."""
    about, parts = np.array(pairs.phenomenon), list[pd.DataFrame]()
    before = arms[0].right
    for arm in arms:
        rows = []
        for name in pairs.phenomena:
            at = about == name
            right, n = arm.right[at], int(at.sum())
            low, high = share_interval(right.mean(), n)
            rows.append({
                "checkpoint": arm.model, "way": arm.way, "phenomenon": name, "n": n, "accuracy": right.mean(),
                "low": low, "high": high, "ties": int((right == 0.5).sum()), "p": sign_flip_p(_signs(right)),
            })  # fmt: skip
            if arm is not arms[0]:
                change = right - before[at]
                ends = bootstrap_interval(_mean, change[:, None], repeats=config.repeats, seed=config.seed)
                rows[-1] |= {"change": change.mean(), "change_low": ends[0], "change_high": ends[1],
                             "change_p": sign_flip_p(2 * change)}  # fmt: skip
        table = pd.DataFrame(rows)
        table.insert(table.columns.get_loc("p") + 1, "p_holm", holm(table["p"].to_numpy()))
        table.insert(table.columns.get_loc("p_holm") + 1, "certain", table["p_holm"] < LEVEL)
        if arm is not arms[0]:
            table["change_p_holm"] = holm(table["change_p"].to_numpy())
            table["changed"] = (table["change_p_holm"] < LEVEL).astype("boolean")
        parts.append(table)
    order = parts[0].sort_values("accuracy", ascending=False, kind="stable")["phenomenon"]
    place = {name: at for at, name in enumerate(order)}
    return pd.concat(parts).sort_values(
        "phenomenon", key=lambda names: names.map(place), kind="stable", ignore_index=True
    )


def _mean(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _signs(right: np.ndarray) -> np.ndarray:
    """1 where the good text is likelier, -1 where the bad one is, 0 where both are equal."""
    return (2 * right - 1).astype(int)


def _rows(arms: Sequence[Arm], pairs: MinimalPairs, config: MinimalPairsConfig) -> pd.DataFrame:
    """Some of the pairs, drawn at random, with both texts' values in every arm."""
    order = np.random.default_rng(config.seed).permutation(len(pairs))
    at = np.sort(order[: config.rows])

    def told(column: tuple[str, ...]) -> list[str]:
        return [column[row][:_LONGEST] for row in at]

    seconds = {}
    if pairs.clean.pair is not None and pairs.corrupted.pair is not None:
        seconds = {"pair": told(pairs.clean.pair), "bad_pair": told(pairs.corrupted.pair)}
    return pd.concat(
        [
            pd.DataFrame({
                "row": told(pairs.clean.ids), "phenomenon": told(pairs.phenomenon), "checkpoint": arm.model,
                "way": arm.way, "good": arm.good[at], "bad": arm.bad[at], "difference": (arm.good - arm.bad)[at],
                "right": arm.right[at], "text": told(pairs.clean.text), "bad_text": told(pairs.corrupted.text),
                **seconds,
            })
            for arm in arms
        ],
        ignore_index=True,
    )  # fmt: skip


def _panel(arms: Sequence[Arm], pairs: MinimalPairs, config: MinimalPairsConfig) -> pd.DataFrame:
    """How many phenomena are found in each draw in which both sides of each pair are exchanged at random."""
    about = np.array(pairs.phenomenon)
    generator = np.random.default_rng(config.seed + 1)
    sides = generator.choice([-1, 1], (null_panel.DRAWS, len(pairs)))
    found: dict[Hashable, np.ndarray] = {}
    for arm in arms:
        tests = {"against_half": _signs(arm.right)}
        if arm is not arms[0]:
            tests["change"] = (2 * (arm.right - arms[0].right)).astype(int)
        for name, signs in tests.items():
            p = [sign_flip_ps(signs[about == one], sides[:, about == one] @ signs[about == one])
                 for one in pairs.phenomena]  # fmt: skip
            found[arm.model, arm.way, name] = (holm(np.stack(p, 1)) < LEVEL).sum(1)
    return null_panel.panel(found, ["checkpoint", "way", "tests"])
