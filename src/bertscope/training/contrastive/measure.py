"""`contrastive`: train an encoder on what belongs together, and follow it on what is held out."""

from __future__ import annotations

from pathlib import Path

from bertscope.core.config import to_json
from bertscope.core.examples import Examples
from bertscope.core.model_record import DataRecord, Origin, records
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import bare
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.contrastive.question import ContrastiveConfig, contrastive, training_sets
from bertscope.training.contrastive.result import contrastive_result
from bertscope.training.contrastive_objective import Contrastive
from bertscope.training.history import Trained
from bertscope.training.loop import train


def measure(
    base: Encoder,
    data: Task | Examples,
    config: ContrastiveConfig,
    sts: Task | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    if sts is not None:
        sts.need_scored_pairs()
    sets, held_out = training_sets(data, config)
    if config.positives == "shuffled":
        sets = sets.shuffled(config.seed)
    kind = " (shuffled)" if config.positives == "shuffled" else ""
    # What is told apart by its seed here is several models of one experiment, whose names stand side by side.
    name = f"{base.name} contrasted on {data.name or 'texts'}{kind}, seed {config.seed}"
    learned = DataRecord(sets.fingerprint, data.name or "texts", "texts")
    origin = Origin(contrastive.name, base.record, learned, config.seed, recipe=to_json(config))
    encoder = bare(base, name=name, origin=origin)
    objective = Contrastive(encoder, sets, held_out, config, sts)
    settings = config.training(encoder.hidden_size)
    history = train(encoder, objective, settings, out=None if out is None else Path(out), resume=resume)
    if out is not None:
        Checkpoint.of(Path(out)).remove()
    subject = {"task": data.name or "texts", "pairs": config.pairs, "seed": str(config.seed)}
    if config.positives == "shuffled":
        subject["positives"] = "shuffled"
    notes = [*data.notes, f"{len(sets):,} sets to train on, {len(held_out):,} held out", *objective.notes]
    notes += history.notes
    return Trained(encoder, contrastive_result(history, settings, objective.metric, records([base]), subject, notes))


def kept(folder: Path, result: Result) -> Trained:
    return Trained(load(folder), result)
