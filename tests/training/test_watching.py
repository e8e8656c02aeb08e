"""`Watch`: a real Trainer trains as it does without, and what is asked on the way goes to its own log."""

from __future__ import annotations

import copy
import random
from functools import wraps

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.models.load import load
from device import DEVICE, on_cpu
from short_training import make_task

TASK = make_task()


class Seen(TrainerCallback):
    """What a logger such as TensorBoard's is given."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.logs.append((state.global_step, dict(logs)))


@pytest.fixture
def made(tiny, tmp_path):
    """A trainer of a fresh copy of the same model, and what its loggers see."""

    def make(steps: int = 6, **further):
        set_seed(3)
        model, tokenizer = copy.deepcopy(tiny.model), copy.deepcopy(tiny.tokenizer)
        rows = [
            {**tokenizer(text, padding="max_length", truncation=True, max_length=16), "labels": int(label)}
            for text, label in zip(TASK.train.text, TASK.train.label, strict=True)
        ]
        arguments = TrainingArguments(
            str(tmp_path / "trainer"), max_steps=steps, per_device_train_batch_size=4, learning_rate=1e-3,
            logging_steps=2, save_strategy="no", report_to=[], disable_tqdm=True, seed=3,
            **{"use_cpu": True, **further},
        )  # fmt: skip
        seen = Seen()
        return Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer, callbacks=[seen]), seen

    return make


def weights(trainer) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def equal(one, other) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@on_cpu
def test_the_training_is_the_same_and_the_numbers_go_to_its_log(made, tmp_path):
    plain, plain_seen = made()
    plain.train()
    state = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()
    trainer, seen = made()
    quick = {"neighbours": 0, "words": False, "repeats": 100, "permutations": 99}
    questions = {"patterns": {"limit": 8}, "errors": {"on": TASK, **quick}, "change": {"limit": 8}}
    watch = bertscope.Watch(questions, on=list(TASK.test.text), every=3, keep=[0, 2, 6], out=tmp_path / "kept")
    watch.attach(trainer)
    noted = getattr(trainer.model.config, "bertscope", None)
    trainer.train()
    assert equal(weights(trainer), weights(plain))
    assert state[0] == random.getstate() and np.array_equal(state[1], np.random.get_state()[1])
    assert torch.equal(state[2], torch.get_rng_state())
    assert trainer.model.training == plain.model.training
    assert getattr(trainer.model.config, "bertscope", None) == noted

    assert sorted(watch.results) == [0, 3, 6] and set(watch.results[3]) == {"patterns", "errors", "change"}
    ours = [(step, logs) for step, logs in seen.logs if any(name.startswith("bertscope/") for name in logs)]
    assert [step for step, _ in ours] == [0, 3, 6]
    for step, logs in ours:
        assert logs["bertscope/errors/score"] == watch.results[step]["errors"]["score"].value
        assert all(isinstance(value, float) for name, value in logs.items() if name != "epoch")
        assert {**logs, "step": step} in trainer.state.log_history, "where TensorBoard's and W&B's callbacks look"
    losses = [[(step, logs["loss"]) for step, logs in one.logs if "loss" in logs] for one in (seen, plain_seen)]
    assert losses[0] == losses[1] and len(losses[0]) == 3, "no log of its own is lost"
    assert Result.load(tmp_path / "kept" / "step-3" / "errors").equals(watch.results[3]["errors"])

    folders = sorted(path.name for path in (tmp_path / "kept").glob("checkpoint-*"))
    assert folders == ["checkpoint-0", "checkpoint-2", "checkpoint-6"]
    last, first = (load(tmp_path / "kept" / name) for name in ("checkpoint-6", "checkpoint-0"))
    assert equal(last.model.state_dict(), weights(trainer)) and last.record.origin.step == 6
    assert last.record.came_of(first.record) and first.record.origin.step == 0
    asked = bertscope.errors(last, TASK, **quick)
    assert asked["score"].value == watch.results[6]["errors"]["score"].value
    assert np.allclose(asked["loss"].value, watch.results[6]["errors"]["loss"].value)


def in_low_precision(trainer):
    """What accelerate does to a model that is trained in mixed precision, with an error that nobody overlooks."""
    model = trainer.model
    model._original_forward = model.forward

    @wraps(model._original_forward)
    def mixed(*args, **kwargs):
        found = model._original_forward(*args, **kwargs)
        return type(found)(**{**found, "logits": found.logits + 5.0 * torch.arange(found.logits.shape[-1])})

    model.forward = mixed


@pytest.mark.parametrize(
    "mixed",
    ["like accelerate", pytest.param("bf16", marks=pytest.mark.skipif(DEVICE != "cuda", reason="needs a GPU"))],
)
def test_in_mixed_precision_answers_are_those_of_the_checkpoint(made, tmp_path, mixed):
    trainer, _ = made(**({"bf16": True, "use_cpu": False} if mixed == "bf16" else {}))
    if mixed != "bf16":
        in_low_precision(trainer)
    quick = {"neighbours": 0, "words": False, "repeats": 100, "permutations": 99}
    questions = {"errors": {"on": TASK, **quick}, "change": {"limit": 8}}
    watch = bertscope.Watch(questions, on=list(TASK.test.text), every=6, keep=[0, 6], out=tmp_path / "kept")
    watch.attach(trainer)
    trainer.train()
    trained = trainer.model.__dict__["forward"]
    assert trained is not trainer.model._original_forward, "it goes on as it was trained"
    first, last = (load(tmp_path / "kept" / f"checkpoint-{step}") for step in (0, 6))
    asked, changed = bertscope.errors(last, TASK, **quick), bertscope.change(first, last, TASK.test, limit=8)
    assert watch.results[6]["errors"]["loss"].value == pytest.approx(asked["loss"].value, rel=1e-5)
    told = watch.results[6]["change"]["divergence"].value
    assert told == pytest.approx(changed["divergence"].value, rel=1e-4) and told > 1e-9, "the start isn't the end"


@on_cpu
def test_a_model_in_the_middle_of_a_step_is_as_it_was(made):
    """Gradients that were added up, frozen weights and a module that rests stay, also for who asks for gradients."""
    trainer, _ = made()
    model = trainer.model
    next(model.parameters()).requires_grad_(False)
    model.train()
    model.classifier.eval()
    last = model.classifier.weight
    last.grad = torch.ones_like(last)
    watch = bertscope.Watch({"importance": {}}, on=TASK, every=1)
    watch.attach(trainer)
    state = trainer.state
    state.max_steps, state.global_step = 5, 0
    before = torch.get_rng_state()
    watch.on_train_begin(trainer.args, state, trainer.control)
    assert watch.results[0]["importance"] and torch.equal(before, torch.get_rng_state())
    assert not next(model.parameters()).requires_grad and last.requires_grad
    assert torch.equal(last.grad, torch.ones_like(last))
    assert model.training and not model.classifier.training
    assert all(weights.grad is None for weights in model.parameters() if weights is not last)


def test_a_number_of_checkpoints_without_a_question(made, tmp_path):
    trainer, seen = made()
    bertscope.Watch(keep=4, spacing="logarithmic", out=tmp_path / "kept").attach(trainer)
    trainer.train()
    steps = sorted(int(path.name.rpartition("-")[2]) for path in (tmp_path / "kept").iterdir())
    assert steps == [0, 1, 2, 6]
    assert not any(name.startswith("bertscope") for _, logs in seen.logs for name in logs)


def test_mistakes(made, tmp_path):
    trainer, _ = made()
    for how, told in (
        ({}, "keeps nothing and asks nothing"),
        ({"keep": 3}, "no place to keep checkpoints in; give out="),
        ({"keep": 1, "out": "x"}, "keep is 1; it must be at least 2"),
        ({"keep": [-1], "out": "x"}, "give a number of checkpoints, or the steps"),
        ({"questions": "patterns"}, r"it takes several: questions=\['patterns'\]"),
        ({"questions": ["patterns"]}, "patterns reads data; give on="),
        ({"questions": ["patterns"], "on": ["a"]}, "isn't told when to ask; give every=, or keep="),
        ({"questions": ["pattern"], "on": ["a"], "every": 1}, "no question 'pattern'; did you mean 'patterns'"),
        ({"questions": ["finetune"], "on": TASK, "every": 1}, "finetune isn't asked of a model as it is"),
        ({"questions": ["patterns"], "on": ["a"], "every": 0}, "every is 0; it must be at least 1"),
        ({"keep": 3, "out": "x", "spacing": "log"}, "unknown spacing 'log'; known: even, logarithmic"),
    ):
        with pytest.raises(UserError, match=told):
            bertscope.Watch(**how)
    watch = bertscope.Watch(keep=20, out=tmp_path / "kept")
    trainer.add_callback(watch)
    with pytest.raises(UserError, match=r"follows no trainer; use watch\.attach"):
        trainer.train()
    trainer, _ = made()
    bertscope.Watch(keep=20, out=tmp_path / "kept").attach(trainer)
    with pytest.raises(UserError, match="keep is 20, but the training has 6 steps"):
        trainer.train()
    trainer.processing_class = None
    with pytest.raises(UserError, match="the trainer has no tokenizer"):
        bertscope.Watch(keep=3, out=tmp_path / "kept").attach(trainer)
