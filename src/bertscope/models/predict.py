"""What the task head of an encoder gives for every example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.batches import WINDOW, Batch
from bertscope.models.needed_rows import first_token_only
from bertscope.models.observe import Seen, observe
from bertscope.models.parser import predict_trees
from bertscope.models.span_head import predict_spans

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class Predictions:
    ids: tuple[str, ...]
    logits: np.ndarray
    """A classifier's [example, class], or [example, 1] for a regression; float32. Of a task head for spans, where the
    answer begins and ends, in characters of the second text: [example, 2]. Of a parser, each word's governor and
    relation: [example, word, 2]; see `data.tree_task`."""
    labels: np.ndarray | None
    truncated: int
    """Texts of which something wasn't read: they are longer than the model allows."""

    def __repr__(self) -> str:
        return f"<Predictions: logits {list(self.logits.shape)}, {self.truncated:,} texts cut>"


def predict(encoder: Encoder, examples: Examples, *, tokens: int | None = None, window: int = WINDOW) -> Predictions:
    """See `Encoder.predict`."""
    if encoder.task_head == "span-qa" or encoder.task_head == "parser":
        predicted = predict_spans if encoder.task_head == "span-qa" else predict_trees
        outputs, truncated = predicted(encoder, examples, tokens=tokens, window=window)
        return Predictions(examples.ids, outputs, examples.label, truncated)
    encoder.need_classifier()
    logits = _Logits(len(examples), encoder.model.config.num_labels)
    with first_token_only(encoder):
        passed = observe([encoder], examples, [logits], tokens=tokens, window=window, label="predicting")
    return Predictions(examples.ids, logits.logits, examples.label, passed.truncated)


class _Logits:
    needs = frozenset({"logits"})

    def __init__(self, n: int, width: int) -> None:
        self.logits = np.zeros((n, width), dtype=np.float32)

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        assert seen[0].logits is not None
        self.logits[batch.rows] = seen[0].logits.float().cpu().numpy()
