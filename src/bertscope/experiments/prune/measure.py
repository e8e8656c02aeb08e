"""`prune`: what goes next, whether the model still passes, and the steps on disk, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.analyses.gradients import gate_gradients, unit_length
from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text, explained, write_text
from bertscope.core.progress import progress
from bertscope.core.result import Result
from bertscope.core.step import FORMAT
from bertscope.data.task import Task
from bertscope.experiments.prune.question import METHODS, PruneConfig
from bertscope.experiments.prune.result import Tested, part_table, prune_result, weight_table
from bertscope.experiments.subnetworks import Subnetwork, only, parts, share_left
from bertscope.models.encoder import Encoder
from bertscope.models.masks import by_magnitude, prunable, pruned_counts, split


@dataclass(frozen=True)
class Pruned:
    result: Result


def measure(
    model: Encoder, task: Task, config: PruneConfig, *, out: str | Path | None = None, resume: bool = True
) -> Pruned:
    return Pruned(Pruning(model, task, config, None if out is None else Path(out), resume=resume).result())


def kept(folder: Path, result: Result) -> Pruned:
    return Pruned(result)


class Pruning:
    """One model pruned on one task. Rows are what happened, in order; row 0 is the full model."""

    def __init__(
        self, encoder: Encoder, task: Task, config: PruneConfig, folder: Path | None, *, resume: bool = True
    ) -> None:
        encoder.need_classifier(task.output)
        self.encoder, self.task, self.config = encoder, task, config
        self._units = parts(encoder)
        self._size = len(self._units)
        if config.method == "m":
            self._size = sum(parameter.numel() for parameter in prunable(encoder).values())
        # With the format: the rows of a run that an older version began say other words.
        recipe = [FORMAT, to_json(config), encoder.fingerprint, task.fingerprint]
        self._log = Iterations(folder, recipe, resume=resume)
        self._measured = (b"", np.zeros(0))

    def result(self) -> Result:
        full = self._row("full", np.ones(self._size, bool))
        self._refuse_chance(full)
        label = f"pruning {self.encoder.name} ({METHODS[self.config.method]})"
        with progress(label, None) as bar:
            kept = np.ones(self._size, bool)
            for phase, candidate in self._weight_steps() if self.config.method == "m" else self._part_steps():
                row = self._row(phase, candidate)
                kept = candidate if row["passes"] else kept
                bar.advance(1, left=f"{row['left']:.2f}", **{self.task.metric: f"{row['score']:.3f}"})
        return self._answer(kept)

    @property
    def bar(self) -> float:
        """The validation set's score that must be reached."""
        full, chance = self._log.rows[0]["score"], self.task.chance(self.task.validation)
        floor = chance if self.config.rule == "chance" else 0.0
        return floor + self.config.threshold * (full - floor)

    def _weight_steps(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each step prunes a share of what remains, the smallest first, until a step fails."""
        order = by_magnitude(self.encoder)
        for gone in pruned_counts(len(order), self.config.share):
            kept = np.ones(len(order), bool)
            kept[order[:gone]] = False
            yield "weights", kept
            if not self._passed:
                return

    def _part_steps(self) -> Iterator[tuple[str, np.ndarray]]:
        """Heads and MLPs together until a step fails; then heads alone, half as many; then MLPs one by one."""
        is_head = np.array([unit.kind == "head" for unit in self._units])
        at_once = max(1, round(self.config.share * is_head.sum()))
        kept = np.ones(len(self._units), bool)
        for phase, heads, mlps in (
            ("heads_and_mlps", at_once, 1),
            ("heads", max(1, at_once // 2), 0),
            ("mlps", 0, 1),
        ):
            while (kept & is_head).any() * heads + (kept & ~is_head).any() * mlps:
                candidate = self._log.upcoming(len(kept))
                if candidate is None:
                    candidate = kept.copy()
                    for kind, count in ((is_head, heads), (~is_head, mlps)):
                        left = np.flatnonzero(kept & kind)
                        importance = self._importance(kept)[left] if count else np.zeros(len(left))
                        candidate[left[np.argsort(importance, kind="stable")[:count]]] = False
                yield phase, candidate
                if not self._passed:
                    break
                kept = candidate

    @property
    def _passed(self) -> bool:
        return self._log.rows[-1]["passes"]

    def _importance(self, kept: np.ndarray) -> np.ndarray:
        """Of every part, in the model without those that went already; computed once for each mask.

        Heads are scaled to length 1 in each layer, those that are off included: their gates have a gradient too.
        """
        if self._measured[0] != kept.tobytes():
            off = [unit for unit, stays in zip(self._units, kept, strict=True) if not stays]
            found = gate_gradients(
                self.encoder, self.task, self.task.validation, form=self.config.importance, off=off
            )
            # A head that is alone in its layer would always have length 1.
            heads = unit_length(found.heads) if self.encoder.n_heads > 1 else found.heads
            values = [
                heads[unit.layer_index, unit.index] if unit.kind == "head" else found.mlps[unit.layer_index]
                for unit in self._units
            ]
            self._measured = (kept.tobytes(), np.nan_to_num(np.array(values)))
        return self._measured[1]

    def _row(self, phase: str, kept: np.ndarray) -> dict[str, Any]:
        """Score the model with this mask on validation, and write it down; a row that is there already is taken."""
        subnetwork = Subnetwork(self.config.method, kept)
        step = np.packbits(kept).tobytes().hex()
        if self.config.method == "m":  # millions of weights, which follow from how many are kept
            step = digest_text(step)
        if (taken := self._log.take(step)) is not None:
            return taken
        with only(self.encoder, subnetwork) as smaller:
            predicted = smaller.predict(self.task.validation)
        score = self.task.score(predicted, self.task.validation)
        row = {"iteration": len(self._log.rows), "phase": phase, "left": share_left(self.encoder, subnetwork)}
        row |= self._counts(kept) | {"score": score.value, "low": score.low, "high": score.high}
        row |= {"truncated": predicted.truncated}
        return self._log.add(step, row | {"passes": not self._log.rows or score.value >= self.bar})

    def _counts(self, kept: np.ndarray) -> dict[str, int]:
        if self.config.method == "m":
            return {"weights": int(kept.sum())}
        heads = sum(unit.kind == "head" for unit in self._units)
        return {"heads": int(kept[:heads].sum()), "mlps": int(kept[heads:].sum())}

    def _refuse_chance(self, full: dict[str, Any]) -> None:
        chance = self.task.chance(self.task.validation)
        if full["low"] <= chance and not self.config.force:
            raise UserError(
                f"{self.encoder.name} isn't clearly above chance on {self.task.name} (validation: "
                f"{full['score']:.3f} [{full['low']:.3f}, {full['high']:.3f}], chance {chance:.3f}): what survives "
                "would mean nothing; train it better, or insist with --force"
            )

    def _answer(self, kept: np.ndarray) -> Result:
        """The answer: the last mask that passed, scored on the test set."""
        task, method = self.task, self.config.method
        predicted = self.encoder.predict(task.test)
        whole = task.score(predicted)
        with only(self.encoder, Subnetwork(method, kept)) as smaller:
            rest = task.score(smaller.predict(task.test))
        survivors = (
            weight_table(self.encoder, split(self.encoder, kept)) if method == "m" else part_table(self._units, kept)
        )
        return prune_result(
            self.encoder, task, self._log.rows, kept, survivors, Tested(whole, rest, predicted.truncated),
            bar=self.bar, config=self.config,
        )  # fmt: skip


class Iterations:
    """What happened so far, a row a step. A loop asks `take` for the row of the step it is about to make, and makes
    it only if there is none."""

    def __init__(self, folder: Path | None, recipe: Any, *, resume: bool = True) -> None:
        self.rows: list[dict[str, Any]] = []
        self._path = folder / "iterations.json" if folder else None
        self._recipe = digest_text(canonical_json(recipe))
        self._earlier: list[dict[str, Any]] = []
        if resume and self._path and self._path.exists():
            try:
                earlier = json.loads(self._path.read_text(encoding="utf-8"))
                self._earlier = earlier["rows"] if earlier["recipe"] == self._recipe else []
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{self._path} is damaged ({error}); delete it and run again") from error

    def upcoming(self, size: int) -> np.ndarray | None:
        """The mask of that size which is the next step of an earlier run, where its name is the mask itself."""
        if not self._earlier:
            return None
        packed = np.frombuffer(bytes.fromhex(self._earlier[0]["step"]), np.uint8)
        return np.unpackbits(packed, count=size).astype(bool)

    def take(self, step: str) -> dict[str, Any] | None:
        """The next row of an earlier run, if it is about this step; from where the runs part, none is taken."""
        if self._earlier and self._earlier[0]["step"] == step:
            self.rows.append(self._earlier.pop(0))
            return self.rows[-1]
        self._earlier = []
        return None

    def add(self, step: str, row: dict[str, Any]) -> dict[str, Any]:
        self.rows.append(row | {"step": step})
        if self._path:
            with explained(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._path, json.dumps({"recipe": self._recipe, "rows": self.rows}))
        return self.rows[-1]
