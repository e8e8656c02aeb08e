"""UAS and LAS against sentences worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, ROOT, Examples
from bertscope.core.predictions import Predictions
from bertscope.data.task import Task

# dogs bark loudly .   /   it was seen
TRAIN = Examples(
    ("a", "b"), ("dogs bark loudly .", "it was seen"), words=(("dogs", "bark", "loudly", "."), ("it", "was", "seen")),
    governors=((1, ROOT, 1, 1), (2, 2, ROOT)),
    marks={
        "pos": (("NOUN", "VERB", "ADV", "PUNCT"), ("PRON", "AUX", "VERB")),
        "relation": (("nsubj", "root", "advmod", "punct"), ("nsubj:pass", "aux:pass", "root")),
    },
)  # fmt: skip
LABELS = ("advmod", "aux:pass", "nsubj", "nsubj:pass", "punct", "root")


def task(metric: str = "las", test: Examples = TRAIN) -> Task:
    return Task("toy", "trees", LABELS, TRAIN, TRAIN, test, metric)


def said(*rows) -> np.ndarray:
    """Heads and relations by name, padded."""
    width = max(map(len, rows))
    found = np.full((len(rows), width, 2), NOTHING)
    for at, row in enumerate(rows):
        found[at, : len(row)] = [(head, LABELS.index(relation)) for head, relation in row]
    return found


PREDICTED = said(
    [(1, "nsubj:pass"), (ROOT, "root"), (1, "nsubj"), (2, "punct")],  # subtype aside; wrong relation; wrong head
    [(2, "nsubj:pass"), (0, "aux:pass"), (ROOT, "root")],  # the second head is wrong
)


@pytest.mark.parametrize(
    ("metric", "per_sentence", "value"),
    [
        ("uas", [[3, 4], [2, 3]], 5 / 7),
        ("las", [[2, 4], [2, 3]], 4 / 7),
        ("uas_no_punct", [[3, 3], [2, 3]], 5 / 6),
        ("las_no_punct", [[2, 3], [2, 3]], 4 / 6),
    ],
)
def test_attachment_by_hand(metric, per_sentence, value):
    one = task(metric)
    assert one.moments(PREDICTED).tolist() == per_sentence
    scores = one.score(PREDICTED)
    assert scores.value == pytest.approx(value) and scores.n == 2  # over words, not the mean over sentences
    assert metric not in scores.secondary and len(scores.secondary) == 3
    assert task("las").score(PREDICTED).secondary["uas"] == pytest.approx(5 / 7)


def test_gold_is_perfect_and_arms_are_scored_together():
    one = task()
    gold = one.output.gold(TRAIN)[..., :2]
    assert one.score(gold).value == 1
    together = one.moments(np.stack([gold, PREDICTED]))
    assert together.shape == (2, 2, 2) and (together[1] == one.moments(PREDICTED)).all()


def test_relations_that_fit_hasnt_count_as_words_but_cant_be_right():
    other = Examples(("c",), ("so it is",), words=(("so", "it", "is"),), governors=((2, 2, ROOT),),
                     marks={"relation": (("discourse", "nsubj:outer", "root"),)})  # fmt: skip
    one = task(test=other)
    assert one.output.gold(other)[0, :, 1].tolist() == [NOTHING, NOTHING, LABELS.index("root")]
    # All heads are right; `discourse` is unknown, `nsubj:outer` is of the family of nsubj.
    predicted = said([(2, "advmod"), (2, "nsubj"), (ROOT, "root")])
    assert one.moments(predicted).tolist() == [[2, 3]] and one.score(predicted).secondary == {"uas": 1.0}
    lost = predicted.copy()
    lost[0, 0] = NOTHING  # the model didn't read the word
    assert one.moments(lost).tolist() == [[2, 3]] and one.score(lost).secondary["uas"] == pytest.approx(2 / 3)
    with pytest.raises(UserError, match="doesn't say which words are punctuation"):
        task("uas_no_punct", other).score(predicted)


def test_chains_by_hand():
    one = task()
    # Under the word before: bark is then the first word's, loudly hangs on bark: 1 of 4; it is the root: 0 of 3.
    left, right = one.output.chain(TRAIN, TRAIN, -1), one.output.chain(TRAIN, TRAIN, 1)
    assert left[0, :, 0].tolist() == [ROOT, 0, 1, 2] and left[1, :, 0].tolist() == [ROOT, 0, 1, NOTHING]
    assert right[0, :, 0].tolist() == [1, 2, 3, ROOT] and right[1, :, 0].tolist() == [1, 2, ROOT, NOTHING]
    uas = task("uas")
    assert uas.moments(left).tolist() == [[1, 4], [0, 3]] and uas.moments(right).tolist() == [[1, 4], [2, 3]]
    # Words under the next one: dogs (nsubj), was (aux:pass); the first of equals. Roots are root.
    assert {LABELS[at] for at in right[0, :3, 1]} == {"aux:pass"} and LABELS[right[0, 3, 1]] == "root"
    assert (one.blind_outputs(TRAIN) == right).all() and uas.chance() == pytest.approx(3 / 7)


def test_a_first_word_that_is_the_root_is_under_no_word_before_it():
    rows = (("go", "home"), ("see", "it"), ("stop", "now"))
    trees = Examples(tuple("abc"), tuple(map(" ".join, rows)), words=rows, governors=((ROOT, 0),) * 3,
                     marks={"relation": tuple(("root", other) for other in ("obl", "obj", "obj"))})  # fmt: skip
    one = Task("toy", "trees", ("obj", "obl", "root"), trees, trees, trees, "las")
    left = one.output.chain(trees, trees, -1)
    assert left.tolist() == [[[ROOT, 2], [0, 0]]] * 3
    assert (one.blind_outputs(trees) == left).all() and one.chance() == pytest.approx(5 / 6)


def test_other_mistakes():
    with pytest.raises(UserError, match="answers to toy doesn't hold their loss"):
        task().losses(PREDICTED)
    with pytest.raises(UserError, match="have no trees"):
        task().moments(PREDICTED, Examples(("a",), ("x",)))
    with pytest.raises(ValueError, match="not a head and a relation for each word"):
        task().moments(PREDICTED[:, :2])


def test_a_parsers_relations_are_matched_by_name():
    gold = task().output.gold(TRAIN)[..., :2]
    turned = LABELS[::-1]
    places = np.array([*(turned.index(label) for label in LABELS), NOTHING])
    outputs = np.stack([gold[..., 0], places[gold[..., 1]]], axis=-1)
    assert task().score(Predictions(TRAIN.ids, outputs, turned, 0)).value == 1
    assert task().score(outputs).value < 1, "a bare array is in the task's order"
    first = np.stack([gold[..., 0], np.where(gold[..., 1] == NOTHING, NOTHING, 0)], axis=-1)
    alone = Predictions(
        TRAIN.ids, first, ("root", "xcomp"), 0
    )  # all are the root; the other, no relation of the task
    assert task().moments(alone)[:, 0].tolist() == [1, 1]
    unread = Predictions(TRAIN.ids, np.full_like(gold, NOTHING), turned, 0)
    assert (task().outputs(unread) == NOTHING).all(), "of words that aren't read nothing is said"
    with pytest.raises(UserError, match="the parser knows none of the relations of toy; fine-tune it on this task"):
        task().score(Predictions(TRAIN.ids, gold, ("SBJ", "OBJ"), 0))
