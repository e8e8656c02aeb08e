"""Fine-tuning, per example, beside Hugging Face's Trainer with its length-grouped sampler."""

from __future__ import annotations

import copy
import tempfile
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from benchmarks import plain
from benchmarks.options import BATCH, Options, Sentences, sentences
from benchmarks.side_by_side import Claim, Report, Skipped, Variant, Work, compare, difference, now
from bertscope.core.bucketing import bucketed
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.batches import tokenise
from bertscope.models.encoder import Encoder
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import Training
from bertscope.training.objective import Labelled
from bertscope.training.randomness import own_randomness

TRAINER, OURS = "Trainer, group_by_length", "bertscope"
RATE = 1e-4


def run(options: Options) -> Report:
    if find_spec("accelerate") is None:
        raise Skipped("Hugging Face's Trainer needs accelerate: pip install accelerate")
    data = sentences(options, "train.tsv", options.size(2000, 16))
    encoder = plain.classifier(options.device)
    agreement = difference(_after_three_steps(encoder, data, options))
    variants = [
        Variant(TRAINER, lambda examples: with_trainer(copied(encoder), examples, options)),
        Variant(OURS, lambda examples: with_bertscope(copied(encoder), examples)),
    ]
    return compare(
        f"fine-tuning, pocket, one epoch, {BATCH} examples a step; the steps alone, without set-up or evaluation",
        variants, data, options, repeats=3, agreement=agreement, claims=[Claim(OURS, TRAINER, 1)],
        notes=[
            "(logits after 3 steps on one batch without dropout; timed with dropout, each in its own order)",
            _padding(encoder, data.examples),
        ],
    )  # fmt: skip


def with_bertscope(encoder: Encoder, examples: Examples, epochs: int = 1) -> Work:
    few = examples.take(range(min(8, len(examples))))
    task = Task("benchmark", "classification", ("negative", "positive"), examples, few, few, "accuracy")
    settings = FinetuneConfig(epochs=epochs, learning_rate=RATE, warmup=0.0, batch_size=BATCH)
    training = Training(encoder, Labelled(encoder, task), settings.settled(encoder.hidden_size, len(examples)), None)

    def work() -> None:
        with own_randomness(encoder.device):
            for epoch in range(1, epochs + 1):
                training.epoch(epoch, Silent())

    return work


def _arguments(options: Options, epochs: int) -> Any:
    """Trainer's settings for the training that bertscope does."""
    from transformers import TrainingArguments

    on_gpu = options.device != "cpu"
    with tempfile.TemporaryDirectory() as folder:  # which it wants, and leaves empty
        return TrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=BATCH,
            train_sampling_strategy="group_by_length",
            learning_rate=RATE,
            lr_scheduler_type="linear",
            warmup_steps=0,
            weight_decay=0.0,
            max_grad_norm=1.0,
            optim="adamw_torch_fused",
            bf16=on_gpu,
            use_cpu=not on_gpu,
            dataloader_pin_memory=on_gpu,
            save_strategy="no",
            eval_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )


def with_trainer(encoder: Encoder, examples: Examples, options: Options, epochs: int = 1) -> Work:
    from transformers import DataCollatorWithPadding, PrinterCallback, Trainer, TrainerCallback

    coded = encoder.tokenizer(list(examples.text), truncation=True, max_length=encoder.max_length)
    rows = [
        {"labels": int(label)} | {name: column[row] for name, column in coded.items()}
        for row, label in enumerate(examples.label)
    ]
    trainer = Trainer(
        encoder.model,
        _arguments(options, epochs),
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(encoder.tokenizer),
    )
    trainer.remove_callback(PrinterCallback)

    class Clock(TrainerCallback):
        """Times the steps alone: what Trainer sets up first would be a fifth of a second against it."""

        def on_train_begin(self, *args: object, **kwargs: object) -> None:
            self.started = now(options.device)

        def on_train_end(self, *args: object, **kwargs: object) -> None:
            self.seconds = now(options.device) - self.started

    clock = Clock()
    trainer.add_callback(clock)

    def work() -> float:
        trainer.train()
        return clock.seconds

    return work


def _after_three_steps(encoder: Encoder, data: Sentences, options: Options) -> list[np.ndarray]:
    """Both trainers' logits after the same three steps: one batch, three epochs, no dropout."""
    batch = data.examples.take(range(min(16, len(data))))
    outputs = []
    for train in (
        lambda fresh: with_trainer(fresh, batch, options, epochs=3),
        lambda fresh: with_bertscope(fresh, batch, epochs=3),
    ):
        fresh = copied(encoder, dropout=False)
        train(fresh)()
        inputs = plain.batches(encoder.tokenizer, batch.text, "longest", options.device)
        outputs.append(plain.logits(fresh.model.eval(), inputs))
    return outputs


def _padding(encoder: Encoder, examples: Examples) -> str:
    """What each order of the examples costs: Trainer sorts pools of a quarter of the rows, 50 batches at most."""
    from transformers.trainer_pt_utils import get_length_grouped_indices

    lengths = tokenise(encoder.tokenizer, examples, encoder.max_length).lengths
    order = np.array(get_length_grouped_indices(lengths.tolist(), BATCH))
    theirs = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    ours = bucketed(lengths, BATCH, np.random.default_rng(0))
    padded = [sum(len(rows) * int(lengths[rows].max()) for rows in batches) for batches in (theirs, ours)]
    return f"tokens with padding: Trainer {padded[0]:,}, bertscope {padded[1]:,}, of which {lengths.sum():,} real"


def copied(encoder: Encoder, *, dropout: bool = True) -> Encoder:
    model = copy.deepcopy(encoder.model)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and not dropout:
            module.p = 0.0
    return Encoder(model, encoder.tokenizer, encoder.name, encoder.family, encoder.task_head)


class Silent:
    def advance(self, amount: int = 1, **facts: str) -> None: ...
