"""What is said of a training that taught too little: planted histories, and real trainings of a second."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from bertscope import finetune
from bertscope.cli.answer import what_to_try
from bertscope.core.consequence import consequences_of
from bertscope.training.advice import advice, note, shortfall
from bertscope.training.finetune.question import FinetuneConfig
from planted_consequences import history, training
from short_training import QUICK, make_task

BY_AUTO = "--epochs 4 --learning-rate 0.0003 --warmup 0.1"


@pytest.mark.parametrize(
    ("way", "seen", "todo", "flags"),
    [
        (history((0.7, 0.69), epochs=1), "hardly fell (0.7 to 0.69) in 1 epoch", "more steps, 4 epochs", BY_AUTO),
        (history((0.7, 0.7), (0.5,) * 5, rows=320), "in 4 epochs", "more steps, 25 epochs",
         "--epochs 25 --learning-rate 0.0003 --warmup 0.1"),
        (history((0.7, 0.9), learning_rate=3e-3), "didn't fall (0.7 to 0.9), at 10 times", "a smaller", BY_AUTO),
        (history((0.7, 0.9), epochs=1, learning_rate=3e-3), "at 10 times auto's", "a smaller", BY_AUTO),
        (history((0.7, 0.7), (0.5, float("nan")), learning_rate=0.0), "at 0 times auto's", "a larger", BY_AUTO),
        (history((0.7, 0.68), learning_rate=2e-5), "at 0.067 times auto's", "a larger", BY_AUTO),
        (history((0.7, 0.69)), "the loss hardly fell", "a smaller learning rate, unless",
         "--epochs 8 --learning-rate 0.0001 --warmup 0.1"),
        (history((0.7, 0.3), (0.5, 0.5), epochs=2), "but training was short", "more steps, 4 epochs", BY_AUTO),
        (history((0.7, 0.3), (0.5, 0.5, 0.5, 0.52, 0.58)), "validation still rose", "more steps, 8 epochs",
         "--epochs 8 --learning-rate 0.0003 --warmup 0.1"),
        (history((0.7, 0.01), (0.5, 0.7, 0.72, 0.6, 0.55)), "validation was best after epoch 2 of 4", "stop there",
         "--epochs 4 --learning-rate 0.0003 --warmup 0.1 --keep best"),
        (history((0.7, 0.01), (0.5, 0.51, 0.5, 0.49, 0.5)), "doesn't hold for others", "little signal", ""),
    ],
)  # fmt: skip
def test_what_to_try_follows_from_how_the_training_went(way, seen, todo, flags):
    told = advice(training(0.5, way=way).result)
    assert seen in told.seen and todo in told.todo and told.flags == flags
    assert bool(flags) == told.command.startswith("bertscope finetune {base} --on {data} --")
    assert flags or told.command == "bertscope errors {model} --on {data}"


def test_what_is_no_better_than_counting_words_is_not_said_to_be_learnt_by_heart():
    learnt = history((0.7, 0.01), (0.5, 0.8, 0.8, 0.8, 0.8))
    told = advice(training(0.8, way=learnt, beside={"bag_of_words": 0.8}).result)
    assert "for others" not in told.seen and "little signal" not in told.todo
    assert told.seen == "the loss fell (0.7 to 0.01)" and not told.flags
    assert told.todo == "what needs no model may be enough here; otherwise get more rows, or a larger base"
    assert "doesn't hold for others" in advice(training(0.5, way=learnt, beside={"bag_of_words": 0.8}).result).seen


def test_the_rest_of_the_settings_is_kept_in_the_command():
    way = history((0.7, 0.7), epochs=1, batch_size=8, pooler=False, frozen="1-2", class_weights="balanced", seed=3)
    told = advice(training(0.5, way=way).result)
    for flag in ("--batch-size 8", "--no-pooler", "--frozen 1-2", "--class-weights balanced", "--seed 3"):
        assert flag in told.flags
    assert "--recipe" not in told.flags and "--clip" not in told.flags
    exact = history((0.7, 0.7), epochs=1, weight_decay=0.0125, dropout=0.125)
    flags = advice(training(0.5, way=exact).result).flags
    assert "--weight-decay 0.0125" in flags and "--dropout 0.125" in flags


def test_it_is_held_to_the_best_of_what_needs_no_model():
    assert shortfall(training(0.9, beside={"bag_of_words": 0.8}).result) is None
    under = shortfall(training(0.7, beside={"bag_of_words": 0.8}).result)
    assert (under.baseline, under.is_open) == ("bag_of_words", False)
    assert shortfall(training(0.81, beside={"bag_of_words": 0.8}).result).is_open
    assert shortfall(training(0.51, beside={"bag_of_words": 0.8}).result).baseline == "chance"  # the lower bar first
    assert shortfall(training(0.8, beside={"left_chain": 0.6, "right_chain": 0.9}).result).baseline == "right_chain"


def test_the_sentence_and_the_note_say_the_same():
    (fine,) = consequences_of(training(0.9, beside={"bag_of_words": 0.8}).result)
    assert fine.text == "The training worked: 90 of 100 right; counting words gets 80 of 100 right."
    assert not fine.command and note(training(0.9).result) is None
    (failed,) = consequences_of(training(0.5, way=history((0.7, 0.7), epochs=1)).result)
    assert (
        failed.at_chance and not failed.is_open and failed.text.startswith("The training failed: 50 of 100 right, no")
    )
    assert failed.text.endswith("The loss didn't fall (0.7 to 0.7) in 1 epoch. Try more steps, 4 epochs.")
    (maybe,) = consequences_of(training(0.51).result)
    assert maybe.at_chance and maybe.is_open and maybe.text.startswith("The training may have failed")
    (under,) = consequences_of(training(0.7, beside={"bag_of_words": 0.8}).result)
    assert not under.at_chance and under.text.startswith("It is no better than counting words: 70 of 100 right")
    assert note(training(0.7, beside={"bag_of_words": 0.8}).result).startswith(
        "no better than bag of words (0.700, 0.80"
    )


def test_few_steps_are_said_and_the_recipe_for_so_few_rows_is_told(tiny):
    few = finetune(tiny, make_task(), replace(QUICK, epochs=1, learning_rate=1e-5)).result
    assert few.notes[0].startswith(("no better than a constant answer", "perhaps no better than a constant answer"))
    # Whether the loss falls in eight steps depends on the dropout; that they are few is said in either case.
    assert re.search("(in 1 epoch|but training was short); try more steps, 25 epochs", few.notes[0])
    assert few.provenance["auto"]["epochs"] == 25 and few.provenance["settings"]["epochs"] == 1


def test_of_shuffled_labels_nothing_is_learnt_and_it_says_so(tiny):
    task = make_task()
    gold = np.random.default_rng(0).permutation(task.train.label)
    result = finetune(tiny, replace(task, train=replace(task.train, label=gold)), replace(QUICK, epochs=25)).result
    (said,) = consequences_of(result)
    assert said.at_chance and "constant answer" in result.notes[0]


def test_a_training_that_works_says_nothing_of_it(tiny):
    result = finetune(tiny, make_task(), replace(QUICK, epochs=25)).result
    assert result["after"].value > 0.9 and result.notes == [] and not consequences_of(result)[0].command


def test_the_command_line_names_what_was_given():
    made = training(0.5, way=history((0.7, 0.7), epochs=1))
    root = replace(made.step.inputs["task"], source="my data.csv", options={"skip_bad": True, "limit": 90, "seed": 2})
    step = replace(made.step, inputs=made.step.inputs | {"task": root})
    line = what_to_try(made.result, step, "out")
    read = ["--on", "my data.csv", "--skip-bad", "--limit", "90", "--data-seed", "2"]
    assert shlex.split(line)[:10] == ["bertscope", "finetune", "pocket", *read]
    assert line.endswith(BY_AUTO)
    learnt = training(0.5, way=history((0.7, 0.01), (0.5, 0.5, 0.5, 0.5, 0.5)))
    assert (
        what_to_try(learnt.result, learnt.step, "out/my model")
        == "bertscope errors 'out/my model' --on demo/sentiment"
    )
    assert what_to_try(training(0.9).result, made.step, "out") == ""


@pytest.mark.parametrize(
    ("hidden", "rows", "rate", "epochs"),
    [(192, 100, 3e-4, 25), (192, 300, 3e-4, 25), (192, 1000, 3e-4, 10), (192, 3000, 3e-4, 4), (192, 10_000, 3e-4, 4),
     (384, 100, 1e-4, 25), (384, 600, 1e-4, 16), (384, 3000, 1e-4, 4), (384, 10_000, 1e-4, 3), (512, 10_000, 1e-4, 3),
     (768, 392_702, 2e-5, 3), (768, 1000, 2e-5, 10), (1024, 10_000, 2e-5, 3), (192, 1, 3e-4, 25)],
)  # fmt: skip
def test_auto_goes_by_width_and_rows(hidden, rows, rate, epochs):
    settled = FinetuneConfig().settled(hidden, rows)
    assert (settled.learning_rate, settled.epochs, settled.warmup) == (rate, epochs, 0.1)
    steps = -(-rows // 32)
    assert settled.epochs * steps >= 300 or settled.epochs == 25


def test_steps_are_counted_as_they_are_taken():
    assert FinetuneConfig(batch_size=8).settled(384, 300).epochs == 8  # 38 steps an epoch
    assert FinetuneConfig(batch_size=8, accumulate=4).settled(384, 300).epochs == 25  # 10
    assert FinetuneConfig(epochs=2).settled(384, 300) == FinetuneConfig("auto", 2, 1e-4, 0.1, 1.0)


def test_only_pockets_recipe_lets_a_new_head_learn_faster():
    rates = [FinetuneConfig(recipe=one).settled(192, 300).head_rate for one in ("auto", "paper", "pocket")]
    assert rates == [1, 1, 10]
    known = FinetuneConfig(recipe="pocket").settled(192, 300, new_head=False)
    assert known.head_rate == 1, "one that has learnt before isn't new"
    asked = FinetuneConfig(recipe="pocket", head_rate=3)
    assert asked.settled(192, 300).head_rate == asked.settled(192, 300, new_head=False).head_rate == 3
