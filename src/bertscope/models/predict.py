"""What the task head of an encoder gives for every example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.models.batches import WINDOW, Batch
from bertscope.models.needed_rows import first_token_only
from bertscope.models.observe import Seen, observe
from bertscope.models.parser import predict_trees
from bertscope.models.span_head import predict_spans

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def predict(encoder: Encoder, examples: Examples, *, tokens: int | None = None, window: int = WINDOW) -> Predictions:
    """See `Encoder.predict`."""
    if encoder.task_head == "span-qa" or encoder.task_head == "parser":
        predicted = predict_spans if encoder.task_head == "span-qa" else predict_trees
        outputs, truncated = predicted(encoder, examples, tokens=tokens, window=window)
        return Predictions(examples.ids, outputs, encoder.labels, truncated)
    encoder.need_classifier()
    logits = _Logits(len(examples), encoder.model.config.num_labels)
    with first_token_only(encoder):
        passed = observe([encoder], examples, [logits], tokens=tokens, window=window, label="predicting")
    return Predictions(examples.ids, logits.logits, encoder.labels, passed.truncated)


class TaskLogits:
    """A classifier's logits in the order of a task's labels, with the graph that leads to them: all that a loss is
    made of. What can't be matched is refused at once."""

    def __init__(self, encoder: Encoder, output: Output) -> None:
        encoder.need_classifier(output)
        self._encoder = encoder
        self._order, _ = output.match(encoder.labels)

    def __call__(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """[row, class] of one batch."""
        return self._encoder.model(**inputs).logits[:, self._order]


class _Logits:
    needs = frozenset({"logits"})

    def __init__(self, n: int, width: int) -> None:
        self.logits = np.zeros((n, width), dtype=np.float32)

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        assert seen[0].logits is not None
        self.logits[batch.rows] = seen[0].logits.float().cpu().numpy()
