"""What a task yields without any encoder: the answers every model has to beat.

All give outputs for the test set, shaped as a model's, so that `Task.score` scores them alike.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.data.logistic import Logistic
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.outputs.spans import normalised
from bertscope.data.outputs.tags import Tags
from bertscope.data.outputs.trees import Trees, padded
from bertscope.data.task import Task

_STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # of the data against the penalty; the first wins a tie: the simpler model
# L-BFGS holds them some 25 times: 800 MB of these, and 6 GB for 5,000 classes of 8,000 words.
_MOST_COEFFICIENTS = 2**22
_SENTENCE = re.compile(r"[^.!?]+[.!?]*")


def baselines(task: Task) -> dict[str, np.ndarray]:
    """The outputs of each baseline that the task's kind has; the first, `chance`, looks at no text."""
    further = {name: make(task) for name, make in _BASELINES.get(task.kind, {}).items()}
    return {"chance": task.blind_outputs(task.test)} | further


def closest_sentence(task: Task) -> np.ndarray:
    """The sentence of each text that has the most of the question's words, [n, 2]; of several the first."""
    examples = task.test
    assert examples.pair is not None
    found = []
    for question, context in zip(examples.text, examples.pair, strict=True):
        words = set(normalised(question))
        spans = [match.span() for match in _SENTENCE.finditer(context)] or [(0, len(context))]
        found.append(max(spans, key=lambda span: len(words.intersection(normalised(context[slice(*span)])))))
    return np.array(found)


def chain(task: Task, step: int) -> np.ndarray:
    """Every word under its neighbour on one side; see `Trees.chain`."""
    assert isinstance(task.output, Trees)
    return task.output.chain(task.train, task.test, step)


def word_lookup(task: Task) -> np.ndarray:
    """The tag that each word has most often in training, [n, longest, c]; of others the commonest tag."""
    output, gold = task.output, task.output.gold(task.train)
    assert isinstance(output, Tags) and task.train.words is not None and task.test.words is not None
    seen = defaultdict[str, Counter[int]](Counter)
    for words, tags in zip(task.train.words, gold.tolist(), strict=True):
        for word, tag in zip(words, tags, strict=False):  # tags go on behind a sentence's end
            seen[word][tag] += 1
    most = {word: max(sorted(tags), key=tags.__getitem__) for word, tags in seen.items()}
    unknown, lengths = output.commonest(task.train), np.array([len(words) for words in task.test.words])
    return output.certain(padded([[most.get(word, unknown) for word in words] for words in task.test.words], lengths))


def majority(task: Task) -> np.ndarray:
    """Fit's most frequent label (or mean score) for every example, [n, c]."""
    return task.blind_outputs(task.test)


def each_bag_of_words(task: Task) -> np.ndarray:
    """The same for several labels: a logistic regression for each, one penalty for all, and the threshold that is
    best on validation; the log-odds and the threshold, [n, labels + 1]."""
    output = task.output
    assert isinstance(output, SeveralLabels)
    features, right = _Features(task.train), output.gold(task.validation)
    train, validation, test = (features(split) for split in (task.train, task.validation, task.test))
    model = Logistic(train, output.gold(task.train))
    best, best_score = majority(task), -np.inf
    for strength in _STRENGTHS:
        model.fit(strength)
        known, asked = (model.log_odds(some) for some in (validation, test))
        threshold = task.threshold if task.threshold is not None else output.best_threshold(known, right)
        beside = (np.full((len(known), 1), threshold), np.full((len(asked), 1), threshold))
        known, asked = (np.hstack(both) for both in zip((known, asked), beside, strict=True))
        score = float(task.value(task.moments(known, task.validation).mean(0)))
        if score > best_score:
            best, best_score = asked, score
    return best


def bag_of_words(task: Task) -> np.ndarray:
    """A linear model of word counts, blind to word order, [n, c]; its penalty is chosen on validation.

    Unigram counts with logistic regression (class probabilities) or ridge regression (scores). For pairs the two
    texts have counts of their own, and the number of tokens they share is one feature more. Where classes times words
    are more than logistic regression can be fitted to, it is naive Bayes, which is linear in counts too.
    """
    gold = task.train.label
    assert gold is not None
    if len(np.unique(gold)) == 1:  # a small limit left one label: there is nothing to separate
        return majority(task)
    features = _Features(task.train)
    train, validation, test = (features(split) for split in (task.train, task.validation, task.test))
    best, best_score = majority(task), -np.inf
    for strength in _STRENGTHS:
        model = _model(task, strength, train.shape[1]).fit(train, gold)
        score = float(task.value(task.moments(_outputs(task, model, validation), task.validation).mean(0)))
        if score > best_score:
            best, best_score = _outputs(task, model, test), score
    return best


class _Features:
    """Counts of the words that train holds."""

    def __init__(self, examples: Examples) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        # Marks count as words too, so that every text that isn't blank has at least one.
        self._counter = CountVectorizer(token_pattern=r"\w+|[^\w\s]").fit([*examples.text, *(examples.pair or ())])

    def __call__(self, examples: Examples) -> Any:
        from scipy.sparse import csr_matrix, hstack

        one = self._counter.transform(examples.text)
        if examples.pair is None:
            return one
        other = self._counter.transform(examples.pair)
        shared = csr_matrix(one.minimum(other).sum(1))
        return hstack([one, other, shared], format="csr")


def _model(task: Task, strength: float, n_features: int) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if task.kind == "regression":
        return Ridge(alpha=1 / strength)
    if len(task.labels) * n_features > _MOST_COEFFICIENTS:
        return _NaiveBayes(1 / strength)
    return LogisticRegression(C=strength, max_iter=1000)


class _NaiveBayes:
    """Multinomial naive Bayes, each word met `smoothing` times more often in each class than it was. What is held of
    classes and words are the pairs that occur: all others have one and the same log-probability in a class."""

    def __init__(self, smoothing: float) -> None:
        self._smoothing = smoothing

    def fit(self, features: Any, gold: np.ndarray) -> _NaiveBayes:
        from scipy.sparse import csr_matrix

        self.classes_, at, rows = np.unique(gold, return_inverse=True, return_counts=True)
        belongs = csr_matrix((np.ones(len(at)), (at, np.arange(len(at)))), shape=(len(rows), len(at)))
        counts = csr_matrix(belongs @ features)
        met = np.asarray(counts.sum(1)).ravel() + self._smoothing * features.shape[1]
        self._unmet, self._prior = np.log(self._smoothing / met), np.log(rows / len(at))
        counts.data = np.log1p(counts.data / self._smoothing)  # what a word that was met adds to that
        self._gain = counts.T.tocsr()
        return self

    def predict_proba(self, features: Any) -> np.ndarray:
        length = np.asarray(features.sum(1))
        logs = (features @ self._gain).toarray() + length * self._unmet + self._prior
        shares = np.exp(logs - logs.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)


def _outputs(task: Task, model: Any, features: Any) -> np.ndarray:
    if task.kind == "regression":
        return model.predict(features)[:, None]
    outputs = np.zeros((features.shape[0], len(task.labels)))
    outputs[:, model.classes_] = model.predict_proba(features)  # a label that train lacks keeps probability 0
    return outputs


_BASELINES: dict[str, dict[str, Callable[[Task], np.ndarray]]] = {
    "classification": {"bag_of_words": bag_of_words},
    "regression": {"bag_of_words": bag_of_words},
    "several": {"bag_of_words": each_bag_of_words},
    "spans": {"closest_sentence": closest_sentence},
    "trees": {"left_chain": partial(chain, step=-1), "right_chain": partial(chain, step=1)},
    "tokens": {"word_lookup": word_lookup},
}
"""What each kind of task has beside chance."""
