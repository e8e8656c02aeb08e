"""The two texts of a pair, run side by side: what either is answered, and how far either run is from the one answer to
the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


def contrasts(
    asked: ModelOutput,
    clean: Examples,
    corrupted: Examples,
    *,
    gradients: bool = False,
    nodes: int = 0,
    tokens: int | None = None,
) -> Contrasts:
    """The pairs whose texts have their tokens at the same places and are answered differently.

    gradients   also what each activation did by its gradient, at either run
    nodes       also the gradient at so many points between the two texts' embeddings, averaged (`patch_gradients`)
    """
    paired = paired_rows(asked, clean, corrupted)
    encoder, count = asked.encoder, len(paired)
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
            answers = {side: asked.answers(raw, batch).detach() for side, (batch, raw, _) in runs.items()}
            one, other = answers["clean"], answers["corrupted"]
            found = {side: asked.contrast(raw, batch, one, other) for side, (batch, raw, _) in runs.items()}
            for side, ld in found.items():
                of[side][group] = ld.detach().double().cpu().numpy()
                said[side].append((group, answers[side].cpu().numpy()))
            if attributed is not None:
                attributed.add(asked, group, runs, found, (one, other), recorder)
            bar.advance(len(group))
    told = {side: _joined(parts, count) for side, parts in said.items()}
    differ = _differ(told["clean"], told["corrupted"])
    if attributed is not None and not attributed.is_finite:
        raise not_finite(encoder.name, "on the way back, in its gradients")
    kept = np.flatnonzero(differ)
    return Contrasts(
        paired.take(kept, {"same": count - len(kept)}),
        {side: each[kept] for side, each in told.items()},
        {side: each[kept] for side, each in of.items()},
        attributed.take(kept) if attributed else None,
    )


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
