"""Every kind of output x what parts leave behind: needed heads are missed, others aren't, and replay doesn't show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.examples import Examples
from bertscope.core.units import Unit, every
from bertscope.models.judge import judge_without
from bertscope.models.optimal import optimal_constants
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from bertscope.models.references import reference_for
from planted_kinds import PLANTED
from toy import task_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(MODEL_OUTPUTS))
def test_needed_heads_are_missed_by_every_mode(kind, _pocket):
    """Other parts of these models say nothing, so that whatever is left in their place is what they said."""
    planted = PLANTED[kind]
    model = planted.model(_pocket.tokenizer)
    task = planted.task(24).asked_of(model)
    others = [unit for unit in every("head", model.head_counts) if str(unit) not in planted.needed][:2]
    sets = [[], *([Unit.parse(name)] for name in planted.needed), *([unit] for unit in others), [Unit("mlp", 1)]]
    needed = len(planted.needed)
    for mode in ("position", "resample", "optimal"):
        if mode == "optimal":
            found = optimal_constants(model, task.output, task.validation, sets, steps=3)
        else:
            found = reference_for(mode, model, task.output, task.validation, sets)
        judged, plain = (
            judge_without(
                model, task.output, task.test, sets, mode=mode, reference=found, replay=replay, tokens=tokens
            )
            for replay, tokens in ((True, 90), (False, 2000))
        )
        for name in ("moments", "losses", "divergence"):
            np.testing.assert_allclose(getattr(judged, name), getattr(plain, name), atol=1e-5)
        apart = judged.divergence.mean(1)
        assert (apart[1 : 1 + needed] > 1e-3).all(), (mode, apart)
        np.testing.assert_allclose(apart[1 + needed :], 0, atol=1e-8)


def test_windows_of_long_texts_are_rows_like_others(tiny, many):
    """Each window has its own donor, and its own first place."""
    text = tuple(" ".join([text] * 12) for text in many.text[:20])
    task = task_of(Examples(many.ids[:20], text), tiny)
    output, sets = replace(task.output, windows=4), [[], [Unit("head", 2, 1)], [Unit("mlp", 3)]]
    rows = sum(len(batch) for batch in model_output(tiny, output).batches(task.validation))
    assert rows > 40 and len(tiny.donors(task.validation, output)) > len(tiny.donors(task.validation)) == 20
    for mode in ("position", "resample"):
        how = {"mode": mode, "reference": reference_for(mode, tiny, output, task.validation, sets)}
        judged = judge_without(tiny, output, task.test, sets, tokens=300, **how)
        plain = judge_without(tiny, output, task.test, sets, tokens=3000, replay=False, **how)
        np.testing.assert_allclose(judged.divergence, plain.divergence, atol=1e-5)
        assert (judged.divergence[1:].mean(1) > 1e-6).all()
