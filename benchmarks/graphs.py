"""Fine-tuning on a GPU: steps done one by one beside steps recorded as CUDA graphs, in single and half precision."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np
import torch

from benchmarks import plain
from benchmarks.options import BATCH, Options, sentences
from benchmarks.scale import random_bert
from benchmarks.side_by_side import Claim, Report, Skipped, Variant, Work, compare, difference
from benchmarks.training import RATE, Silent, copied, with_trainer
from bertscope.core.bucketing import bucketed
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.loop import Training
from bertscope.training.objective import Labelled
from bertscope.training.randomness import own_randomness

TRAINER, LOOP, ONE_BY_ONE = "Trainer, bf16", "a plain loop, bf16", "bertscope, one by one, bf16"
RECORDED, SINGLE = "bertscope, recorded, bf16", "bertscope, recorded, fp32"
SINGLE_ONE_BY_ONE = "bertscope, one by one, fp32"


def run(options: Options) -> list[Report]:
    if options.device == "cpu":
        raise Skipped("CUDA graphs are for a GPU: --device cuda")
    data = sentences(options, "test-labeled.tsv", options.size(2000, 64))
    size = (2, 2, 32) if options.quick else (12, 12, 768)
    encoders = {"pocket": plain.classifier(options.device)}
    encoders["a random " + " x ".join(map(str, size)) + " BERT"] = random_bert(*size, options.device)
    reports = []
    for name, encoder in encoders.items():
        variants = [
            Variant(LOOP, partial(_plain_loop, encoder)),
            Variant(ONE_BY_ONE, partial(_ours, encoder, recorded=False, halves=True)),
            Variant(SINGLE_ONE_BY_ONE, partial(_ours, encoder, recorded=False, halves=False)),
            Variant(RECORDED, partial(_ours, encoder, recorded=True, halves=True)),
            Variant(SINGLE, partial(_ours, encoder, recorded=True, halves=False)),
        ]
        claims = [Claim(RECORDED, LOOP, 3), Claim(RECORDED, ONE_BY_ONE, 3)]
        if find_spec("accelerate"):
            variants.insert(
                0, Variant(TRAINER, lambda examples, it=encoder: with_trainer(copied(it), examples, options))
            )
            claims.insert(0, Claim(RECORDED, TRAINER, 4))
        reports.append(
            compare(
                f"fine-tuning {name}, an epoch, {BATCH} examples a step; recorded steps in their second epoch",
                variants, data, options, repeats=3, claims=claims,
                agreement=difference(_after_three_steps(encoder, data.examples)),
                notes=["(agreement: logits after 3 steps in fp32 without dropout, one by one and recorded)"],
            )
        )  # fmt: skip
    return reports


def training(encoder: Encoder, examples: Examples, *, recorded: bool, halves: bool, epochs: int = 2) -> Training:
    """One of ours, whose steps are recorded or done one by one."""
    few = examples.take(range(min(8, len(examples))))
    task = Task("benchmark", "classification", ("negative", "positive"), examples, few, few, "accuracy")
    settings = FinetuneConfig(epochs=epochs, learning_rate=RATE, warmup=0.0, batch_size=BATCH)
    made = Training(encoder, Labelled(encoder, task), settings.settled(encoder.hidden_size, len(task.train)), None)
    made.halves = halves
    if not recorded:
        made.captured = None
    return made


def _ours(encoder: Encoder, examples: Examples, *, recorded: bool, halves: bool) -> Work:
    made = training(copied(encoder), examples, recorded=recorded, halves=halves)
    if recorded:
        with own_randomness(encoder.device):
            made.epoch(1, Silent())

    def work() -> None:
        with own_randomness(encoder.device):
            made.epoch(2, Silent())

    return work


def _plain_loop(encoder: Encoder, examples: Examples) -> Work:
    """What one would write with PyTorch and transformers, batches of like lengths included."""
    assert examples.label is not None
    model, device, labels = copied(encoder).model, encoder.device, torch.from_numpy(examples.label)
    coded = encoder.tokenizer(list(examples.text), truncation=True, max_length=encoder.max_length)
    lengths = np.array([len(row) for row in coded["input_ids"]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, fused=True)

    def work() -> None:
        model.train()
        batches = bucketed(lengths, BATCH, np.random.default_rng(0))
        for step, rows in enumerate(batches):
            chosen = {name: [column[row] for row in rows] for name, column in coded.items()}
            inputs = encoder.tokenizer.pad(chosen, return_tensors="pt").to(device)
            for group in optimizer.param_groups:
                group["lr"] = RATE * (1 - step / len(batches))
            with torch.autocast(device.type, torch.bfloat16):
                loss = model(**inputs, labels=labels[rows].to(device)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return work


def _after_three_steps(encoder: Encoder, examples: Examples) -> list[np.ndarray]:
    """Logits after three steps on one partial batch."""
    batch, outputs = examples.take(range(min(20, len(examples)))), []
    for recorded in (False, True):
        fresh = copied(encoder, dropout=False)
        made = training(fresh, batch, recorded=recorded, halves=False, epochs=3)
        with own_randomness(encoder.device):
            for epoch in (1, 2, 3):
                made.epoch(epoch, Silent())
        outputs.append(fresh.predict(batch).logits)
    return outputs
