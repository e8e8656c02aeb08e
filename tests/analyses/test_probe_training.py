"""Stacked probes: as good as scikit-learn's, and each as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from bertscope.analyses.probe import training
from bertscope.analyses.probe.training import Training, train_probes
from bertscope.analyses.probe.vectors import Source, Vectors, joined

THOROUGH = Training(rate=0.02, batch=10_000, looks=400, patience=8, gain=1e-7)


def stacked(*layers: np.ndarray, units: np.ndarray | None = None) -> Vectors:
    stack = torch.from_numpy(np.stack(layers, 1)).float()
    places = np.arange(len(stack))[:, None] if units is None else units
    sources = tuple(Source("planted", layer) for layer in range(len(layers)))
    return Vectors(sources, stack, torch.from_numpy(places))


def noisy(
    seed: int, n: int = 400, dim: int = 5, classes: int = 3, noise: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose class is a noisy linear function of them: not separable, so that there is one best probe."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(n, dim))
    scores = vectors @ random.normal(size=(dim, classes)) + random.gumbel(size=(n, classes)) * noise
    return vectors, scores.argmax(1)


def everything(vectors: Vectors) -> torch.Tensor:
    return torch.arange(len(vectors.units))


def probabilities(probes, items) -> torch.Tensor:
    return torch.cat([answers for _, answers in probes.log_probabilities(items)], 1).exp()


def test_a_linear_probe_is_logistic_regression():
    vectors, label = noisy(0)
    read = stacked(vectors)
    items, answers = everything(read), torch.from_numpy(label)[None]
    probes = train_probes(read, [[0]], answers, 3, items, items, THOROUGH)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(vectors, label)
    expected = reference.predict_proba(vectors)
    np.testing.assert_allclose(probabilities(probes, items)[0].numpy(), expected, atol=2e-3)
    best = -np.log(expected[np.arange(len(label)), label]).mean()
    assert probes.validation_loss.item() == pytest.approx(best, abs=1e-5)
    hits, losses = probes.hits_and_losses(answers, items)
    assert hits.float().mean().item() == pytest.approx(reference.score(vectors, label), abs=0.006)
    assert losses.mean().item() == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("hidden", [0, 6])
def test_a_stacked_probe_is_the_probe_alone(hidden):
    layers, labels = zip(*(noisy(seed, noise=0.5 + seed) for seed in range(4)), strict=True)
    answers = torch.from_numpy(np.stack(labels))
    read = stacked(*layers)
    train, validation = torch.arange(300), torch.arange(300, 400)
    how = Training(hidden=hidden, batch=64)
    together = train_probes(read, [[0], [1], [2], [3]], answers, 3, train, validation, how)
    for place in range(4):
        alone = train_probes(
            stacked(layers[place]), [[0]], answers[place : place + 1], 3, train, validation, how
        )  # fmt: skip
        assert together.validation_loss[place].item() == pytest.approx(alone.validation_loss.item(), abs=1e-5)
        for one, other in zip(together.weights[1:], alone.weights[1:], strict=True):
            torch.testing.assert_close(one[place], other[0], atol=1e-4, rtol=1e-3)


def test_probes_stop_one_by_one_and_keep_their_best_weights():
    random = np.random.default_rng(11)
    easy, label = noisy(1, noise=0.1)
    noise = random.normal(size=easy.shape)  # says nothing: to train on it is to go wrong
    read = stacked(easy, noise)
    answers = torch.from_numpy(np.stack([label, label]))
    train, validation = torch.arange(40), torch.arange(40, 400)
    probes = train_probes(read, [[0], [1]], answers, 3, train, validation, Training(rate=0.05))
    _, losses = probes.hits_and_losses(answers, validation)
    torch.testing.assert_close(losses.mean(1), probes.validation_loss)  # what is kept is what was best
    assert probes.validation_loss[0] < 0.5
    shares = (1 + np.bincount(label[:40], minlength=3)) / 43
    frequencies = -np.log(shares)[label[40:]].mean()
    assert 0.97 * frequencies < probes.validation_loss[1] <= frequencies + 1e-5  # never worse than the frequencies


def test_what_falls_too_little_halves_the_rate_and_ends_after_three_looks(monkeypatch):
    vectors, label = noisy(0)
    rates, look = [], training._Run.look
    monkeypatch.setattr(
        training._Run, "look", lambda run, validation: (rates.append(run._rate.item()), look(run, validation))
    )
    train, validation = torch.arange(300), torch.arange(300, 400)
    answers = torch.from_numpy(label)[None]
    probes = train_probes(stacked(vectors), [[0]], answers, 3, train, validation, Training(rate=0.04, gain=10))
    assert rates == pytest.approx([0.04, 0.04, 0.02, 0.01]), "before the first look there is nothing to fall from"
    frequencies = (1 + np.bincount(label[:300])) / 303
    np.testing.assert_allclose(probabilities(probes, validation)[0], np.tile(frequencies, (100, 1)), atol=1e-6)


def test_a_hidden_layer_reads_what_no_line_divides():
    random = np.random.default_rng(2)
    vectors = random.choice([-1.0, 1.0], size=(600, 2)) + 0.1 * random.normal(size=(600, 2))
    label = (vectors[:, 0] * vectors[:, 1] > 0).astype(np.int64)
    read, answers = stacked(vectors), torch.from_numpy(label)[None]
    parts = torch.arange(600).split([400, 100, 100])
    linear, mlp = (
        train_probes(read, [[0]], answers, 2, parts[0], parts[1], Training(hidden=hidden, rate=0.02))
        .hits_and_losses(answers, parts[2])[0].float().mean().item()
        for hidden in (0, 16)
    )  # fmt: skip
    assert linear < 0.7 and mlp > 0.97


def test_a_pair_is_both_words_and_their_product():
    word, head = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[3.0, 5.0]]])
    assert joined([word, head]).tolist() == [[[1, 2, 3, 5, 3, 10]]]
    assert joined([word]) is word
    # Whether two words are alike is in neither alone: without the product a linear probe is at chance.
    random = np.random.default_rng(3)
    vectors = random.choice([-1.0, 1.0], size=(500, 1))
    units = random.integers(0, 500, size=(800, 2))
    label = (vectors[units[:, 0], 0] == vectors[units[:, 1], 0]).astype(np.int64)
    read, answers = stacked(vectors, units=units), torch.from_numpy(label)[None]
    parts = torch.arange(800).split([500, 100, 200])
    probes = train_probes(read, [[0]], answers, 2, parts[0], parts[1], Training(rate=0.05))
    assert probes.hits_and_losses(answers, parts[2])[0].all()


def test_a_mix_finds_the_layer_that_knows():
    random = np.random.default_rng(4)
    label = random.integers(0, 2, 600)
    noise = [random.normal(size=(600, 4)) for _ in range(3)]
    noise[2][:, 0] += 6 * label
    read, answers = stacked(*noise), torch.from_numpy(label).expand(2, -1)
    parts = torch.arange(600).split([400, 100, 100])
    probes = train_probes(read, [[0, 1], [0, 1, 2]], answers, 2, parts[0], parts[1], Training(rate=0.05))
    without, having = probes.hits_and_losses(answers, parts[2])[0].float().mean(1).tolist()
    assert without < 0.65 and having > 0.95
    shares = torch.where(probes.reads, probes.weights[0], -torch.inf).softmax(-1)
    assert shares[0, 2] == 0 and shares[1].argmax() == 2
    torch.testing.assert_close(shares.sum(1), torch.ones(2))


def test_a_mix_of_one_layer_is_that_layer():
    vectors, label = noisy(5)
    read = stacked(vectors, np.zeros_like(vectors))
    answers, train, validation = torch.from_numpy(label).expand(2, -1), torch.arange(300), torch.arange(300, 400)
    plain = train_probes(read, [[0], [0]], answers, 3, train, validation, Training())
    mixed = train_probes(read, [[0], [0, 1]], answers, 3, train, validation, Training())
    torch.testing.assert_close(plain.weights[1][0], mixed.weights[1][0], atol=1e-5, rtol=1e-4)
