"""Exact match and token F1 against answers worked by hand, and against what SQuAD's own script said."""

from __future__ import annotations

import numpy as np
import pytest

import frozen_squad
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.outputs.spans import normalised, token_f1
from bertscope.data.task import Task
from nasty_answers import nasty_answer

CONTEXT = "In 1066, the Normans (led by William) crossed an English channel; the Normans won."
FIRST, WHOLE, SECOND = (9, 20), (9, 36), (66, 77)


def questions(*answers) -> Examples:
    n = len(answers)
    return Examples(tuple("abcdef"[:n]), ("Who?",) * n, (CONTEXT,) * n, answers=tuple(answers))


def task(*answers, metric="token_f1") -> Task:
    asked = questions(*answers)
    return Task("toy", "spans", (), asked, asked, asked, metric)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("The Normans!", ["normans"]),
        ("an  apple a day", ["apple", "day"]),
        ("U.S.A.", ["usa"]),
        ("theatre and Ann", ["theatre", "and", "ann"]),
        ("a-b, the-c", ["ab", "thec"]),
        ("«the» 5°", ["«", "»", "5°"]),
        ("The", []),
    ],
)
def test_answers_are_normalised_as_squad_does(answer, words):
    assert normalised(answer) == words


def test_f1_by_hand():
    # 2 of 3 predicted words are right, 2 of 4 gold words are found: 2 * 2/3 * 1/2 / (2/3 + 1/2) = 4/7.
    assert token_f1(["x", "y", "z"], ["y", "x", "u", "v"]) == pytest.approx(4 / 7)
    assert token_f1(["x", "x", "y"], ["x", "y", "y"]) == pytest.approx(2 * 2 / 6)  # each as often as it occurs
    assert token_f1(["x"], ["y"]) == 0 and token_f1(["x", "y"], ["y", "x"]) == 1
    assert token_f1([], []) == 1 and token_f1([], ["x"]) == token_f1(["x"], []) == 0


def test_exact_match_and_f1_are_what_squads_script_said_of_600_nasty_answers():
    """Its numbers are kept: tests/support/frozen_squad.py says how they were made."""
    rows = [nasty_answer(seed) for seed in frozen_squad.SEEDS]
    texts, right, predicted = zip(*rows, strict=True)
    asked = Examples(tuple(map(str, frozen_squad.SEEDS)), ("Who?",) * len(rows), texts, answers=right)
    nasty = Task("nasty", "spans", (), asked, asked, asked, "token_f1")
    exact, f1 = np.array(frozen_squad.frozen()).T
    assert nasty.moments(np.array(predicted)) == pytest.approx(np.stack([f1, exact], axis=1), abs=1e-6)
    # there is something to tell apart: right, wrong, in between; answers without words, right and wrong
    wordless = np.array([not normalised(text[slice(*span)]) for text, span in zip(texts, predicted, strict=True)])
    assert 100 < exact.sum() < 400 and 100 < (f1 == 0).sum() < 400 and ((f1 > 0) & (f1 < 1)).sum() > 50
    assert (wordless & (exact == 1)).sum() > 5 and (wordless & (exact == 0)).sum() > 5


def test_a_right_answer_without_words_counts_only_where_all_are():
    """As SQuAD 2.0's script has it."""
    article = (9, 12)
    assert CONTEXT[slice(*article)] == "the"
    assert task((article, FIRST)).moments(np.array([article])).tolist() == [[0, 0]]
    assert task((article,)).moments(np.array([article])).tolist() == [[1, 1]]


def test_moments_take_the_nearest_of_several_answers():
    assert CONTEXT[slice(*FIRST)] == "the Normans" == CONTEXT[slice(*SECOND)]
    assert CONTEXT[slice(*WHOLE)] == "the Normans (led by William"
    several = task((WHOLE, FIRST), (WHOLE,))
    outputs = np.array([SECOND, SECOND])
    # "normans" is the second gold answer of the first question; against "normans led by william": 2 * 1 / (1 + 4).
    assert np.allclose(several.moments(outputs), [[1, 1], [0.4, 0]])
    scores = several.score(outputs)
    assert scores.value == pytest.approx(0.7) and scores.secondary == {"exact_match": 0.5} and scores.n == 2
    assert task((WHOLE, FIRST), (WHOLE,), metric="exact_match").score(outputs).value == 0.5


def test_arms_are_scored_together():
    several = task((FIRST,), (WHOLE,))
    arms = np.array([[FIRST, FIRST], [WHOLE, WHOLE], [(0, 0), (0, 7)]])
    together = several.moments(arms)
    assert together.shape == (3, 2, 2)
    for arm, outputs in enumerate(arms):
        assert (together[arm] == several.moments(outputs)).all()
    assert (together[2] == 0).all()
    assert np.allclose(several.value(together.mean(1)), [(1 + 0.4) / 2, (1 + 0.4) / 2, 0])


def test_the_whole_text_is_what_a_blind_model_answers():
    one = task((FIRST,))
    words = len(normalised(CONTEXT))
    assert words == 11
    assert one.chance() == pytest.approx(2 * 1 / (1 + 11)) and one.output.blind_answer == "whole text"


def test_what_has_no_answers_isnt_scored():
    with pytest.raises(UserError, match="have no answers"):
        task((FIRST,)).moments(np.array([FIRST]), Examples(("a",), ("Who?",), (CONTEXT,)))
    with pytest.raises(ValueError, match="not those of 2 examples"):
        task((FIRST,), (FIRST,)).moments(np.array([FIRST]))


def test_what_is_kept_of_an_answer_has_no_loss():
    with pytest.raises(UserError, match=r"answers to toy doesn't hold their loss: only the model can say it"):
        task((FIRST,)).losses(np.array([FIRST]))


def test_the_gold_is_part_of_the_identity():
    assert task((FIRST,)).fingerprint != task((WHOLE,)).fingerprint
    assert task((FIRST,)).fingerprint == task((FIRST,)).fingerprint
