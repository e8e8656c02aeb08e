"""`finetune`: put on an encoder what its task needs, train it, and score it before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.core.config import to_json
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.result import Result
from bertscope.core.statement import too_long
from bertscope.data.task import Task
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.surgery import without_layers
from bertscope.training.advice import note
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.finetune.question import ROWS, FinetuneConfig, check, finetune
from bertscope.training.finetune.result import finetune_result, rows_table
from bertscope.training.frozen import frozen
from bertscope.training.history import Trained
from bertscope.training.loop import train
from bertscope.training.objective import Labelled
from bertscope.training.row_map import tell_course
from bertscope.training.task_kinds import has_new_head, with_task_head
from bertscope.training.told import kept_outputs

_OPEN: dict[str, Any] = {"recipe": "auto", "epochs": None, "learning_rate": None, "warmup": None, "head_rate": None}


def measure(
    base: Encoder, task: Task, config: FinetuneConfig, *, out: str | Path | None = None, resume: bool = True
) -> Trained:
    check(task, config)
    settings = _settled(config, base, task)
    before_training = base.record
    started = base.name if config.init == "pretrained" else f"{base.name} (random init)"
    if left_out := config.left_out.within(base.n_layers).numbers:
        base = without_layers(base, left_out)
    learned = DataRecord(task.fingerprint, task.name, task.kind, task.labels)
    form = ClassifierForm(config.classifier, config.pooler)
    encoder = with_task_head(
        base, task, init=config.init, seed=config.seed, form=form, dropout=config.dropout,
        name=f"{started} tuned on {task.name}", origin=_origin(before_training, learned, settings),
    )  # fmt: skip
    untuned = task.asked_of(encoder)
    said_before = encoder.predict(untuned.test, untuned.output)
    before = untuned.score(said_before)
    objective = Labelled(encoder, task, balanced=config.class_weights == "balanced")
    history = train(encoder, objective, settings, out=None if out is None else Path(out), resume=resume)
    tuned = task.asked_of(encoder)  # what its answers to the validation set decide is its own
    predictions = encoder.predict(tuned.test, tuned.output)
    after = tuned.score(predictions)
    result = finetune_result(before_training, objective.task, learned, settings, before, after, history)
    result.provenance |= _sizes(encoder, settings)
    result.provenance["auto"] = to_json(_settled(replace(config, **_OPEN), base, task))
    result.arrays |= kept_outputs(task, tuned, predictions)
    result.tables["rows"] = rows_table((untuned, said_before), (tuned, predictions))
    if objective.row_course and objective.row_course.p:
        tell_course(result, objective.task, objective.row_course.p, objective.row_course.right)
    result.notes += [note for note in tuned.notes if note not in objective.task.notes]
    result.notes += [*objective.notes, *history.notes]
    if len(tuned.test) > ROWS:
        result.notes.append(f"rows: the first {ROWS:,} of {len(tuned.test):,} test rows")
    if predictions.truncated:
        result.notes.append(too_long(predictions.truncated, "test text", f"{encoder.max_length} tokens"))
    if short := note(result):
        result.notes.insert(0, short)
    if out is not None:
        Checkpoint.of(Path(out)).remove()
    return Trained(encoder, result)


def _settled(config: FinetuneConfig, base: Encoder, task: Task) -> FinetuneConfig:
    return config.settled(base.hidden_size, len(task.train), new_head=has_new_head(task))


def _origin(base: ModelRecord, learned: DataRecord, settings: FinetuneConfig) -> Origin:
    """What is recorded of the training inside the model that it makes."""
    return Origin(
        finetune.name,
        base,
        learned,
        settings.seed,
        settings.init,
        to_json(settings),
        settings.frozen,
        settings.without,
    )


def kept(folder: Path, result: Result) -> Trained:
    return Trained(load(folder), result)


def _sizes(encoder: Encoder, settings: FinetuneConfig) -> dict[str, int]:
    """How many parameters there are, and how many of them were trained."""
    with frozen(encoder, settings.held):
        sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.model.parameters()]
    return {
        "parameters": sum(size for size, _ in sizes),
        "trained_parameters": sum(size for size, trained in sizes if trained),
    }
