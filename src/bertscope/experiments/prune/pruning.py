"""The pruning loops behind `prune`: what goes next, whether the model still passes, and what is written down."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.gradients import gate_gradients, unit_length
from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.files import digest_text
from bertscope.core.progress import progress
from bertscope.core.result import Number, Result
from bertscope.core.units import columns
from bertscope.data.task import Scores, Task
from bertscope.experiments.prune.iterations import Iterations
from bertscope.experiments.prune.question import METHODS, PruneConfig
from bertscope.experiments.subnetworks import Subnetwork, only, parts, share_left
from bertscope.models.encoder import Encoder
from bertscope.models.masks import by_magnitude, prunable, pruned_counts, split


class Pruning:
    """One model pruned on one task. Rows are what happened, in order; row 0 is the full model."""

    def __init__(self, encoder: Encoder, task: Task, config: PruneConfig, folder: Path | None) -> None:
        encoder.need_classifier(task.n_outputs)
        self.encoder, self.task, self.config = encoder, task, config
        self._order, self._label_notes = task.match_labels(encoder.labels)
        self._units = parts(encoder)
        self._size = len(self._units)
        if config.method == "m":
            self._size = sum(parameter.numel() for parameter in prunable(encoder).values())
        self._log = Iterations(folder, [to_json(config), encoder.fingerprint, task.fingerprint])
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
        return self._result(kept)

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
            ("heads and MLPs", at_once, 1),
            ("heads", max(1, at_once // 2), 0),
            ("MLPs", 0, 1),
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
        score = self.task.score(predicted.logits[:, self._order], self.task.validation)
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

    def _result(self, kept: np.ndarray) -> Result:
        task, method = self.task, self.config.method
        predicted = self.encoder.predict(task.test)
        whole = task.score(predicted.logits[:, self._order])
        with only(self.encoder, Subnetwork(method, kept)) as smaller:
            rest = task.score(smaller.predict(task.test).logits[:, self._order])
        steps = pd.DataFrame(self._log.rows).drop(columns=["step", "truncated"])
        last = steps[steps["passes"]].iloc[-1]
        sizes = {"left": "share of the blocks' weights", "heads": "", "mlps": ""}
        scored = {"full, test": whole, "pruned, test": rest}
        return Result(
            "prune",
            1,
            tables=(self._weight_tables(kept) if method == "m" else self._part_tables(kept)) | {"steps": steps},
            arrays={"kept": np.packbits(kept), "count": np.array([kept.size])},
            headline=[
                *(Number(name, float(last[name]), unit=said) for name, said in sizes.items() if name in last),
                *(score.named(name) for name, score in scored.items()),
                Number("chance", whole.chance, n=whole.n, unit=whole.metric),
            ],
            figures=[self._trajectory(), self._survivors()],
            subject={"model": self.encoder.name, "task": task.name, "method": method},
            notes=[*task.notes, *self._label_notes, *self._warnings(whole, predicted.truncated)],
        )

    @cached_property
    def _rule(self) -> str:
        what = "score above chance" if self.config.rule == "chance" else "score"
        return f"{self.config.threshold:.0%} of the full model's {what}"

    def _warnings(self, whole: Scores, truncated: int) -> list[str]:
        said = [f"masks are chosen on the validation set ({self._rule}); the test set is only scored"]
        said += cautions(self.encoder, self.task, whole, truncated)
        if seen := self._log.rows[0]["truncated"]:
            said.append(f"{seen} validation texts are longer than {self.encoder.max_length} tokens and were cut")
        if self.config.rule == "paper" and self.bar <= self.task.chance(self.task.validation):
            said.append(f"a constant answer passes this rule: {self.bar:.3f} is not above chance")
        return said

    def _part_tables(self, kept: np.ndarray) -> dict[str, pd.DataFrame]:
        return {"survivors": pd.DataFrame(columns(self._units) | {"survives": kept})}

    def _weight_tables(self, kept: np.ndarray) -> dict[str, pd.DataFrame]:
        path = f"{self.encoder.family.layers}."
        rows = []
        for name, mask in split(self.encoder, kept).items():
            layer, _, matrix = name.removeprefix(path).partition(".")
            matrix = matrix.replace("self.", "").replace("dense.", "")
            rows.append({"layer": int(layer) + 1, "map": matrix, "weights": mask.size, "kept": int(mask.sum())})
        table = pd.DataFrame(rows)
        return {"weights": table.assign(share=table["kept"] / table["weights"])}

    def _trajectory(self) -> Figure:
        return Figure(
            "points", "steps", x="left", y="score", color="phase", title="The score while parts go",
            caption=f"The validation set's {self.task.metric} after each step, against the share of the blocks' "
            f"weights that is left. The upper rule is {self._rule}: the last mask above it is kept. Nothing is "
            "trained in between.",
            labels={"left": "share of weights left", "score": self.task.metric},
            rules={"must be reached": self.bar, "constant answer": self.task.chance(self.task.validation)},
        )  # fmt: skip

    def _survivors(self) -> Figure:
        if self.config.method == "m":
            return Figure(
                "heatmap", "weights", x="map", y="layer", value="share", title="What is left of each matrix",
                caption="The share of weights that survives in each linear map, bias vectors included.",
                labels={"share": "kept", "map": ""},
            )  # fmt: skip
        return Figure(
            "heatmap", "survivors", x="head", y="layer", value="survives", where={"kind": "head"},
            title="Heads that survive", caption="1: the head is in the last mask that passed; 0: it was pruned.",
            labels={"survives": "survives"},
        )  # fmt: skip
