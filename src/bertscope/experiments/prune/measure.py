"""`prune`: what goes next, whether the model still passes, and the steps on disk, so that a killed run goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.gradients import gate_gradients, unit_length
from bertscope.analyses.part_rankings import of_units, rank_parts
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text, explained, write_text
from bertscope.core.progress import progress
from bertscope.core.ranking import Ranking, stored_rankings
from bertscope.core.result import Result
from bertscope.core.step import FORMAT
from bertscope.data.task import Task
from bertscope.experiments.changed_answers import changed_answers
from bertscope.experiments.prune.question import METHODS, PruneConfig
from bertscope.experiments.prune.result import Tested, part_table, prune_result, weight_table
from bertscope.experiments.prune.stopping import Bar, Stops
from bertscope.experiments.subnetworks import Subnetwork, only, parts, share_left
from bertscope.models.encoder import Encoder
from bertscope.models.masks import by_magnitude, prunable, pruned_counts, split

_FEWEST_WEIGHTS = 0.01  # where the smallest mask is looked for: the share at which looking ends


@dataclass(frozen=True)
class Pruned:
    result: Result


def measure(
    model: Encoder,
    task: Task,
    config: PruneConfig,
    *,
    ranking: Result | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Pruned:
    folder = None if out is None else Path(out)
    return Pruned(Pruning(model, task, config, folder, resume=resume, ranking=ranking).result())


def kept(folder: Path, result: Result) -> Pruned:
    return Pruned(result)


class Pruning:
    """One model pruned on one task. Rows are what happened, in order; row 0 is the full model."""

    def __init__(
        self,
        encoder: Encoder,
        task: Task,
        config: PruneConfig,
        folder: Path | None,
        *,
        resume: bool = True,
        ranking: Result | None = None,
    ) -> None:
        self.encoder, self.task, self.config = encoder, task.asked_of(encoder), config
        self._units = parts(encoder)
        self._size = len(self._units)
        if config.method == "m":
            self._size = sum(parameter.numel() for parameter in prunable(encoder).values())
        self._given = None if ranking is None else self._stored(ranking)
        # With the format: the rows of a run that an older version began say other words.
        order = self._given.digest if self._given else config.order
        recipe = [FORMAT, to_json(config), encoder.fingerprint, task.fingerprint, order]
        self._log = Iterations(folder, recipe, resume=resume)
        self._kept = np.ones(self._size, bool)
        self._measured = (b"", np.zeros(0))

    def result(self) -> Result:
        full = self._row("full", np.ones(self._size, bool))
        self._refuse_chance(full)
        self._bar = Bar(self.task, self.task.validation, self._moments(full), self.config)
        self._standings = [self._bar.standing(self._moments(full))]
        self._stops = Stops(self.config, len(self._standings[0].above))
        label = f"pruning {self.encoder.name} ({METHODS[self.config.method]})"
        with progress(label, None) as bar:
            for row in self._weight_steps() if self.config.method == "m" else self._part_steps():
                bar.advance(1, left=f"{row['left']:.2f}", **{self.task.metric: f"{row['score']:.3f}"})
        return self._answer()

    @property
    def bar(self) -> float:
        """The validation set's score that must be reached."""
        return self._bar.value

    def _weight_steps(self) -> Iterator[dict[str, Any]]:
        """Each step prunes a share of what remains, the smallest first."""
        order = by_magnitude(self.encoder)
        for gone in pruned_counts(len(order), self.config.share):
            kept = np.ones(len(order), bool)
            kept[order[:gone]] = False
            row, goes_on = self._step("weights", kept)
            yield row
            if not goes_on or (self.config.stop == "smallest" and row["left"] < _FEWEST_WEIGHTS):
                return

    def _part_steps(self) -> Iterator[dict[str, Any]]:
        """Heads and MLPs together; then, from what is kept, heads alone, half as many; then MLPs one by one."""
        is_head = np.array([unit.kind == "head" for unit in self._units])
        at_once = max(1, round(self.config.share * is_head.sum()))
        for phase, heads, mlps in (
            ("heads_and_mlps", at_once, 1),
            ("heads", max(1, at_once // 2), 0),
            ("mlps", 0, 1),
        ):
            mask, goes_on = self._kept, True
            self._stops.begin_phase()
            while goes_on and (mask & is_head).any() * heads + (mask & ~is_head).any() * mlps:
                candidate = self._log.upcoming(len(mask))
                if candidate is None:
                    candidate = mask.copy()
                    for kind, count in ((is_head, heads), (~is_head, mlps)):
                        left = np.flatnonzero(mask & kind)
                        values = self._values(mask)[left] if count else np.zeros(len(left))
                        candidate[left[np.argsort(values, kind="stable")[:count]]] = False
                row, goes_on = self._step(phase, candidate)
                yield row
                mask = candidate

    def _step(self, phase: str, mask: np.ndarray) -> tuple[dict[str, Any], bool]:
        """Score a mask, and keep it if the rule says so; its row, and whether the phase goes on after it."""
        row = self._row(phase, mask)
        self._standings.append(self._bar.standing(self._moments(row)))
        goes_on = self._stops.take(row["iteration"], row["left"], self._standings[-1].passes)
        if self._stops.kept[0] == row["iteration"]:
            self._kept = mask
        return row, goes_on

    def _values(self, kept: np.ndarray) -> np.ndarray:
        """By which parts go, the lowest first: measured anew for each mask, or once."""
        return self._importance(kept) if self.order == "recomputed" else self._fixed

    @property
    def order(self) -> str:
        """By what parts go."""
        return self._given.by if self._given else self.config.order

    @cached_property
    def _fixed(self) -> np.ndarray:
        """The values of an order that isn't measured again, [part]."""
        if self._given is not None:
            return self._given.of(self._units)
        if self.config.order == "random":
            return np.random.default_rng(self.config.seed).random(len(self._units))
        if self.config.order == "gradient":
            return self._importance(np.ones(self._size, bool))
        (ranking,) = rank_parts(WithoutParts(self.encoder, self.task), [self.config.order]).rankings  # type: ignore[list-item]
        return ranking.of(self._units)

    def _stored(self, result: Result) -> Ranking:
        """The order that a stored result gives: the first that its question names."""
        if self.config.method == "m" or self.config.order != "recomputed":
            raise UserError("a ranking gives the order of heads and MLPs; leave out --order and --method m beside it")
        ranking = stored_rankings(result, self.encoder.record, self._units)[0]
        if not ranking.has(self._units):
            kind = "MLPs" if ranking.units[0].kind == "head" else "heads"
            raise UserError(f"the result of {result.question} ranks no {kind}, which are pruned too; ask it of both")
        return ranking

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
            self._measured = (kept.tobytes(), np.nan_to_num(of_units(heads, found.mlps, self._units)))
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
            predicted = smaller.predict(self.task.validation, self.task.output)
        score = self.task.score(predicted, self.task.validation)
        row = {"iteration": len(self._log.rows), "phase": phase, "left": share_left(self.encoder, subnetwork)}
        row |= self._counts(kept) | {"score": score.value, "low": score.low, "high": score.high}
        answers = self.task.outputs_to_predictions(predicted).tolist()
        return self._log.add(step, row | {"truncated": predicted.truncated, "answers": answers})

    def _moments(self, row: dict[str, Any]) -> np.ndarray:
        """Of what the mask of a row answers to the validation set."""
        return self.task.output.moments(np.array(row["answers"]), self.task.output.gold(self.task.validation))

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

    def _answer(self) -> Result:
        """The answer: the mask that is kept, scored on the test set."""
        task, method, kept = self.task, self.config.method, self._kept
        predicted = self.encoder.predict(task.test, task.output)
        with only(self.encoder, Subnetwork(method, kept)) as smaller:
            rest = smaller.predict(task.test, task.output)
        bar = Bar(task, task.test, task.moments(predicted), self.config)
        survivors = (
            weight_table(self.encoder, split(self.encoder, kept)) if method == "m" else part_table(self._units, kept)
        )
        tested = Tested(
            task.score(predicted), task.score(rest), bar.standing(task.moments(rest)).above, predicted.truncated,
            changed_answers(task, predicted, {"pruned": rest}),
        )  # fmt: skip
        return prune_result(
            self.encoder, task, self._steps_table(), self._stops.kept, kept, survivors, tested,
            bar=self.bar, truncated=self._log.rows[0]["truncated"], config=self.config, order=self.order,
            seen=self._given is not None and self._given.saw_test_set_of(task.name),
        )  # fmt: skip

    def _steps_table(self) -> pd.DataFrame:
        """What happened, with how far each mask is above the bar, and what became of it."""
        table = pd.DataFrame(self._log.rows).drop(columns=["step", "truncated", "answers"])
        table["above_bar"] = [float(one.above[0]) for one in self._standings]
        table["passes"] = [not at or bool(one.passes[0]) for at, one in enumerate(self._standings)]
        if self.config.stop == "tested":
            table["p"] = [one.p for one in self._standings]
        outcome = np.where(table["passes"], "passes", "fails").astype(object)
        outcome[self._stops.kept[0]] = "kept"
        return table.assign(outcome=outcome)


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
