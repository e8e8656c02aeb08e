"""`forgetting`: masked words by the base's head, and what other questions say of the same checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np
import torch

from bertscope.analyses.forgetting.question import ForgettingConfig
from bertscope.analyses.forgetting.result import Line, Lost, forgetting_result
from bertscope.analyses.minimal_pairs.question import minimal_pairs
from bertscope.analyses.probe.question import probe
from bertscope.analyses.structure.question import structure
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.hashing import hashed
from bertscope.core.in_turn import InTurn
from bertscope.core.intervals import interval
from bertscope.core.model_record import ModelRecord, by_key
from bertscope.core.progress import progress
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.statement import too_long
from bertscope.data.minimal import MinimalPairs
from bertscope.data.task import Task
from bertscope.models.batches import WINDOW, group_by_budget, pad
from bertscope.models.cast import Cast
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.masked_words import mask_words
from bertscope.models.observe import default_budget
from bertscope.models.state_map import GROUPS, AffineMap, StateSums
from bertscope.models.states import hidden_states
from bertscope.models.word_guesses import judged, refuse_other_width, refuse_without_head


def measure(
    models: Sequence[Encoder | InTurn],
    examples: Examples,
    config: ForgettingConfig,
    pairs: MinimalPairs | None = None,
    task: Task | None = None,
) -> Result:
    if len(models) < 2:
        raise UserError("name the base first, then the checkpoints of its fine-tuning: two models or more")
    if len(examples) < 2 * GROUPS:
        raise UserError(f"{len(examples)} texts are too few for an affine map; give {2 * GROUPS} or more")
    with TemporaryDirectory() as folder:
        cast = Cast(models, Path(folder))
        base, *checkpoints = cast.members
        refuse_without_head(base.encoder)
        for one in checkpoints:
            refuse_other_width(one.encoder, base.encoder)
        steps = steps_of([one.record for one in checkpoints], config.steps)
        lines, lost = _masked(cast, steps, examples, config)
        if pairs is not None:
            lines += _told_apart(cast, steps, pairs, config)
        cut = lost.truncated
        notes = [too_long(cut, "text", f"{base.encoder.max_length} tokens")] if cut else []
        if config.probes and examples.governors is not None:
            try:
                lines += _probed(cast, steps, examples, config)
            except UserError as error:  # too few sentences, or no punctuation: what was found before stands
                notes.append(f"no probes of trees and parts of speech: {error}")
        if task is not None:
            lines += list(_scores(cast, steps, task))
    return forgetting_result(cast.members, examples, steps, lines, lost, task, notes, bool(config.steps))


def steps_of(checkpoints: Sequence[ModelRecord], told: Sequence[int] = ()) -> list[int]:
    """After how many steps each was kept: as it is told, or as it says itself; their places where some don't, or say
    the same."""
    if told:
        if len(told) != len(checkpoints):
            raise UserError(f"there are {len(told)} steps for {len(checkpoints)} checkpoints; give a step for each")
        return list(told)
    noted = [one.origin.step for one in checkpoints if one.origin is not None and one.origin.step is not None]
    if len(noted) == len(checkpoints) and len(set(noted)) == len(noted):
        if noted != sorted(noted):
            raise UserError("the checkpoints aren't in the order of their steps; name the earliest first")
        return noted
    return list(range(1, len(checkpoints) + 1))


@dataclass(frozen=True)
class _Pieces:
    """Masked pieces of a batch."""

    inputs: dict[str, torch.Tensor]
    masked: torch.Tensor
    """[row, token]"""
    right: torch.Tensor
    text: np.ndarray
    """[piece]: the texts that they are of."""


def _windows(base: Encoder, examples: Examples) -> Iterator[tuple[list[_Pieces], int]]:
    """Batches of a window of texts, whose masked pieces all checkpoints guess in turn; and how many texts are cut."""
    for first in range(0, len(examples), WINDOW):
        texts = examples.take(range(first, min(first + WINDOW, len(examples))))
        tokens, right = mask_words(base.tokenizer, texts, base.max_length)
        batches = []
        for rows in group_by_budget(tokens.lengths, default_budget(base)):
            batch = pad(tokens, rows, pad_id=base.tokenizer.pad_token_id or 0, device=base.device)
            own = [right[tokens.starts[row] : tokens.starts[row] + tokens.lengths[row]] for row in rows]
            masked = np.zeros(tuple(batch.special.shape), bool)
            for place, pieces in enumerate(own):
                masked[place, : len(pieces)] = pieces != NOTHING
            pieces = np.concatenate([one[one != NOTHING] for one in own])
            batches.append(_Pieces(
                batch.inputs, torch.from_numpy(masked).to(base.device),
                torch.from_numpy(pieces).long().to(base.device), first + np.repeat(rows, masked.sum(1)),
            ))  # fmt: skip
        yield batches, int(tokens.truncated.sum())


def _states(model: Encoder, some: _Pieces) -> torch.Tensor:
    inputs = {name: each.to(model.device) for name, each in some.inputs.items()}
    found = model.model.base_model(**inputs).last_hidden_state[some.masked.to(model.device)]
    return found.to(some.right.device)


def _masked(
    cast: Cast, steps: Sequence[int], examples: Examples, config: ForgettingConfig
) -> tuple[list[Line], Lost]:
    """Each checkpoint's guesses by the base's head, as it is and mapped, each text's by the map of others."""
    base, *checkpoints = cast.members
    head = base.encoder
    group = (hashed(examples.ids, config.seed) % np.uint64(GROUPS)).astype(np.int64)
    rights: list[np.ndarray] = []
    texts: list[np.ndarray] = []
    hits: list[list[np.ndarray]] = [[] for _ in range(1 + len(checkpoints))]
    sums, truncated = [StateSums(head.hidden_size) for _ in checkpoints], 0
    with ExitStack() as until:
        files = [until.enter_context(TemporaryFile()) for _ in checkpoints]
        bar = until.enter_context(progress("masked words", len(examples) * len(cast.members)))
        for batches, cut in _windows(head, examples):
            own, truncated = [], truncated + cut
            with cast.on(base), measuring([head]), torch.inference_mode():
                for some in batches:
                    own.append(_states(head, some))
                    hits[0].append(judged(head, own[-1], some.right)[1])
                    rights.append(some.right.cpu().numpy())
                    texts.append(some.text)
                    bar.advance(len(some.inputs["input_ids"]))
            for place, one in enumerate(checkpoints):
                with cast.on(base, one), measuring([one.encoder]), torch.inference_mode():
                    for some, its in zip(batches, own, strict=True):
                        theirs = _states(one.encoder, some)
                        hits[1 + place].append(judged(head, theirs, some.right)[1])
                        sums[place].add(theirs, its, group[some.text])
                        files[place].write(theirs.float().cpu().numpy().tobytes())
                        bar.advance(len(some.inputs["input_ids"]))
        right, text = np.concatenate(rights), np.concatenate(texts)
        with cast.on(base), torch.inference_mode():
            mapped = [
                _mapped(head, file, _maps(one, examples), right, group[text])
                for file, one in zip(files, sums, strict=True)
            ]
    seen = [np.concatenate(one) for one in hits]
    n = len(examples)
    counts = np.bincount(text, minlength=n).astype(float)

    def moments(hit: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(text, hit, n), counts], axis=1)

    arms = np.stack([moments(one) for one in [*seen, *(hit for hit, _ in mapped)]])  # [arm, text, 2]
    draws = metric_draws(_share, arms, repeats=config.repeats, seed=config.seed)  # [1 + repeats, arm]
    low, high = interval(draws)
    base_value, pieces, lines = float(draws[0, 0]), int(counts.sum()), []
    for way, first in (("as_it_is", 1), ("mapped", 1 + len(checkpoints))):
        for place, step in enumerate(steps):
            at = first + place
            lines.append(
                Line("masked", way, step, float(draws[0, at]), float(low[at]), float(high[at]), pieces, base_value)
            )
    behind = 1 + len(checkpoints)
    explained = [one for _, one in mapped]
    return lines, Lost(draws[:, 0], draws[:, 1:behind], draws[:, behind:], explained, pieces, truncated)


def _share(means: np.ndarray) -> np.ndarray:
    return means[..., 0] / means[..., 1]


def _maps(sums: StateSums, examples: Examples) -> list[AffineMap]:
    maps = sums.maps()
    if maps is None:
        raise UserError(
            f"{len(examples)} texts have too few masked pieces for an affine map: some of their {GROUPS} groups have "
            "less than two; give more texts"
        )
    return maps


def _mapped(
    base: Encoder, file: Any, maps: Sequence[AffineMap], right: np.ndarray, group: np.ndarray
) -> tuple[np.ndarray, float]:
    """Whether each piece is guessed from mapped states, and how much of their variance the maps explain."""
    file.seek(0)
    states = np.memmap(file, np.float32, "r", shape=(len(right), base.hidden_size))
    hit = np.zeros(len(right), bool)
    for place, affine in enumerate(maps):
        mine = np.flatnonzero(group == place)
        for at in np.array_split(mine, 1 + len(mine) // 8192):
            if len(at):
                some = affine(torch.from_numpy(np.array(states[at])).to(base.device))
                hit[at] = judged(base, some, torch.from_numpy(right[at]).long().to(base.device))[1]
    weights = np.bincount(group, minlength=GROUPS)
    return hit, float(np.average([one.explained for one in maps], weights=weights))


def _told_apart(cast: Cast, steps: Sequence[int], pairs: MinimalPairs, config: ForgettingConfig) -> list[Line]:
    lines = []
    base, *checkpoints = cast.members
    for one, step in zip(checkpoints, steps, strict=True):
        with cast.on(base, one):
            result = minimal_pairs([base.encoder, one.encoder], pairs, repeats=config.repeats, seed=config.seed)
        first, key = by_key([base, one])
        found = {(number.of["model"], number.of["way"]): number for number in result.numbers(key="accuracy")}
        own = found[first, "own"].value
        for way in ("own", "as_it_is", "mapped"):
            if told := found.get((key, way)):
                lines.append(Line("pairs", way, step, told.value, told.low, told.high, told.n or 0, own))
    return lines


def _probed(cast: Cast, steps: Sequence[int], examples: Examples, config: ForgettingConfig) -> list[Line]:
    """What probes of each checkpoint find, at the layer that validation chose for it."""
    how: dict[str, Any] = {"repeats": config.repeats, "seed": config.seed}
    keys, states = list(by_key(cast.members)), []
    for one in cast.members:
        with cast.on(one):
            states.append(hidden_states(one.encoder, examples))
    ranks = {"ranks": (config.rank,), "control": False, "random": False, "sentences": 0}
    trees = structure(states, examples, **ranks, **how).tables["scores"]
    trees = trees[(trees["arm"] == "probe") & (trees["metric"] == "uuas") & trees["best_layer"]]
    tables = {"trees": trees.set_index("checkpoint")}
    if "pos" in examples.marks:
        linear = {"targets": ("pos",), "probes": ("linear",), "words": config.words, "code": False, "expected": False}
        tags = probe(states, examples, **linear, **how).tables["probes"].rename(columns={"accuracy": "value"})
        best = tags.loc[tags.groupby("checkpoint")["validation_loss"].idxmin()]
        tables["parts_of_speech"] = best.set_index("checkpoint")
    return [
        Line(name, "probe", step, float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]),
             float(table.loc[keys[0], "value"]))
        for name, table in tables.items()
        for key, step in zip(keys[1:], steps, strict=True)
        for row in [table.loc[key]]
    ]  # fmt: skip


def _scores(cast: Cast, steps: Sequence[int], task: Task) -> Iterator[Line]:
    for one, step in zip(cast.members[1:], steps, strict=True):
        with cast.on(one):
            asked = task.asked_of(one.encoder)
            score = asked.score(one.encoder.predict(asked.test, asked.output))
        yield Line("score", "own", step, score.value, score.low, score.high, score.n, score.chance)
