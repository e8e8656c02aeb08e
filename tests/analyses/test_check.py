"""Do a model and a data set belong together: against plain counts, and where something is planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.check.consequence import consequences
from bertscope.analyses.check.measure import pieces_of
from bertscope.analyses.check.question import CheckConfig, check
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.baselines import baselines
from bertscope.data.repeats import contradicted, seen_in_training
from bertscope.models.outputs.kinds import model_output
from planted_kinds import PLANTED
from toy import task_of

QUICK = CheckConfig(repeats=200)


def works(result) -> list[str]:
    return [one.text for one in consequences(result) if one.theme == "works"]


@pytest.fixture(scope="module")
def model(_pocket):
    return PLANTED["classification"].model(_pocket.tokenizer)


@pytest.fixture(scope="module")
def planted():
    """Three splits that share no text."""
    whole = PLANTED["classification"].task(600)
    _, first = np.unique(np.array(whole.test.text), return_index=True)
    parts = (whole.test.take(np.sort(first)[begin::3]) for begin in range(3))
    train, validation, test = parts
    return replace(whole, train=train, validation=validation, test=test)


def test_the_numbers_are_those_of_plain_scores(model, planted):
    result = check(model, planted, QUICK)
    own, others = planted.score(model.predict(planted.test)), baselines(planted)
    assert result["score"].value == own.value
    for name, outputs in others.items():
        (number,) = result.numbers(key="baseline", arm=name)
        (above,) = result.numbers(key="above_baseline", arm=name)
        assert number.value == planted.score(outputs).value
        assert above.value == pytest.approx(own.value - number.value) and above.low <= above.value <= above.high
    assert result["seen_share"].value == seen_in_training(planted).mean()


def test_a_leak_between_splits_is_found_and_the_score_without_it_is_told(model, planted):
    rows = np.arange(60)
    leaking = replace(planted, train=_joined(planted.train, planted.test.take(rows)))
    result = check(model, leaking, QUICK)
    assert result["seen_share"].value == seen_in_training(leaking).mean() >= 0.2
    rest = np.flatnonzero(~seen_in_training(leaking))
    alone = leaking.score(model.predict(leaking.test.take(rest)), leaking.test.take(rest))
    assert result["score_unseen"].value == pytest.approx(alone.value)
    assert any("the training data also holds" in text for text in works(result))
    assert not any("training data" in text for text in works(check(model, planted, QUICK)))


def test_texts_with_two_labels_are_counted(planted):
    rows = sum(len(split) for split in (planted.train, planted.validation, planted.test))
    assert contradicted(planted) == (0, rows)
    first = planted.train.take([0])
    other = replace(first, ids=("again",), label=1 - np.asarray(first.label))
    both = replace(planted, train=_joined(planted.train, other))
    assert contradicted(both) == (2, rows + 1)


def test_random_weights_and_exchanged_labels_are_not_said_to_work(model, planted):
    twin = model_output(model, planted.output).with_random_weights(3)
    assert not any(text.startswith("It works") for text in works(check(twin, planted, QUICK)))
    test = replace(planted.test, label=1 - np.asarray(planted.test.label))
    wrong = works(check(model, replace(planted, test=test), QUICK))
    assert wrong[0].startswith("It does not work here")


def test_a_model_is_said_to_work_only_beyond_what_words_alone_give(model, planted, tiny, many):
    """The planted label is told by one word; what random weights say isn't."""
    assert works(check(model, planted, QUICK))[0].startswith("Whether it is of use is open: all answers right")
    own = task_of(many, tiny)
    own = replace(own, train=own.train.take(range(20)), test=own.test.take(range(20, 60)))
    result = check(tiny, own, QUICK)
    assert result["score"].value == 1 and works(result)[0].startswith("It works: all answers right")


def test_pieces_are_counted_as_the_tokenizer_cuts(model):
    text = ("the unbelievableness of it", "xylophonically good")
    examples = Examples(("a", "b"), text, label=np.array([0, 1]))
    found = pieces_of(model, examples)
    plain = [model.tokenizer(one, add_special_tokens=False) for one in text]
    assert found.count == sum(len(one["input_ids"]) for one in plain)
    assert found.words == sum(len({word for word in one.word_ids() if word is not None}) for one in plain)


def test_a_foreign_script_and_anothers_tokenizer_are_found(model, planted):
    strange = replace(planted, test=replace(planted.test, text=tuple("ⵣⴰⵎ ⴰⵣⵓⵍ" for _ in planted.test.text)))
    result = check(model, strange, QUICK)
    assert result["unknown_share"].value > 0.9 and any("tokenizer" in text for text in works(result))


@pytest.mark.parametrize("kind", list(PLANTED))
def test_every_kind_of_output_is_checked(kind, _pocket):
    case = PLANTED[kind]
    model, task = case.model(_pocket.tokenizer), case.task(40)
    result = check(model, task, QUICK)
    assert result["score"].value == pytest.approx(task.asked_of(model).score(
        model.predict(task.asked_of(model).test, task.asked_of(model).output)).value)  # fmt: skip
    assert consequences(result)[0].theme == "works"


@pytest.mark.parametrize("kind", ["tokens", "trees"])
def test_the_longest_sentence_may_be_one_that_training_has_too(kind, _pocket):
    case = PLANTED[kind]
    model, task = case.model(_pocket.tokenizer), case.task(40)
    lengths = np.array([len(words) for words in task.test.words])
    task = replace(task, train=task.test.take(np.flatnonzero(lengths == lengths.max())))
    rest = task.test.take(np.flatnonzero(~seen_in_training(task)))
    assert max(map(len, rest.words)) < lengths.max()
    alone = task.score(model.predict(rest, task.output), rest)
    assert check(model, task, QUICK)["score_unseen"].value == pytest.approx(alone.value)


def test_no_test_rows_are_refused(model, planted):
    with pytest.raises(UserError, match="no test rows"):
        check(model, replace(planted, test=planted.test.take([])), QUICK)


def _joined(one: Examples, other: Examples) -> Examples:
    return replace(
        one, ids=(*one.ids, *(f"again {row}" for row in other.ids)), text=(*one.text, *other.text),
        label=np.concatenate([one.label, other.label]),
    )  # fmt: skip
