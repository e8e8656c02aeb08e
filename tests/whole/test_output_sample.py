"""Kinds of outputs x questions x families: a sample of them always, all of them with `make test-all`. Each runs, and
its numbers are numbers."""

from __future__ import annotations

import math

import pytest

from bertscope.models.encoder import Encoder
from output_runs import FAMILIES, SETTINGS, answered, every_combination, models, sample
from planted_kinds import PLANTED

EVERY = every_combination()
SAMPLE = sample(EVERY)


def test_the_sample_has_every_kind_question_and_family_and_most_pairs() -> None:
    assert len(SAMPLE) == len(set(SAMPLE)) == 40 and set(SAMPLE) <= set(EVERY)
    assert [{*column} for column in zip(*SAMPLE, strict=True)] == [{*PLANTED}, {*SETTINGS}, {*FAMILIES}]
    assert len({(kind, family) for kind, _, family in SAMPLE}) >= 0.9 * len(PLANTED) * len(FAMILIES)
    assert sample(EVERY) == SAMPLE, "the same every time"


def run(kind: str, question: str, family: str, tokenizer, folder) -> None:
    base, model, task = models(kind, family, tokenizer)
    before = model.fingerprint
    result = answered(question, base, model, task, folder)
    assert result.question == question and result.headline
    wrong = [number for number in result.headline if not math.isfinite(number.value)]
    assert not wrong
    assert model.fingerprint == before


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("kind", "question", "family"), SAMPLE)
def test_a_sample(kind, question, family, _pocket: Encoder, tmp_path) -> None:
    run(kind, question, family, _pocket.tokenizer, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("kind", "question", "family"), [one for one in EVERY if one not in SAMPLE])
def test_all_others(kind, question, family, _pocket: Encoder, tmp_path) -> None:
    run(kind, question, family, _pocket.tokenizer, tmp_path)
