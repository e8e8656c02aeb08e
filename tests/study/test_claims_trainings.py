"""What trainings say about the claims: the effect that was planted, with its interval from five seeds on."""

from __future__ import annotations

import pytest

from judging import BY_ID, one_row
from made_runs import BASE
from planted_trainings import Planted, bias, contrast, freeze, scratch, truncate

READ: dict[str, tuple[Planted, int | None]] = {
    "pretraining-gives": (scratch("pretraining"), 400),
    "tuning-gives": (scratch("fine_tuning"), 400),
    "lower-layers-can-freeze": (freeze, 500),
    "top-layer-costs-nothing": (truncate, 500),
    "contrast-slows-the-cone": (contrast("contrastive", "before"), None),
    "contrast-by-its-pairs": (contrast("contrastive", "shuffled"), None),
    "bias-costs-31-points": (bias("cut", "all"), 500),
    "bias-costs": (bias("cut", "all"), 500),
    "bias-beyond-size": (bias("words", "all"), 500),
    "bias-hits-the-slice": (bias("words", "slice"), 500),
}
"""By claim, results in which its effect is planted, and on how many texts it rests."""


@pytest.mark.parametrize("claim_id", READ)
def test_the_effect_is_read_by_its_keys(claim_id):
    planted, n = READ[claim_id]
    (made,) = planted(-0.123, 0.01)
    (found,) = BY_ID[claim_id].read(made)
    assert (found.effect.value, found.effect.low, found.effect.high) == pytest.approx((-0.123, -0.133, -0.113))
    assert (found.model, found.runs, found.n, found.why) == (BASE, 5, n, "")
    assert found.task == ("toy, unsupervised" if made.question == "contrast" else "toy")
    for table in made.tables.values():
        if "runs" in table:
            table["runs"] = 3
    row = one_row(claim_id, [made])
    assert row["effect"] == pytest.approx(-0.123) and row["verdict"] == "underpowered"
    assert row["why"] == "3 trainings; an interval over trainings needs 5 seeds"


def test_what_was_not_asked_is_no_evidence():
    (off,) = truncate(-0.1, 0.01)
    off.subject["layers"] = "off, not retrained"
    assert not list(BY_ID["top-layer-costs-nothing"].read(off)), "what is left was not trained again"
    assert len(list(BY_ID["without-top-layer-faster"].read(off))) == 1
    (held,) = freeze(-0.1, 0.01)
    del held.tables["movement"]
    assert not list(BY_ID["lower-layers-can-freeze"].read(held)), "it is not said how many layers there are"
