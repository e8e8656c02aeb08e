"""What a training says of each row of the test set, before and after: as plain predictions have it, and small."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

import bertscope.training.finetune.measure as measuring
import bertscope.training.finetune.result as telling
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.core.result import Result
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.training.finetune.question import finetune
from bertscope.training.finetune.result import rows_table
from bertscope.training.task_kinds import with_task_head
from planted_kinds import PLANTED
from short_training import QUICK, make_task
from toy import task_of

SHARES = ["p_before", "p_gold_before", "p_after", "p_gold"]


def test_rows_are_as_plain_predictions_have_them(tiny, tmp_path):
    task = make_task()
    trained = finetune(tiny, task, QUICK, out=tmp_path / "model")
    rows = trained.result.tables["rows"]
    assert list(rows.columns) == ["row", "gold", "predicted_before", "predicted", *SHARES]
    assert rows["row"].tolist() == list(task.test.ids)
    gold = task.test.label
    assert rows["gold"].tolist() == [task.labels[one] for one in gold]
    new = with_task_head(tiny, task, init="pretrained", seed=QUICK.seed, name="new")  # as the training began
    for suffix, model in (("_before", new), ("", trained.encoder)):
        shares = softmax(model.predict(task.test).logits.astype(np.float64), axis=-1)
        at = shares.argmax(-1)
        assert rows[f"predicted{suffix}"].tolist() == [task.labels[one] for one in at]
        np.testing.assert_allclose(rows[f"p{suffix or '_after'}"], shares.max(-1), atol=6e-5)
        np.testing.assert_allclose(rows[f"p_gold{suffix}"], shares[np.arange(len(gold)), gold], atol=6e-5)
    assert Result.load(trained.result.save(tmp_path / "result")).equals(trained.result)


@pytest.mark.parametrize("kind", list(MODEL_OUTPUTS))
def test_every_kind_of_output_has_rows(_pocket, kind):
    one = PLANTED[kind]
    model = one.model(_pocket.tokenizer)
    task = one.task(12).asked_of(model)
    said = model.predict(task.test, task.output)
    rows = rows_table((task, said), (task, said))
    assert (
        rows["row"].tolist() == list(task.test.ids)
        and rows["predicted"].tolist() == rows["predicted_before"].tolist()
    )
    has_shares = kind in ("classification", "one_logit", "several", "choices", "tokens")
    assert (list(rows.columns)[4:] == SHARES) is has_shares and len(rows.columns) == (8 if has_shares else 4)
    if has_shares:  # the planted model is always right
        assert (rows["gold"] == rows["predicted"]).all() and rows["p_after"].equals(rows["p_gold"].rename("p_after"))


def test_of_many_rows_the_first_are_told_and_that_is_said(tiny, monkeypatch):
    for module in (measuring, telling):
        monkeypatch.setattr(module, "ROWS", 5)
    task = make_task()
    trained = finetune(tiny, task, QUICK)
    assert trained.result.tables["rows"]["row"].tolist() == list(task.test.ids[:5])
    assert f"rows: the first 5 of {len(task.test)} test rows" in trained.result.notes


def test_ten_thousand_rows_are_small_on_disk(tiny, tmp_path):
    n, generator = 10_000, np.random.default_rng(0)
    label = generator.integers(0, 2, n)
    test = Examples(tuple(f"test:{row}" for row in range(1, n + 1)), ("a text",) * n, label=label)
    task = task_of(test, tiny)
    both = [
        Predictions(test.ids, generator.normal(0, 3, (n, 2)).astype(np.float32), task.labels, 0) for _ in range(2)
    ]
    task = replace(task, test=test)
    table = rows_table((task, both[0]), (task, both[1]))
    saved = Result("finetune", 3, {"rows": table}).save(tmp_path / "saved") / "rows.parquet"
    assert len(table) == n and saved.stat().st_size < 250_000
