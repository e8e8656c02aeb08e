"""Fine-tuning with the lower half of the layers frozen: run in every step, or once."""

from __future__ import annotations

import numpy as np

from benchmarks import plain
from benchmarks.options import BATCH, Options, Sentences, sentences
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference
from benchmarks.training import copied
from bertscope.core.examples import Examples
from bertscope.core.layers import Layers
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.history import History
from bertscope.training.loop import train
from bertscope.training.objective import Labelled

EVERYTHING, EVERY_STEP, ONCE = "everything trained", "half frozen, run every step", "half frozen, run once"
EPOCHS = 4  # as many as the recipe for small encoders has


def run(options: Options) -> Report:
    data = sentences(options, "train.tsv", options.size(2000, 16))
    encoder = plain.classifier(options.device)
    half = str(Layers.first(encoder.n_layers // 2))

    def variant(name: str, frozen: str, *, once: bool = True) -> Variant:
        def prepare(examples: Examples) -> Work:
            fresh = copied(encoder)
            return lambda: _trained(fresh, examples, frozen, once=once).seconds

        return Variant(name, prepare)

    return compare(
        f"fine-tuning, pocket, {EPOCHS} epochs, {BATCH} examples a step; the steps, and running frozen layers once",
        [variant(EVERYTHING, ""), variant(EVERY_STEP, half, once=False), variant(ONCE, half)],
        data, options, repeats=3, passes=EPOCHS,
        agreement=difference(_after_three_steps(encoder, data, half)),
        claims=[Claim(EVERY_STEP, EVERYTHING, 1.3), Claim(ONCE, EVERYTHING, 1.5), Claim(ONCE, EVERY_STEP, 1.05)],
        notes=["(logits of the two frozen variants after 3 steps on one batch without dropout; timed with dropout)"],
    )  # fmt: skip


def _trained(
    encoder: Encoder, examples: Examples, frozen: str, *, once: bool, epochs: int = EPOCHS, batch: int = BATCH
) -> History:
    few = examples.take(range(min(8, len(examples))))
    task = Task("benchmark", "classification", ("negative", "positive"), examples, few, few, "accuracy")
    settings = FinetuneConfig(epochs=epochs, learning_rate=1e-4, warmup=0.0, batch_size=batch, frozen=frozen)
    objective = Labelled(encoder, task)
    settled = settings.settled(encoder.hidden_size, len(examples))
    return train(encoder, objective, settled, out=None, resume=False, keep_prefix=once)


def _after_three_steps(encoder: Encoder, data: Sentences, frozen: str) -> list[np.ndarray]:
    batch = data.examples.take(range(min(16, len(data))))
    outputs = []
    for once in (False, True):
        fresh = copied(encoder, dropout=False)
        _trained(fresh, batch, frozen, once=once, epochs=3, batch=len(batch))
        outputs.append(fresh.predict(batch).logits)
    return outputs
