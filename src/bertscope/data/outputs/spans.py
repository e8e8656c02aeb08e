"""Questions whose answers are spans of a text, scored as SQuAD does (Rajpurkar et al. 2016).

The question is the text, what it is about the pair. Outputs are spans of characters of the second text,
[..., n, 2]. Of several right answers the nearest counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Value
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.scores import summary

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


@dataclass(frozen=True)
class Spans:
    """An `Output`: the first character of an answer, and the one behind its last."""

    task: str
    """The task's name, for messages."""
    metric: str

    kind = "spans"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "whole text"
    labels = ()

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> Spans:
        return cls(name, metric)

    @property
    def counts_hits(self) -> bool:
        return False  # the moments are two

    @property
    def value(self) -> Value:
        place = METRICS["spans"].index(self.metric)
        return lambda means: means[..., place]

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (2,)

    def gold(self, examples: Examples) -> np.ndarray:
        """[n] of pairs: the text that is asked about, and the spans of it that are right."""
        contexts, spans = _of(examples)
        found = np.empty(len(examples), dtype=object)
        found[:] = list(zip(contexts, spans, strict=True))
        return found

    def learnt(self, examples: Examples) -> Any:
        return examples.answers

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        return outputs, []

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.shape[-1] != 2:
            raise ValueError(f"outputs {outputs.shape} are not a span for each example")

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs.astype(np.int64)

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n, 2]: each answer's F1 over words, and whether it is exactly right."""
        flat = predicted.reshape(-1, len(gold), 2).tolist()
        agreement = _agreement()
        found = [[agreement(*one, *span) for one, span in zip(gold, arm, strict=True)] for arm in flat]
        return np.array(found, dtype=np.float64).reshape(predicted.shape)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return self.moments(predicted, gold)[..., METRICS["spans"].index("exact_match")]

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        return None

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        return None

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole != other).any(-1).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        only_the_model_says(self.task)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        only_the_model_says(self.task)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        means = self.moments(predicted, gold).mean(0)
        return {name: float(mean) for name, mean in zip(METRICS["spans"], means, strict=True) if name != self.metric}

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The whole text as the answer: all of the recall, hardly any precision."""
        return np.array([(0, len(context)) for context in _of(examples)[0]])

    def describe(self, examples: Examples) -> dict[str, Any]:
        contexts, spans = _of(examples)
        words = [
            len(context[start:end].split())
            for context, gold in zip(contexts, spans, strict=True)
            for start, end in gold
        ]
        labels = {"answers": len(words), "words per answer": round(summary(np.array(words))["mean"], 2)}
        return {"labels": labels, "majority": None}


class OnlyTheModelSays(UserError):
    """What is asked for doesn't follow from what is kept of a model's outputs."""


def only_the_model_says(task: str) -> NoReturn:
    raise OnlyTheModelSays(
        f"what is kept of answers to {task} doesn't hold their loss: only the model can say it (ablate has loss_rise)"
    )


def _agreement() -> Any:
    """How well a span of a text agrees with the right ones. Of hundreds of forms of a model most give the same
    answer to a question: what was compared once is remembered."""

    @lru_cache(maxsize=100_000)
    def agreement(context: str, right: tuple[tuple[int, int], ...], start: int, end: int) -> tuple[float, float]:
        predicted = normalised(context[start:end])
        wanted = [normalised(context[begin:stop]) for begin, stop in right]
        return max(token_f1(predicted, gold) for gold in wanted), float(predicted in wanted)

    return agreement


def _of(examples: Examples) -> tuple[tuple[str, ...], tuple[tuple[tuple[int, int], ...], ...]]:
    """The texts that are asked about, and the answers' spans in them."""
    if examples.pair is None or examples.answers is None or not all(examples.answers):
        raise UserError("these examples have no answers, so that nothing can be scored; give questions with answers")
    return examples.pair, examples.answers
