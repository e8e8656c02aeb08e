"""Thousands of classes: what is computed of them doesn't need gigabytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import MultinomialNB

from bertscope.data import baselines
from bertscope.data.baselines import bag_of_words
from bertscope.data.outputs.classes import Classes
from bertscope.data.read import read_task


@pytest.mark.parametrize("smoothing", [0.1, 1.0, 100.0])
def test_naive_bayes_is_sklearns(smoothing):
    chance = np.random.default_rng(0)
    features, gold = csr_matrix(chance.poisson(0.3, (60, 17))), chance.integers(0, 5, 60)
    mine, theirs = baselines._NaiveBayes(smoothing).fit(features, gold), MultinomialNB(alpha=smoothing)
    np.testing.assert_allclose(mine.predict_proba(features), theirs.fit(features, gold).predict_proba(features))


def test_a_bag_of_words_of_very_many_classes(tmp_path):
    """1,500 classes of 3,000 words: L-BFGS would hold 900 MB of coefficients."""
    rows = [f"w{i} v{i},class{i}\nv{i} w{i},class{i}" for i in range(1500)]
    (tmp_path / "many.csv").write_text("text,label\n" + "\n".join(rows))
    task = read_task(tmp_path / "many.csv", kind="classification", skip_bad=True)
    tracemalloc.start()
    outputs = bag_of_words(task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20
    assert task.score(outputs).value > 0.9  # two words tell the class


def test_losses_of_many_models_take_the_memory_of_one():
    chance = np.random.default_rng(0)
    outputs, gold = chance.normal(size=(40, 50, 1000)).astype(np.float32), chance.integers(0, 1000, 50)
    classes = Classes("many", tuple(map(str, range(1000))), "accuracy")
    tracemalloc.start()
    losses, far = classes.losses(outputs, gold), classes.divergence(outputs[0], outputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < outputs.nbytes  # 8 MB; in double precision, all at once, it was 5 times as much
    np.testing.assert_array_equal(losses[3], classes.losses(outputs[3], gold))
    np.testing.assert_array_equal(far[3], classes.divergence(outputs[0], outputs[3]))
    assert losses.shape == far.shape == (40, 50) and not far[0].any()
