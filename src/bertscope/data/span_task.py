"""Questions whose answers are spans of a text, scored as SQuAD does (Rajpurkar et al. 2016).

A model's outputs are spans of characters of the second text, [..., n, 2]. Of several right
answers the nearest counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.core.resampling import Value
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.scores import summary
from bertscope.data.task import NEEDS_LABELS, Task

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> list[str]:
    """An answer's words as SQuAD compares them: lower case, without ASCII punctuation and articles."""
    return _ARTICLE.sub(" ", answer.lower().translate(_NO_PUNCTUATION)).split()


def token_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of the words, each as often as it occurs; of two answers without
    words 1, and 0 if one alone has none."""
    if not predicted or not gold:
        return float(predicted == gold)
    shared = (Counter(predicted) & Counter(gold)).total()
    return 2 * shared / (len(predicted) + len(gold))


@dataclass(frozen=True, eq=False, repr=False)
class SpanTask(Task):
    """A task of kind `spans`: the question is the text, what it is about the pair."""

    blind = "whole text"

    @cached_property
    def output(self) -> Output:
        raise UserError(f"{self.name} asks for spans of a text: {NEEDS_LABELS}")

    def _matched(self, predicted: Predictions | np.ndarray) -> tuple[np.ndarray, Sequence[str]]:
        return predicted.logits if isinstance(predicted, Predictions) else predicted, ()

    def moments(self, predicted: Predictions | np.ndarray, examples: Examples | None = None) -> np.ndarray:
        """[..., n, 2]: each answer's F1 over words, and whether it is exactly right."""
        outputs, examples = self.outputs(predicted), self.test if examples is None else examples
        contexts, spans = _of(examples)
        if outputs.shape[-2:] != (len(examples), 2):
            raise ValueError(f"outputs {outputs.shape} are not a span for each of {len(examples)} examples")
        right = [
            [normalised(context[start:end]) for start, end in gold]
            for context, gold in zip(contexts, spans, strict=True)
        ]

        def agreement(row: int, start: int, end: int) -> tuple[float, float]:
            predicted = normalised(contexts[row][start:end])
            return max(token_f1(predicted, gold) for gold in right[row]), float(predicted in right[row])

        flat = outputs.reshape(-1, len(examples), 2).tolist()
        found = [[agreement(row, *span) for row, span in enumerate(arm)] for arm in flat]
        return np.array(found).reshape(outputs.shape)

    @property
    def value(self) -> Value:
        place = METRICS["spans"].index(self.metric)
        return lambda means: means[..., place]

    def blind_outputs(self, examples: Examples) -> np.ndarray:
        """The whole text as the answer: all of the recall, hardly any precision."""
        return np.array([(0, len(context)) for context in _of(examples)[0]])

    def _secondary(self, outputs: np.ndarray, examples: Examples | None) -> dict[str, float]:
        means = self.moments(outputs, examples).mean(0)
        return {name: float(mean) for name, mean in zip(METRICS["spans"], means, strict=True) if name != self.metric}

    def _describe_gold(self, examples: Examples) -> dict[str, Any]:
        contexts, spans = _of(examples)
        words = [
            len(context[start:end].split())
            for context, gold in zip(contexts, spans, strict=True)
            for start, end in gold
        ]
        labels = {"answers": len(words), "words per answer": round(summary(np.array(words))["mean"], 2)}
        return {"labels": labels, "majority": None}

    def _learnt(self, split: Examples) -> Any:
        return split.answers


def _of(examples: Examples) -> tuple[tuple[str, ...], tuple[tuple[tuple[int, int], ...], ...]]:
    """The texts that are asked about, and the answers' spans in them."""
    if examples.pair is None or examples.answers is None or not all(examples.answers):
        raise UserError("these examples have no answers, so that nothing can be scored; give questions with answers")
    return examples.pair, examples.answers
