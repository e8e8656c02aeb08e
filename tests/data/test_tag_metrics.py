"""Tags as a task's output: scores of hand-worked sentences and of any others, matched names, baselines, losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

import plain_entities
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.output import SILENT
from bertscope.core.predictions import Predictions
from bertscope.data.baselines import baselines
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.tag_names import match_tags
from bertscope.data.outputs.tags import Tags
from bertscope.data.read import read_task
from bertscope.data.subsets import without_words
from bertscope.data.tagged import make_tokens
from bertscope.data.task import Task

WORDS = (("Anna", "Smith", "left", "Paris"), ("no", "."), ("Bank", "of", "England", "pays", "Anna"))
GOLD = (("B-PER", "I-PER", "O", "B-LOC"), ("O", "O"), ("B-ORG", "I-ORG", "I-ORG", "O", "B-PER"))
SAID = (("B-PER", "O", "O", "B-LOC"), ("I-LOC", "O"), ("B-LOC", "I-LOC", "I-LOC", "O", "I-PER"))
"""Anna alone (wrong boundary), Paris, a place that nothing begins (spurious), the bank as a place (wrong type), and
Anna, whom nothing begins: right if tags are read leniently, missed if strictly."""
LABELS = ("O", "B-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
WIDER = ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
"""A model's, which has what these sentences lack."""


def sentences(tags=GOLD, words=WORDS) -> Examples:
    ids = tuple(map(str, range(len(words))))
    return Examples(ids, tuple(map(" ".join, words)), words=words, marks={"tag": tags})


def task_of(tags=GOLD, words=WORDS) -> Task:
    return make_tokens("toy", (sentences(tags, words),) * 3)


def said_by(names, tags, words=WORDS, sure: float = 3.0) -> Predictions:
    """What a model that calls its tags `names` says if it predicts these."""
    logits = np.full((len(words), max(map(len, words)), len(names)), SILENT, dtype=np.float32)
    for row, said in enumerate(tags):
        for at, tag in enumerate(said):
            logits[row, at] = sure * (np.arange(len(names)) == names.index(tag))
    return Predictions(tuple(map(str, range(len(words)))), logits, tuple(names), 0)


def test_hand_worked_sentences():
    task = task_of()
    assert (task.labels, task.metric) == (LABELS, "entity_f1")
    found = task.score(said_by(WIDER, SAID))
    assert found.value == pytest.approx(2 * 2 / (5 + 4))  # Paris and the second Anna; 5 predicted, 4 there
    strictly = 2 * 1 / (3 + 4)  # without the place that nothing begins, nor the second Anna
    assert found.secondary == pytest.approx(
        {"strict_entity_f1": strictly, "entity_precision": 2 / 5, "entity_recall": 2 / 4, "word_accuracy": 5 / 11}
    )
    assert found.chance == 0 and found.n == 3
    assert "toy has no I-LOC, which the model has" in found.notes[0]
    moments = task.moments(said_by(WIDER, SAID))
    assert moments.tolist() == [[1, 2, 2], [0, 1, 0], [1, 2, 2]]
    predicted, gold = task.outputs_to_predictions(said_by(WIDER, SAID)), task.output.gold(task.test)
    assert task.output.errors(predicted, gold) == {
        "right": 2, "wrong_type": 1, "wrong_boundary": 1, "other_overlap": 0, "missed": 0, "spurious": 1,
    }  # fmt: skip
    rows = {row["type"]: (row["predicted"], row["gold"], row["f1"]) for row in task.output.by_type(predicted, gold)}
    assert rows["PER"] == (2, 2, 0.5) and rows["ORG"] == (0, 1, 0.0)


def test_an_i_that_only_the_model_has_goes_on_with_the_tasks_entity():
    """`I-LOC` isn't a tag of the task, but LOC is a type of it: B-LOC I-LOC is one entity, which is longer."""
    task = task_of((("B-LOC", "O"),), (("Paris", "now"),))
    found = task.moments(said_by(("O", "B-LOC", "I-LOC"), (("B-LOC", "I-LOC"),), (("Paris", "now"),)))
    assert found.tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("metric", ["entity_f1", "strict_entity_f1"])
def test_any_tags_are_scored_as_the_definitions_say(metric):
    generator = np.random.default_rng(0)
    names = ("O", "B-A", "I-A", "B-B", "I-B", "B-C", "I-C")
    words = tuple(tuple(f"w{at}" for at in range(n)) for n in generator.integers(1, 9, 200))
    gold, said = (
        tuple(tuple(str(tag) for tag in generator.choice(names[:most], len(row))) for row in words) for most in (5, 7)
    )
    task = Task("toy", "tokens", names[:5], *(sentences(gold, words),) * 3, metric)
    read = plain_entities.strict if metric.startswith("strict") else plain_entities.lenient
    here, there = ([read(row) for row in side] for side in (said, gold))
    right = sum(len(one & other) for one, other in zip(here, there, strict=True))
    wanted = 2 * right / (sum(map(len, here)) + sum(map(len, there)))
    shuffled = [names[at] for at in generator.permutation(7)]
    for order in (list(names), shuffled):
        assert task.score(said_by(order, said, words)).value == pytest.approx(wanted, abs=1e-12)


def test_parts_of_speech_are_scored_by_words():
    tags = (("NOUN", "VERB", "VERB", "NOUN"), ("DET", "."), ("NOUN", "ADP", "NOUN", "VERB", "NOUN"))
    said = (("NOUN", "VERB", "NOUN", "NOUN"), ("X", "."), ("NOUN", "ADP", "NOUN", "VERB", "NOUN"))
    task = task_of(tags)
    found = task.score(said_by((".", "X", "VERB", "NOUN", "ADP"), said))
    assert (found.metric, found.value, found.secondary) == ("word_accuracy", pytest.approx(9 / 11), {})
    assert found.chance == pytest.approx(5 / 11)  # all are nouns
    assert "the model has no DET" in found.notes[0] and "toy has no X" in found.notes[1]
    assert task.describe()["splits"]["test"]["labels"] == {".": 1, "ADP": 1, "DET": 1, "NOUN": 5, "VERB": 3}
    assert task_of().describe()["splits"]["test"]["labels"] == {"words": 11, "LOC": 1, "ORG": 1, "PER": 2}
    with pytest.raises(UserError, match=r"entity_f1 is for entities .* toy has none; give word_accuracy"):
        _ = Task("toy", "tokens", ("NOUN", "VERB"), *(sentences(tags),) * 3, "entity_f1").output


def test_losses_and_divergences_are_those_of_a_plain_loop():
    task, generator = task_of(), np.random.default_rng(1)
    whole, other = (said_by(WIDER, SAID).logits.copy() for _ in range(2))
    for each in (whole, other):
        each[each > SILENT] = generator.normal(size=(each > SILENT).sum())
    names = ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-XXX")  # no I-PER: one word has no loss
    made = [Predictions((), each, names, 0) for each in (whole, other)]
    losses, moved = task.losses(made[1]), task.divergence(*made)
    for row, tags in enumerate(GOLD):
        logs = [log_softmax(each[row, : len(tags)].astype(float), -1) for each in (whole, other)]
        wanted = [-logs[1][at, names.index(tag)] for at, tag in enumerate(tags) if tag in names]
        assert losses[row] == pytest.approx(np.mean(wanted), abs=1e-9)
        assert moved[row] == pytest.approx((np.exp(logs[0]) * (logs[0] - logs[1])).sum(-1).mean(), abs=1e-6)
    assert task.flips(made[0], made[0]).tolist() == [0, 0, 0] and task.flips(*made).max() == 1


def test_names_match_whatever_their_case_and_order():
    match = match_tags(("b-per", "i-Per", "o"), ("O", "B-PER", "I-PER"), "toy")
    assert match.places == ((2,), (0,), (1,)) and not match.notes
    numbered = match_tags(("LABEL_0", "LABEL_1", "LABEL_2"), ("O", "B-PER", "I-PER"), "toy")
    assert numbered.is_plain
    assert numbered.notes == ("tags matched by their order: LABEL_0 is O, LABEL_1 is B-PER, LABEL_2 is I-PER",)
    more = match_tags(("O", "B-PER", "B-MISC", "I-MISC", "X", "B-EVENT"), ("O", "B-PER", "I-PER"), "toy")
    assert more.places == ((0,), (1,), (), (4,), (), (), (5,), (), (2,), (3,))
    other_scheme = match_tags(("O", "S-PER", "B-PER", "I-PER", "E-PER"), ("O", "B-PER", "I-PER"), "toy")
    assert other_scheme.places == ((0,), (1, 2), (3, 4)) and not other_scheme.notes
    unnamed = match_tags(("O", "B", "I"), ("O", "B-entity", "I-entity"), "toy")
    assert unnamed.places == ((0,), (1,), (2,))
    both = other_scheme.ordered(np.log(np.array([0.1, 0.2, 0.3, 0.15, 0.25])))
    np.testing.assert_allclose(np.exp(both), [0.1, 0.5, 0.4])


@pytest.mark.parametrize("names", [("O", "B-Gene", "I-Gene"), ("NOUN", "VERB"), ("LABEL_0", "LABEL_1")])
def test_a_model_of_something_else_is_refused(names):
    with pytest.raises(UserError, match=r"the model's tags are .*, and those of toy .*; rename them .* fine-tune it"):
        match_tags(names, LABELS, "toy")


def test_a_word_that_isnt_read_is_no_entity_and_never_right():
    made = said_by(WIDER, GOLD)
    made.logits[0, 3] = SILENT
    task = task_of()
    predicted = task.outputs_to_predictions(made)
    assert predicted[0].tolist() == [4, 5, 0, NOTHING, NOTHING] and predicted.dtype == np.int16
    assert task.moments(made).tolist() == [[1, 1, 2], [0, 0, 0], [2, 2, 2]]


def test_baselines_look_words_up(tmp_path):
    train = sentences(
        (("B-PER", "O"), ("B-LOC", "O"), ("B-LOC", "O")), (("Anna", "ran"), ("Rome", "is"), ("Anna", "is"))
    )
    test = sentences((("B-LOC", "B-PER", "O"),), (("Rome", "Anna", "sang"),))
    task = make_tokens("toy", (train, test, test))
    found = baselines(task)
    assert list(found) == ["chance", "word_lookup"]
    names = [task.labels[at] for at in task.outputs_to_predictions(found["word_lookup"])[0]]
    assert names == ["B-LOC", "B-LOC", "O"]  # Anna is a place as often as a person: of equals the first tag
    assert task.score(found["chance"]).value == 0 and task.score(found["word_lookup"]).value == 0.5


@pytest.mark.parametrize("at_random", [None, 3])
def test_sentences_with_some_words_can_be_left_out(at_random):
    words = tuple((f"w{row}", "Anna" if row % 4 == 0 else "Tom") for row in range(40))
    task = without_words(task_of((("O", "B-PER"),) * 40, words), ["anna"], at_random)
    assert (len(task.train), len(task.validation), len(task.test)) == (30, 30, 40)
    named = [one for row in task.train.words for one in row if one == "Anna"]
    assert bool(named) == (at_random is not None)


def test_what_cant_be_scored_is_said():
    task = task_of()
    with pytest.raises(UserError, match="the tag 'B-X', which toy hasn't"):
        task.output.gold(sentences((("B-X",),), (("Anna",),)))
    with pytest.raises(UserError, match="no words with tags"):
        task.output.gold(Examples(("1",), ("Anna left",)))
    with pytest.raises(UserError, match="not a number for each of the 6 tags of toy"):
        task.score(np.zeros((3, 5, 2), dtype=np.float32))
    with pytest.raises(ValueError, match="are not those of 3 examples"):
        task.moments(np.zeros((2, 5, 6), dtype=np.float32))
    assert set(METRICS["tokens"]) == {task.metric, *task.score(said_by(WIDER, SAID)).secondary}
    assert isinstance(task.output, Tags)


def test_a_metric_that_isnt_for_these_tags_is_refused(tmp_path):
    path = tmp_path / "a.conllu"
    line = "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path.write_text("".join(line.replace("Dogs", f"Dogs{at}") for at in range(20)))
    task = read_task(path, kind="tokens")
    assert (task.kind, task.labels, task.metric) == ("tokens", ("NOUN", "VERB"), "word_accuracy")
    with pytest.raises(UserError, match="entity_recall is for entities"):
        read_task(path, kind="tokens", metric="entity_recall")
    assert read_task(path).kind == "trees"
