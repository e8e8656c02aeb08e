"""The two texts of a pair, run side by side: what either is answered, and how far either run is from one answer to
the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bertscope.core.examples import NOTHING, Examples
from bertscope.core.progress import progress
from bertscope.models.evaluating import frozen
from bertscope.models.finite_pass import measuring, not_finite
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import ModelOutput, group_sized, put
from bertscope.models.paired_rows import SIDES, PairedRows, Side, paired_rows
from bertscope.models.patch_gradients import Attributed, Run
from bertscope.models.recorded_activations import recording

_ALIKE = 1e-6
"""Numbers that are nearer than this are the same prediction."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Pairs of texts that a model answers differently, and how far either run is from the one answer to the other."""

    paired: PairedRows
    answers: Mapping[Side, np.ndarray]
    """[pair, ...]: what is answered on either side."""
    of: Mapping[Side, np.ndarray]
    """[pair]: the logit of the clean text's answer minus that of the corrupted one's, in either run."""
    attributed: Attributed | None = None
    """What each activation did by its gradient, if that was asked for."""

    def __len__(self) -> int:
        return len(self.paired)

    @property
    def between(self) -> np.ndarray:
        """[pair]: what lies between the two runs."""
        return self.of["clean"] - self.of["corrupted"]

    def take(self, pairs: np.ndarray, **dropped: int) -> Contrasts:
        """Some of the pairs, and why how many others weren't taken."""
        return Contrasts(
            self.paired.take(pairs, dropped),
            {side: each[pairs] for side, each in self.answers.items()},
            {side: each[pairs] for side, each in self.of.items()},
            self.attributed.take(pairs) if self.attributed else None,
        )


def contrasts(asked: ModelOutput, clean: Examples, corrupted: Examples, **how: Any) -> Contrasts:
    """The pairs whose texts have their tokens at the same places and are answered differently; `how` as for
    `compared`."""
    found = compared(paired_rows(asked, clean, corrupted), **how)
    one, other = (found.answers[side] for side in SIDES)
    kept = np.flatnonzero(_differ(one, other))
    return found.take(kept, same=len(found) - len(kept))


def compared(
    paired: PairedRows,
    answers: Mapping[Side, np.ndarray] | None = None,
    *,
    gradients: bool = False,
    nodes: int = 0,
    tokens: int | None = None,
) -> Contrasts:
    """Both runs of all of the pairs.

    answers     what is contrasted; by default what the model answers
    gradients   also what each activation did by its gradient, at either run
    nodes       also the gradient at so many points between the two texts' embeddings, averaged (`patch_gradients`)
    """
    asked, count = paired.asked, len(paired)
    encoder = asked.encoder
    budget = tokens or default_budget(encoder) // (2 if gradients else 1)
    of = {side: np.zeros(count) for side in SIDES}
    said: dict[Side, list[tuple[np.ndarray, np.ndarray]]] = {side: [] for side in SIDES}
    attributed = Attributed.nothing(encoder, count, nodes) if gradients else None
    with (
        measuring([encoder]),
        frozen(encoder),
        torch.set_grad_enabled(gradients),
        recording(encoder, gradients=gradients) as recorder,
        asked.sparing(),
        progress(f"comparing pairs: {encoder.name}", count) as bar,
    ):
        for group in group_sized(paired.longest, np.diff(paired.starts), budget):
            runs = dict[Side, Run]()
            for side in SIDES:
                batch = paired.batch(side, group)
                raw = recorder.run(asked, batch)
                runs[side] = batch, raw, recorder.activations
            one, other = (
                asked.answers(runs[side][1], runs[side][0]).detach()
                if answers is None
                else torch.from_numpy(answers[side][group]).to(encoder.device)
                for side in SIDES
            )
            found = {side: asked.contrast(raw, batch, one, other) for side, (batch, raw, _) in runs.items()}
            for side, each in zip(SIDES, (one, other), strict=True):
                of[side][group] = found[side].detach().double().cpu().numpy()
                said[side].append((group, each.cpu().numpy()))
            if attributed is not None:
                attributed.add(asked, group, runs, found, (one, other), recorder)
            bar.advance(len(group))
    if attributed is not None and not attributed.is_finite:
        raise not_finite(encoder.name, "on the way back, in its gradients")
    return Contrasts(paired, {side: _joined(parts, count) for side, parts in said.items()}, of, attributed)


def _joined(parts: Sequence[tuple[np.ndarray, np.ndarray]], count: int) -> np.ndarray:
    """Answers of groups of pairs in one array."""
    if not parts:
        return np.zeros(0)
    width = np.max([each.shape[1:] for _, each in parts], axis=0).astype(int)
    found = np.full((count, *width), NOTHING, dtype=parts[0][1].dtype)
    for group, each in parts:
        put(found, group, each)
    return found


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """[pair]: whether the answers do, where both sides have one."""
    if one.dtype.kind == "f":
        return np.abs(one - other) > _ALIKE
    differ = (one != other) & (one != NOTHING) & (other != NOTHING)
    return differ.reshape(len(differ), -1).any(1) if len(differ) else np.zeros(0, dtype=bool)


def unrelated(found: Contrasts, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs for which there are that many others with the same answers and their tokens at the same places, and
    who these are, drawn at random [draw, pair]."""
    alike: dict[tuple[bytes, bytes], list[int]] = {}
    for pair, key in enumerate(zip(found.paired.layouts, _answers(found), strict=True)):
        alike.setdefault(key, []).append(pair)
    generator = np.random.default_rng(seed)
    donors = np.full((draws, len(found)), -1)
    for group in alike.values():
        if len(group) > draws:
            order = generator.permutation(group)
            for draw, row in enumerate(donors, start=1):
                row[order] = np.roll(order, draw)
    pairs = np.flatnonzero((donors >= 0).all(0))
    return pairs, donors[:, pairs]


def _answers(found: Contrasts) -> list[bytes]:
    """[pair]: what two pairs share that are answered alike on both sides, where the sides differ, and there; of
    numbers, which side has the higher."""
    one, other = (found.answers[side] for side in SIDES)
    if one.dtype.kind == "f":
        return [sign.tobytes() for sign in np.sign(one - other)]
    sides = np.stack([one, other], -1).reshape(len(found), -1, 2)
    where = [np.flatnonzero(each[:, 0] != each[:, 1]) for each in sides]
    return [at.tobytes() + each[at].tobytes() for at, each in zip(where, sides, strict=True)]
