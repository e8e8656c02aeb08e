"""`finetune`: put on an encoder what its task needs, train it, and score it before and after."""

from __future__ import annotations

from pathlib import Path

from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.surgery import without_layers
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.finetune.question import FinetuneConfig, check
from bertscope.training.finetune.result import finetune_result
from bertscope.training.frozen import frozen
from bertscope.training.loop import Trained, train
from bertscope.training.task_kinds import objective_of, with_task_head


def measure(
    base: Encoder, task: Task, config: FinetuneConfig, *, out: str | Path | None = None, resume: bool = True
) -> Trained:
    check(task, config)
    settings = config.settled(base.hidden_size)
    origin = base.name if config.init == "pretrained" else f"{base.name} (random init)"
    name = f"{origin} tuned on {task.name}"
    if left_out := config.left_out.within(base.n_layers).numbers:
        base = without_layers(base, left_out)
    form = ClassifierForm(config.classifier, config.pooler)
    encoder = with_task_head(
        base, task, init=config.init, seed=config.seed, name=name, form=form, dropout=config.dropout
    )
    before = task.score(encoder.predict(task.test).logits)
    objective = objective_of(encoder, task)
    history = train(encoder, objective, settings, out=None if out is None else Path(out), resume=resume)
    predictions = encoder.predict(task.test)
    after = task.score(predictions.logits)
    result = finetune_result(origin, task, settings, before, after, history)
    result.provenance |= _sizes(encoder, settings)
    result.arrays["outputs"] = predictions.logits
    result.notes += objective.notes
    if predictions.truncated:
        result.notes.append(
            f"{predictions.truncated} test texts are longer than {encoder.max_length} tokens and were cut"
        )
    if out is not None:
        Checkpoint.of(Path(out)).remove()
    return Trained(encoder, result)


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
