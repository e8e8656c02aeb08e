"""What follows from `freeze`, `truncate`, `lottery` and `prune` is no more than their numbers say."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from bertscope.core.consequence import Consequence, consequences_of
from bertscope.core.number import Number
from bertscope.experiments.freeze.question import freeze
from planted_consequences import finding

NONE = float("nan")


def only(question: str, arms: list[dict], headline: list[Number] = [], subject: dict | None = None) -> Consequence:  # noqa: B006
    result = finding(question, {"arms": pd.DataFrame(arms)}, headline).result
    (one,) = consequences_of(replace(result, subject=result.subject | (subject or {})))
    return one


def arm(name: str, score: float, effect: tuple[float, float, float], **more) -> dict:
    return {
        "arm": name,
        "score": score,
        "runs": 5,
        **dict(zip(("effect", "effect_low", "effect_high"), effect, strict=True)),
        **more,
    }


WHOLE = arm("whole", 0.9, (0.0, 0.0, 0.0), removed=0, from_top=True, top="linear", trained_share=1.0)


@pytest.mark.parametrize("question", ["freeze", "truncate"])
def test_of_two_seeds_nothing_is_certain(question):
    few = arm("1", 0.6, (-0.3, NONE, NONE), removed=1, from_top=True, top="linear", trained_share=0.5)
    told = only(question, [WHOLE, few])
    assert told.is_open and "changes the score by −30.0 points" in told.text
    sure = arm("1", 0.6, (-0.3, -0.4, -0.2), removed=1, from_top=True, top="linear", trained_share=0.5)
    told = only(question, [WHOLE, sure])
    assert not told.is_open and "costs 30.0 points (20.0 to 40.0)" in told.text


def test_layers_that_are_switched_off_were_not_left_out_of_the_training():
    off = arm("4", 0.6, (-0.3, -0.4, -0.2), removed=1, from_top=True, top="linear")
    assert only("truncate", [WHOLE, off]).text.startswith("Training it without its top layer costs 30.0 points")
    told = only("truncate", [WHOLE, off], subject={"layers": "off, not retrained"})
    assert told.text.startswith("Switching off its top layer, without training it again, costs 30.0 points")


def test_of_several_classifiers_the_first_is_told():
    tops = [
        arm("4", score, effect, removed=1, from_top=True, top=top)
        for top, score, effect in (("linear", 0.6, (-0.3, -0.4, -0.2)), ("relu", 0.9, (0.0, -0.1, 0.1)))
    ]
    assert "costs 30.0 points" in only("truncate", [WHOLE, tops[0], WHOLE | {"top": "relu"}, tops[1]]).text


def lottery(score: float, low: float, high: float) -> Consequence:
    minus = {"minus_full": score - 0.9, "minus_full_low": low, "minus_full_high": high}
    good = {"method": "s", "arm": "good", "stage": "retrained", "score": score, "left": 0.4, **minus}
    full = Number("score", 0.9, 0.88, 0.92, 1000, "accuracy", of={"arm": "full"})
    return only("lottery", [good], [full, Number("chance", 0.5, unit="accuracy")])


def test_a_subnetwork_does_as_well_only_where_that_is_shown():
    assert lottery(0.89, -0.02, 0.0).text == (
        "40% of the weights in its layers, trained alone, do as well as the whole model: 89 of 100 right, against 90 "
        "of 100 right."
    )
    assert "do worse than the whole model" in lottery(0.6, -0.4, -0.2).text
    assert "do better than the whole model" in lottery(0.98, 0.05, 0.1).text
    for low, high in ((NONE, NONE), (-0.6, 0.05)):  # two seeds, or five that vary much
        told = lottery(0.6, low, high)
        assert told.is_open and told.text.startswith(
            "Whether 40% of the weights in its layers, trained alone, do as well as the whole model is open: 60 of "
        )


def test_freezing_nothing_is_not_what_costs_most():
    def said(*arms: dict) -> str | None:
        stated = freeze.sentence(finding("freeze", {"arms": pd.DataFrame(arms)}, []).result)
        return stated and stated.sentence

    gains = [arm("encoder", 0.92, (0.02, 0.01, 0.03)), arm("embeddings", 0.93, (0.03, 0.02, 0.04))]
    assert said(WHOLE, *gains).startswith("Of what was tried, freezing all but classifier costs most: the score chan")
    assert said(WHOLE) is None
    # The one that costs most was picked by these scores: its interval is wider than it would be alone.
    assert "2.0 (1.0 to 3.0) points" in said(WHOLE, gains[0]) and "2.0 (0.9 to 3.1) points" in said(WHOLE, *gains)


@pytest.mark.parametrize(
    ("above", "said", "is_open"),
    [
        ((0.01, 0.02), "can go: what is left gets 60 of 100 right, the whole model 90 of 100 right.", False),
        ((-0.02, 0.02), "90 of 100 right (whether that is as much as was asked for is open).", True),
        ((-0.4, -0.2), "can go by the validation set, and not by the test set: what is left gets 60 of 100", False),
    ],
)
def test_what_misses_the_bar_on_test_cannot_go(above, said, is_open):
    numbers = [
        Number("left", 0.2, 0.2, 0.3),
        Number("above_bar", sum(above) / 2, *above),
        *(
            Number("score", score, unit="accuracy", of={"arm": arm})
            for arm, score in (("full", 0.9), ("pruned", 0.6))
        ),
    ]
    (told,) = consequences_of(finding("prune", {}, numbers).result)
    assert said in told.text and told.is_open == is_open
