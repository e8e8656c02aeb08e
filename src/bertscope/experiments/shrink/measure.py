"""`shrink`: search, cut, check, train, measure, write."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.folders import check_folder
from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.data.scored import Scores
from bertscope.data.task import Task
from bertscope.experiments.changed_answers import changed_answers, changed_confidence, changed_scores
from bertscope.experiments.comparison import CUT, FORMS, WHOLE, WHOLE_INT8, Contender, measured
from bertscope.experiments.shrink.alternatives import alternatives, names_of
from bertscope.experiments.shrink.card import card
from bertscope.experiments.shrink.choice import best_of, chosen
from bertscope.experiments.shrink.question import ShrinkConfig, Target
from bertscope.experiments.shrink.reaching import Reached, reach
from bertscope.experiments.shrink.result import shrink_result
from bertscope.experiments.shrink.writing import BESIDE, keep_beside, save_cut, written_to
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import evaluating
from bertscope.models.export import export_onnx, quantise, why_no_onnx
from bertscope.models.latency import Inputs, sample_batches
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.models.source import EXPORT
from bertscope.models.surgery import is_plain, refuse_shared
from bertscope.training.distill import Teacher
from bertscope.training.loop import train
from bertscope.training.objective import Labelled

MASKED, ONNX = 1e-5, 1e-4
"""How far the cut model's logits may be from the masked one's, and its ONNX file's from its own, as a share of the
largest (or of 1)."""
SAID = 0.01
"""The share of rows of which they may say something else, where what they say is chosen rather than a number."""
_SMALL, _LARGE = 24, 4  # batches that are timed: of one text, and of many


@dataclass(frozen=True)
class Shrunk:
    encoder: Encoder
    """The cut model."""
    result: Result

    @property
    def best(self) -> str:
        """Which form to take: `whole_int8`, `cut` or `cut_int8`."""
        return best_of(self.result.tables["forms"])


def measure(
    model: Encoder,
    task: Task,
    config: ShrinkConfig,
    pruned: Result | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = True,
) -> Shrunk:
    """The folder appears whole or not at all: there is never a part of it from which it could `resume`."""
    return Shrinking(model, task, config, pruned).run(None if out is None else Path(out))


def kept(folder: Path, result: Result) -> Shrunk:
    return Shrunk(load(folder), result)


class Shrinking:
    """One model, one task, one target."""

    def __init__(self, encoder: Encoder, task: Task, config: ShrinkConfig, pruned: Result | None) -> None:
        refuse_shared(encoder)
        task = task.asked_of(encoder)
        self.encoder, self.task, self.config = encoder, task, config
        why = why_no_onnx(encoder) if config.onnx else "--no-onnx says so"
        self.onnx = not why
        self._finished: dict[frozenset[Unit], Encoder] = {}
        if config.shape == "plain":
            _refuse_uneven(encoder, pruned)
        self.pruned = [] if pruned is None else _pruned_parts(pruned, encoder)
        self.target = Target.parse(config.target or "2x") if config.target or pruned is None else None
        self.score = self.validation_score(encoder)
        self.notes = [*task.notes, *self.score.notes, *self._warnings(), *_of_another(pruned, encoder)]
        if why:
            self.notes.append(f"no form in int8 was tried, which alone may be enough: {why}")
        if self.score.low <= self.score.chance and not config.force:
            raise UserError(
                f"{encoder.name} isn't clearly above chance on {task.name} (validation: {self.score.value:.3f} "
                f"[{self.score.low:.3f}, {self.score.high:.3f}], chance {self.score.chance:.3f}): nothing would tell "
                "what it needs; train it better, or insist with --force"
            )

    def run(self, out: Path | None) -> Shrunk:
        if out is not None:
            check_folder(out, EXPORT)
        with evaluating([self.encoder]):  # while it is timed, too; and copies of it begin as it is
            found = reach(self, self.target)
            smaller = self.finished(found.off)
            smaller.name = f"{self.encoder.name}, {self.target or 'pruned'}"
            with written_to(out) as folder:
                result = self._written(found, smaller, folder)
        return Shrunk(smaller, result)

    def _written(self, found: Reached, smaller: Encoder, folder: Path) -> Result:
        """What is said of the model, which is in the folder then, with its ONNX files and its card."""
        save_cut(smaller, folder)
        whole, cut = self.contender(WHOLE, self.encoder), self.contender(CUT, smaller)
        contenders = [whole, cut]
        if self.onnx:
            (folder / BESIDE).mkdir()
            contenders += self.in_onnx(whole, self.encoder, folder / BESIDE)
            contenders += self.in_onnx(cut, smaller, folder)
        if self.config.curve:
            contenders += alternatives(self, found)
        models, times = measured(contenders, self.task, self.batches, seed=self.config.seed)
        names = names_of(contenders, times, self.config.batch)
        for table in (models, times):
            table.insert(1, "model", table["arm"].map(names))
        forms = chosen(models, times, self.target, self.config.batch)
        result = shrink_result(self, found, smaller, models, times, forms, self._changed(contenders))
        keep_beside(self.encoder, folder, best_of(forms) == WHOLE_INT8)
        pairs, threshold = self.task.test.pair is not None, self.task.threshold
        told = card(result, smaller, onnx=self.onnx, pairs=pairs, threshold=threshold)
        (folder / "README.md").write_text(told, encoding="utf-8")
        return result

    def _changed(self, contenders: Sequence[Contender]) -> dict[str, pd.DataFrame]:
        """What `versus` would say of each form beside the whole model."""
        by = {each.name: each for each in contenders}
        forms = {arm: by[arm].test for arm in FORMS if arm in by}
        how: dict[str, Any] = {"seed": self.config.seed}
        return {
            **changed_answers(self.task, by[WHOLE].test, forms, **how),
            **changed_scores(self.task, by[WHOLE].test, forms, **how),
            **changed_confidence(self.task, {arm: by[arm] for arm in (WHOLE, *forms)}, **how),
        }

    def validation_score(self, encoder: Encoder) -> Scores:
        validation = self.task.validation
        return self.task.score(encoder.predict(validation, self.task.output), validation)

    @cached_property
    def rows(self) -> Examples:
        """The rows of the validation set that the search looks at."""
        validation = self.task.validation
        drawn = np.random.default_rng(self.config.seed).permutation(len(validation))[: self.config.rows]
        return validation.take(np.sort(drawn))

    @cached_property
    def batches(self) -> dict[int, list[Inputs]]:
        """What is timed: one text at a time, and as many as the config says (32, where it says 1)."""
        encoder, seed = self.timed(self.encoder), self.config.seed
        many = self.config.batch if self.config.batch > 1 else 32
        return {
            size: sample_batches(encoder, self.task.validation, size, count=count, seed=seed, output=self.task.output)
            for size, count in ((1, _SMALL), (many, _LARGE))
        }

    @cached_property
    def teacher(self) -> Teacher | None:
        output = self.task.output
        if not self.config.distill or not model_output(self.encoder, output).can_be_taught:
            return None
        return Teacher(self.task.outputs(self.encoder.predict(self.task.train, output)), self.config.temperature)

    def timed(self, encoder: Encoder) -> Encoder:
        """The model where its speed is measured."""
        if self.config.timed_on == "same" or encoder.device.type == "cpu":
            return encoder
        moved = copy.deepcopy(encoder.model).cpu()
        return Encoder(moved, encoder.tokenizer, encoder.name, encoder.family, encoder.task_head)

    def finished(self, off: Iterable[Unit]) -> Encoder:
        """The model without these parts, trained again if it shall be; made once, however often it is asked for."""
        off = frozenset(off)
        if off not in self._finished:
            self._finished[off] = self._cut(off)
        return self._finished[off]

    def _cut(self, off: frozenset[Unit]) -> Encoder:
        smaller = self.encoder.cut(off)
        with self.encoder.gates(off):
            masked = self.encoder.predict(self.rows, self.task.output).logits
        _need_equal(
            "the cut model", smaller.predict(self.rows, self.task.output).logits, "the masked one", masked, MASKED
        )
        if self.config.retrain:
            self.trained(smaller)
        return smaller

    def trained(self, encoder: Encoder) -> Encoder:
        """The encoder itself, after training it as the config says."""
        settings = self.config.training.settled(encoder.hidden_size, len(self.task.train), new_head=False)
        objective = Labelled(encoder, self.task, tuned=True, teacher=self.teacher)
        train(encoder, objective, settings, out=None, resume=False)
        return encoder

    def contender(self, name: str, encoder: Encoder, way: str | None = None, called: str = "") -> Contender:
        contender = Contender.of(name, way or name, encoder, self.task, timed=self.timed(encoder))
        return replace(contender, called=called)

    def in_onnx(self, model: Contender, encoder: Encoder, folder: Path) -> list[Contender]:
        """The model's ONNX files, written to the folder: as it is, and in int8."""
        path = export_onnx(encoder, folder / "model.onnx", self.task.output)
        small = quantise(path, folder / "model-int8.onnx")
        full, tiny = (
            Contender.of_onnx(f"{model.name}_{form}", f"{model.name}_onnx", file, encoder, self.task)
            for form, file in (("onnx", path), ("int8", small))
        )
        _need_equal("onnxruntime", full.test.logits, "torch", model.test.logits, ONNX)
        return [full, tiny]

    def _warnings(self) -> list[str]:
        if not self.task.may_have_been_seen_by(self.encoder):
            return []
        return [
            "the model was fine-tuned on another split or other data: it may have seen rows of validation and test"
        ]


def _refuse_uneven(encoder: Encoder, pruned: Result | None) -> None:
    """Refuse what no cut of whole layers and of as many neurons in each makes plain."""
    if pruned is not None:
        raise UserError("a plain shape and a mask of heads and MLPs don't go together; leave one of them out")
    if not is_plain(encoder):
        raise UserError(
            f"{encoder.name}'s layers have different numbers of heads or neurons already, which no plain cut mends; "
            "leave out --shape plain, or cut the model that it was made of"
        )
    if ClassifierForm.of(encoder.model.config) != ClassifierForm():
        raise UserError(
            f"{encoder.name} has another classifier than its family's own, which transformers alone can't open "
            "however it is cut; leave out --shape plain"
        )


def _pruned_parts(pruned: Result, encoder: Encoder) -> list[Unit]:
    """What a stored `prune` took out; of a `lottery`, what survived with at most half of the seeds."""
    if "survivors" not in pruned.tables:
        raise UserError(
            f"the stored {pruned.question} doesn't say which heads and MLPs survived; give a prune (--method s) or a "
            "lottery (--methods s)"
        )
    table = pruned.tables["survivors"]
    votes = pruned.arrays["survivors"].mean(0) if "survivors" in pruned.arrays else table["survives"].to_numpy(float)
    gone = [Unit.parse(unit) for unit, share in zip(table["unit"], votes, strict=True) if share <= 0.5]
    return [unit.check(encoder.head_counts, encoder.neuron_counts) for unit in gone]


def _of_another(pruned: Result | None, encoder: Encoder) -> list[str]:
    """That the parts were found in another model: what isn't needed there may be needed here. A lottery is about the
    base of the models that it trains."""
    if pruned is None or not pruned.models:
        return []
    about, own = list(pruned.models.values())[-1], encoder.record
    base = own.origin.base if own.origin and pruned.question == "lottery" else None
    if about.is_same(own) or (base and about.is_same(base)):
        return []
    return [f"what was cut first was pruned from {about.name}, which is another model than this"]


def _need_equal(one: str, outputs: np.ndarray, other: str, wanted: np.ndarray, most: float) -> None:
    """Numbers may differ by rounding. Of what is chosen by numbers (a span, a tree), two that are equally good may
    change places by that, which hardly ever happens."""
    if wanted.dtype.kind in "iu":
        differ = (outputs != wanted).reshape(len(wanted), -1).any(1).mean() if len(wanted) else 0.0
        if differ > SAID:
            raise RuntimeError(f"{one} and {other} answer {differ:.1%} of the rows differently, more than {SAID:.0%}")
        return
    apart = float(np.abs(outputs - wanted).max()) / max(1.0, float(np.abs(wanted).max()))
    if not apart <= most:
        raise RuntimeError(f"{one} and {other} give logits that differ by {apart:.1e}, more than {most:.0e}")
