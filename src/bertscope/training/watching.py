"""`Watch`: checkpoints and questions along a training with transformers' Trainer.

    watch = bertscope.Watch(questions=["patterns"], on=texts, every=100, keep=10, out="runs/watched")
    watch.attach(trainer)
    trainer.train()

The numbers go where Trainer's own do (`trainer.log`): its history, TensorBoard, W&B. The training is the same as
without: weights, gradients, modes and generators are after each asking what they were before.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import Trainer, TrainerCallback

from bertscope.core import registry
from bertscope.core.config import check_known
from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.training.keeping import as_checkpoint, kept_steps

_SPACINGS = ("even", "logarithmic")


class Watch(TrainerCallback):
    """Keeps checkpoints of a Trainer's model at chosen steps, and asks it questions as it goes.

    questions   by name, `["patterns"]`, or with settings, `{"patterns": {"limit": 200}, "errors": {"on": task}}`; one
                that takes two models is asked of the model at the start and now
    on          what they read, where a question's settings don't say it
    every       ask after each so many steps, and at the start and the end; by default where checkpoints are kept
    keep        how many checkpoints, the start and the end among them, or after which steps
    spacing     of so many: "even", or "logarithmic", the closer, the earlier
    out         the folder for checkpoints (`checkpoint-STEP`) and answers (`step-STEP/QUESTION`)

    `results` has what was answered: by step and question.
    """

    def __init__(
        self,
        questions: Sequence[str] | Mapping[str, Mapping[str, Any]] = (),
        *,
        on: Any = None,
        every: int | None = None,
        keep: int | Sequence[int] = 0,
        spacing: str = "even",
        out: str | Path | None = None,
    ) -> None:
        check_known("spacing", spacing, _SPACINGS)
        if isinstance(questions, str):
            raise UserError(f"questions is {questions!r}; it takes several: questions=[{questions!r}]")
        named = questions if isinstance(questions, Mapping) else {name: {} for name in questions}
        self._asked = [_Asked.of(name, dict(settings or {}), on) for name, settings in named.items()]
        if not self._asked and not keep:
            raise UserError("Watch keeps nothing and asks nothing; give keep=, or questions=")
        if keep and out is None:
            raise UserError("keep is given, and no place to keep checkpoints in; give out=")
        if every is not None and every < 1:
            raise UserError(f"every is {every}; it must be at least 1")
        if self._asked and every is None and not keep:
            raise UserError("Watch isn't told when to ask; give every=, or keep=")
        if isinstance(keep, int) and keep and keep < 2:
            raise UserError(f"keep is {keep}; it must be at least 2, the start and the end")
        if not isinstance(keep, int) and (not all(isinstance(one, int) and one >= 0 for one in keep)):
            raise UserError(f"keep is {keep!r}; give a number of checkpoints, or the steps after which to keep one")
        self._every, self._keep, self._spacing = every, keep, spacing
        self._out = None if out is None else Path(out)
        self._trainer: Trainer | None = None
        self._start: tuple[Encoder | None, ModelRecord] | None = None
        self.results: dict[int, dict[str, Result]] = {}

    def attach(self, trainer: Trainer) -> Watch:
        """Follow this trainer's training: it calls the watch, and logs what is found."""
        if getattr(trainer, "processing_class", None) is None:
            raise UserError("the trainer has no tokenizer; give it one: Trainer(..., processing_class=tokenizer)")
        self._trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._trainer is None:
            raise UserError("this Watch follows no trainer; use watch.attach(trainer) instead of callbacks=[watch]")
        self._kept_steps = self._steps(state.max_steps)
        if not state.is_world_process_zero:
            return
        with _unchanged(self._trainer.model):
            encoder = self._encoder()
            needs_start = any(one.takes_start for one in self._asked)
            start = copy.deepcopy(encoder) if needs_start else None
            self._start = (start, encoder.record)
        self._look(state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self._look(state, control)

    def _steps(self, total: int) -> frozenset[int]:
        if not isinstance(self._keep, int):
            return frozenset(self._keep)
        return frozenset(kept_steps(total, self._keep, self._spacing)) if self._keep else frozenset()

    def _look(self, state: Any, control: Any) -> None:
        """Keep and ask what is to be kept and asked after this step."""
        assert self._trainer is not None
        step, kept = state.global_step, state.global_step in self._kept_steps
        asked = step % self._every == 0 or step == state.max_steps if self._every else kept
        asked = asked and bool(self._asked) and step not in self.results
        if not kept and not asked:
            return
        with _unchanged(self._trainer.model):
            encoder = self._encoder()
            if kept:
                self._save(encoder, step)
            answers = {one.question.name: one.answer(encoder, self._start) for one in self._asked} if asked else {}
        if not answers:
            return
        self.results[step] = answers
        if self._out is not None:
            for name, result in answers.items():
                result.save(self._out / f"step-{step}" / name)
        # The library takes a log for the one that is due at this step, and would leave that out.
        due = control.should_log
        self._trainer.log({name: value for result in answers.values() for name, value in logged(result)})
        control.should_log = self._trainer.control.should_log = due

    def _encoder(self) -> Encoder:
        """The trainer's model, as questions take it; its tokenizer is a copy, whose settings calls change."""
        assert self._trainer is not None
        model = self._trainer.accelerator.unwrap_model(self._trainer.model)
        return load(model, tokenizer=copy.deepcopy(self._trainer.processing_class))

    def _save(self, encoder: Encoder, step: int) -> None:
        assert self._out is not None and self._start is not None and self._trainer is not None
        args = self._trainer.args
        recipe = {"learning_rate": args.learning_rate, "epochs": args.num_train_epochs}
        origin = Origin("", self._start[1], seed=args.seed, recipe=recipe)
        with as_checkpoint(encoder, step, origin) as checkpoint:
            checkpoint.save(self._out / f"checkpoint-{step}")


class _Asked:
    """A question that is asked again and again."""

    def __init__(self, question: Question, settings: dict[str, Any], data: Any) -> None:
        self.question, self._settings, self._data = question, settings, data
        self._opened: Any = None

    @classmethod
    def of(cls, name: str, settings: dict[str, Any], on: Any) -> _Asked:
        question = registry.find(name)
        if question.needs_store or question.keeps or not _models(question):
            raise UserError(
                f"{name} isn't asked of a model as it is; Watch asks questions such as patterns or errors"
            )
        if len(_models(question)) > 2:
            raise UserError(f"{name} takes {len(_models(question))} models; Watch has two: at the start, and now")
        data = settings.pop("on", on)
        if question.reads is not None and data is None:
            raise UserError(f"{name} reads data; give on=, or {{{name!r}: {{'on': ...}}}}")
        return cls(question, settings, data)

    @property
    def takes_start(self) -> bool:
        return len(_models(self.question)) == 2

    def answer(self, encoder: Encoder, start: tuple[Encoder | None, ModelRecord] | None) -> Result:
        """What the question finds now."""
        assert start is not None
        models = [start[0], encoder] if self.takes_start else [encoder]
        names = _models(self.question)
        given: dict[str, Any] = dict(zip(names, models, strict=True))
        if self.question.takes_several:
            given[names[0]] = [encoder]
        if self.question.reads is not None:
            given[self.question.reads] = self._data
        return self.question(**given, **self._settings)


def _models(question: Question) -> list[str]:
    """What it is asked of that is a model."""
    return [name for name, one in question.asked_of.items() if registry.is_model(one.kind) or one.kind == "states"]


def logged(result: Result) -> Iterator[tuple[str, float]]:
    """A result's headline numbers, under names that loggers group by: `bertscope/patterns/share/vertical`."""
    for number in result.headline:
        parts = [value for key, value in number.of.items() if key not in ("model", "models")]
        yield "/".join(["bertscope", result.question, number.key, *parts]), float(number.value)


@contextmanager
def _unchanged(model: Any) -> Iterator[None]:
    """Whatever is asked inside the block: modes, gradients, what needs them, and all generators stay. Questions are
    asked in full precision, as of the checkpoint: in mixed precision Trainer has put its own forward on the model,
    which a copy of the model would take along, with the weights of this one."""
    mixed, plain = model.__dict__.get("forward"), model.__dict__.get("_original_forward")
    modes = [(module, module.training) for module in model.modules()]
    wanted = [(weights, weights.requires_grad, weights.grad) for weights in model.parameters()]
    python, arrays = random.getstate(), np.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    # Trainer switches it off, and no saved config says so: the model would be another than its own checkpoint.
    cached = getattr(model.config, "use_cache", None)
    if cached is not None:
        model.config.use_cache = type(model.config)().use_cache
    try:
        with torch.random.fork_rng(devices=devices):
            if plain is not None:
                model.forward = plain
            for weights, _, _ in wanted:
                weights.grad = None  # whoever asks for gradients gets its own
            yield
    finally:
        if plain is not None:
            model.forward = mixed
        random.setstate(python)
        np.random.set_state(arrays)
        if cached is not None:
            model.config.use_cache = cached
        for module, training in modes:
            module.training = training
        for weights, needed, gradient in wanted:
            weights.requires_grad_(needed)
            weights.grad = gradient
