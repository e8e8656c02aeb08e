"""Fine-tuning on masked words: what guesses comes with the base; and the lottery of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.store import Store
from bertscope.data.outputs.spans import Spans
from bertscope.data.outputs.trees import Trees
from bertscope.data.read import task_root
from bertscope.experiments.lottery.question import plan
from bertscope.models.load import load
from bertscope.models.new_task_head import bare
from bertscope.models.outputs.kinds import model_output
from bertscope.models.parser import with_parser
from bertscope.models.source import model_root
from bertscope.models.span_head import with_span_head
from bertscope.training.finetune.question import FinetuneConfig, finetune
from planted_words import guesser, guessing_task
from quick_configs import QUICK_LOTTERY
from running import made_by
from short_training import make_task

FEW = FinetuneConfig(epochs=2, learning_rate=1e-3)


def test_the_guessing_layer_is_the_bases_own_and_learns(_pocket, tmp_path):
    base = guesser(_pocket.tokenizer)
    base.model.cls.predictions.decoder.weight.data.zero_()  # it knows no word yet
    before = base.fingerprint
    settings = replace(FEW, epochs=15, learning_rate=2e-2, frozen="encoder")
    trained = finetune(base, guessing_task(), settings, out=tmp_path / "model")
    assert trained.result["before"].value == 0 and trained.result["after"].value > 0.9
    assert base.fingerprint == before != trained.encoder.fingerprint
    assert trained.encoder.task_head == "masked-lm" and load(tmp_path / "model").task_head == "masked-lm"
    beside = trained.result.tables["beside"].set_index("arm")
    assert (
        set(beside["metric"]) == {"bits_per_piece"} and beside.loc["after", "score"] < beside.loc["before", "score"]
    )
    task = guessing_task().asked_of(trained.encoder)
    assert trained.encoder.tuned_on == task.fingerprint
    assert trained.result["chance"].value == task.chance() < 0.5


def test_random_weights_begin_anew(_pocket):
    base = guesser(_pocket.tokenizer)
    trained = finetune(base, guessing_task(20), replace(FEW, init="random", epochs=1))
    assert trained.result["before"].value < 0.2 and trained.encoder.record.origin.init == "random"


def test_what_guesses_already_learns_as_fast_as_the_rest_by_any_recipe(_pocket):
    config = FinetuneConfig("pocket", epochs=1)
    rates = [
        finetune(base, task, config).result.provenance["settings"]["head_rate"]
        for base, task in ((guesser(_pocket.tokenizer), guessing_task(20)), (_pocket, make_task()))
    ]
    assert rates == [1, 10]


def test_a_base_that_does_not_guess_is_refused(tiny):
    for base in (tiny, bare(tiny, name="tiny")):
        with pytest.raises(UserError, match="doesn't guess masked words"):
            finetune(base, guessing_task(20), FEW)
    with pytest.raises(UserError, match="classifier, pooler and dropout are for tasks that a classifier answers"):
        finetune(tiny, guessing_task(20), replace(FEW, pooler=False))


@pytest.mark.slow
def test_the_lottery_of_a_pretrained_model(_pocket, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(guessing_task(120).train.text))
    root = model_root(guesser(_pocket.tokenizer).save(tmp_path / "base"))
    config = replace(QUICK_LOTTERY, methods=("s",), seeds=(0,), epochs=1)
    step, store = plan(root, task_root(texts), config), Store(tmp_path / "store")
    assert made_by(step, store).count("ticket") == 4
    result = store.result(step)
    arms = result.tables["arms"].set_index(["arm", "stage"])
    assert arms.loc[("full", "fine_tuned"), "score"] > 0.9 > 0.5 > arms.loc[("majority", ""), "score"] > 0
    assert arms.loc[("good", "retrained"), "score"] > 0.9
    assert any(note.startswith("15% of each text's words are masked") for note in result.notes)


@pytest.mark.parametrize("make", [with_span_head, lambda base: with_parser(base, ("nsubj", "root"))])
def test_random_twins_keep_any_task_head(tiny, make):
    base = make(tiny)
    output = Trees("own", base.labels, "las") if base.labels else Spans("own", "token_f1")
    twin = model_output(base, output).with_random_weights(3)
    assert (twin.task_head, twin.labels, type(twin.model)) == (base.task_head, base.labels, type(base.model))
    shapes = [{name: tuple(held.shape) for name, held in one.model.state_dict().items()} for one in (base, twin)]
    assert shapes[0] == shapes[1] and twin.record.origin.by == "random"
    theirs, ours = (one.model.state_dict() for one in (base, twin))
    moved = [
        name for name in theirs if theirs[name].ndim > 1 and not np.allclose(theirs[name].cpu(), ours[name].cpu())
    ]
    assert len(moved) > 10
