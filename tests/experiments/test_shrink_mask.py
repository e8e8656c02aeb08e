"""A mask that was found in another model is cut all the same, and said to be one."""

from __future__ import annotations

import pandas as pd
import pytest

from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.experiments.shrink.measure import Shrinking
from bertscope.experiments.shrink.question import ShrinkConfig

pytestmark = pytest.mark.usefixtures("clock")
BARE = ShrinkConfig(target="50%", retrain=False, onnx=False)


def test_a_mask_of_another_model_is_said_to_be_one(toy_model, toy_task):
    def notes(question: str, of: ModelRecord, encoder=toy_model) -> list[str]:
        table = pd.DataFrame({"unit": ["head:1.1"], "survives": [False]})
        mask = Result(question, 1, tables={"survivors": table}, models={"m": of})
        return [note for note in Shrinking(encoder, toy_task, BARE, mask).notes if "another model" in note]

    other = ModelRecord("o" * 16, "another tuned one", source="elsewhere")
    assert notes("prune", toy_model.record) == []
    said = "what was cut first was pruned from another tuned one, which is another model than this"
    assert notes("prune", other) == notes("lottery", other) == [said]
    made = toy_model.cut(["mlp:4"])  # as good as any other model that says what it was made of
    assert notes("lottery", toy_model.record, made) == [] and len(notes("prune", toy_model.record, made)) == 1
