"""Structural probes trained together: against autograd, torch's optimiser, and the probe written plainly."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from bertscope.analyses.structure import probes
from bertscope.analyses.structure.metrics import UUAS, edges_to_find, evaluate
from bertscope.analyses.structure.probes import (
    KINDS,
    Corpus,
    Goal,
    Schedule,
    Stack,
    Vectors,
    gradient,
    initial,
    losses,
    train_stacks,
    validation_losses,
)
from bertscope.analyses.structure.trees import Trees
from bertscope.core.bucketing import bucketed
from bertscope.core.resampling import Resampling
from planted_trees import planted

CPU = torch.device("cpu")


def corpus_of(examples, store) -> Corpus:
    return Corpus(Trees.of(examples), {store.record.name: Vectors(store, CPU)}, CPU)


def stack_of(kind, layers, *, rank=6, rate=1e-2, dim=16, name="planted") -> Stack:
    return Stack(name, kind, rank, layers, dim, rate=rate, seed=0, device=CPU)


@pytest.fixture(scope="module")
def material():
    examples, store = planted(120)
    return corpus_of(examples, store), np.arange(100), np.arange(100, 120)


def plain_loss(kind, weights, vectors, goal):
    """As published: the difference of every two vectors, projected."""
    sentences, places = goal.value.shape[:2]
    projected = (vectors @ weights.T).view(sentences, places, -1)
    if kind == "depth":
        predicted = projected.square().sum(-1)
    else:
        predicted = (projected[:, :, None] - projected[:, None, :]).square().sum(-1)
    return (goal.weight * (predicted - goal.value).abs()).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_goals_are_the_trees_and_weigh_each_sentence_alike(kind, material):
    corpus, train, _ = material
    batch = corpus.trees.batch(train[:7])
    goal = Goal.of(kind, corpus.trees, batch, CPU)
    assert (batch.lengths < batch.inside.shape[1]).any()  # there is padding
    assert goal.weight.flatten(1).sum(1).tolist() == pytest.approx([1 / 7] * 7)
    for row, length in enumerate(batch.lengths):
        inside = goal.weight[row][:length] if kind == "depth" else goal.weight[row][:length, :length]
        assert (inside > 0).all() and inside.sum() == pytest.approx(1 / 7)
    # The vectors have the trees planted in them: what they say is the target.
    vectors = corpus.vectors["planted"].of(batch, [1])[0].view(7, -1, 16) / 4
    predicted = vectors.square().sum(-1) if kind == "depth" else torch.cdist(vectors, vectors).square()
    inside = goal.weight > 0
    assert torch.allclose(predicted[inside], goal.value[inside], atol=1e-3)


def test_vectors_are_the_same_from_the_map_and_from_the_device(material):
    """What a GPU does with a store that fits into it, done here."""
    corpus, train, _ = material
    batch, mapped = corpus.trees.batch(train[3:9]), corpus.vectors["planted"]
    whole = copy.copy(mapped)
    whole._whole = {layer: torch.tensor(mapped._mapped[layer]) for layer in mapped.layers}
    found = mapped.of(batch, [0, 2])
    assert torch.equal(found, whole.of(batch, [0, 2])) and found.shape == (2, batch.words.size, 16)
    start = corpus.trees.starts[train[3]]
    assert np.array_equal(found[1, : batch.lengths[0]], mapped._mapped[2][start : start + batch.lengths[0]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_autograds(kind, material):
    corpus, train, _ = material
    batch = corpus.trees.batch(train[:9])
    goal = Goal.of(kind, corpus.trees, batch, CPU)
    vectors = corpus.vectors["planted"].of(batch, [0, 1, 2])
    weights = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(0)) / 4
    found, loss = gradient(kind, weights, vectors, goal), losses(kind, weights, vectors, goal)
    for place in range(3):
        one = weights[place].clone().requires_grad_()
        expected = plain_loss(kind, one, vectors[place], goal)
        expected.backward()
        assert loss[place].item() == pytest.approx(expected.item(), rel=1e-5)
        assert torch.allclose(found[place], one.grad, atol=1e-5 * one.grad.abs().max().item())


def test_learning_rate_and_end_are_torchs_and_the_papers():
    """Against ReduceLROnPlateau(0.1, patience 0), and a stop after 5 epochs without a gain of 1e-4."""
    random = np.random.default_rng(0)
    for _ in range(20):
        curve = np.abs(np.cumsum(random.normal(-0.01, 0.02, size=30))) + 0.5
        schedule = Schedule(1e-3)
        optimiser = torch.optim.Adam([torch.zeros(1)], lr=1e-3)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.1, patience=0, eps=0)
        least, kept = np.inf, -1
        for epoch, loss in enumerate(curve):
            gained = schedule.see(float(loss))
            plateau.step(float(loss))
            if loss < least - 1e-4:
                least, kept = loss, epoch
            assert gained == (kept == epoch)
            assert schedule.done == (epoch - kept >= 5)
            assert schedule.rate == pytest.approx(optimiser.param_groups[0]["lr"])
            if schedule.done:
                break


class Doubles(Vectors):
    """Vectors in double precision, in which the order of sums doesn't matter."""

    def of(self, batch, layers):
        return super().of(batch, layers).double()


def doubled(*which):
    return initial(*which).double()


def plainly(kind, layer, material, *, epochs, rate, rank=6):
    """One probe of one layer as the paper's code would train it, on the same batches: its kept weights and epochs."""
    corpus, train, validation = material
    weights = torch.nn.Parameter(doubled(kind, rank, layer, 16, 0))
    optimiser = torch.optim.Adam([weights], lr=rate)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.1, patience=0)
    least, waited, kept = np.inf, 0, weights.detach().clone()

    def loss_on(sentences):
        batch = corpus.trees.batch(sentences)
        vectors = corpus.vectors["planted"].of(batch, [layer])[0]
        return plain_loss(kind, weights, vectors, Goal.of(kind, corpus.trees, batch, CPU))

    for epoch in range(epochs):
        for rows in bucketed(corpus.trees.lengths[train], 20, np.random.default_rng([0, epoch])):
            optimiser.zero_grad()
            loss_on(train[rows]).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(np.mean([loss_on(np.array([sentence])).item() for sentence in validation]))
        plateau.step(loss)
        if loss < least - 1e-4:
            least, waited, kept = loss, 0, weights.detach().clone()
        elif (waited := waited + 1) >= 5:
            break
    return kept, least, epoch + 1


@pytest.mark.parametrize("kind", KINDS)
def test_all_layers_together_are_each_layer_trained_plainly(kind, material, monkeypatch):
    """In double precision: in single precision, sums in another order make 4e-4 of the loss in 40 epochs."""
    examples, store = planted(120)
    _, train, validation = material
    corpus = Corpus(Trees.of(examples), {store.record.name: Doubles(store, CPU)}, CPU)
    monkeypatch.setattr(probes, "initial", doubled)
    stack = stack_of(kind, [0, 1, 2])
    train_stacks([stack], corpus, train, validation, epochs=40)
    assert len(set(stack.epochs)) > 1, "probes should end at different times, or this shows little"
    for place, layer in enumerate(stack.layers):
        kept, least, epochs = plainly(kind, layer, (corpus, train, validation), epochs=40, rate=1e-2)
        assert stack.epochs[place] == epochs
        assert stack.schedules[place].least == pytest.approx(least, abs=1e-7)
        assert (stack.kept[place] - kept).abs().max() < 1e-6 * kept.abs().max()


def test_a_probe_is_the_same_alone_and_among_others(material):
    """Same seed, other layers, ranks, kinds and another checkpoint beside it: equal to 1e-4 of the largest weight; at
    one thread bit-equal."""
    corpus, train, validation = material
    twice = Corpus(corpus.trees, {"other": corpus.vectors["planted"], **corpus.vectors}, CPU)
    together = [stack_of(kind, [0, 1, 2], rank=rank, name=name)
                for name in twice.vectors for kind in KINDS for rank in (3, 6)]  # fmt: skip
    train_stacks(together, twice, train, validation, epochs=12)
    for stack in together[4:]:
        alone = stack_of(stack.kind, [1], rank=stack.rank)
        train_stacks([alone], corpus, train, validation, epochs=12)
        kept = stack.kept[1]
        assert alone.epochs[0] == stack.epochs[1]
        assert (alone.kept[0] - kept).abs().max() <= 1e-4 * kept.abs().max()
        assert (stack.kept - together[together.index(stack) - 4].kept).abs().max() == 0  # nor does the name matter


def test_first_weights_depend_on_the_probe_alone():
    weights = initial("distance", 4, 7, 300, seed=3)
    assert torch.equal(weights, initial("distance", 4, 7, 300, seed=3))
    assert weights.abs().max() <= 0.05 and weights.std() == pytest.approx(0.1 / 12**0.5, rel=0.05)
    others = [("depth", 4, 7, 300, 3), ("distance", 4, 8, 300, 3), ("distance", 4, 7, 300, 4)]
    assert all(not torch.equal(weights, initial(*other)) for other in others)


def test_what_is_done_leaves_and_changes_no_more(material):
    corpus, train, validation = material
    stack = stack_of("depth", [0, 1, 2])
    stack.schedules[1].waited, stack.schedules[1].least = 4, 0.0  # one more epoch without a gain
    before = stack.kept[1].clone()
    train_stacks([stack], corpus, train, validation, epochs=3)
    assert stack.epochs == [3, 1, 3] and stack.learning == [0, 2] and len(stack.weights) == 2
    assert torch.equal(stack.kept[1], before) and not torch.equal(stack.kept[0], initial("depth", 6, 0, 16, 0))


def test_the_loss_on_validation_is_the_mean_over_its_sentences(material):
    corpus, _, validation = material
    stack = stack_of("distance", [0, 2])
    (found,) = validation_losses([stack], corpus, validation)
    for place, layer in enumerate(stack.layers):
        each = []
        for sentence in validation:
            batch = corpus.trees.batch(np.array([sentence]))
            vectors = corpus.vectors["planted"].of(batch, [layer])[0]
            each.append(
                plain_loss("distance", stack.weights[place], vectors, Goal.of("distance", corpus.trees, batch, CPU))
            )
        assert found[place] == pytest.approx(float(np.mean(each)), rel=1e-5)


def test_shuffled_trees_are_random_trees_of_the_same_shapes(material):
    trees = material[0].trees
    other = trees.shuffled(0)
    every = np.arange(len(trees.ids))
    assert (other.governors != trees.governors).mean() > 0.5 and (
        other.shuffled(0).governors != other.governors
    ).any()
    assert (trees.shuffled(0).governors == other.governors).all() and (
        trees.shuffled(1).governors != other.governors
    ).any()
    for sentence in every[:30]:
        batch = trees.batch(every[sentence : sentence + 1])
        shapes = [np.sort(each.depths(batch)) for each in (trees, other)]
        assert (shapes[0] == shapes[1]).all()
        degrees = [np.sort(np.unique(each.governors_of(batch), return_counts=True)[1]) for each in (trees, other)]
        assert degrees[0].tolist() == degrees[1].tolist()
    batch = trees.batch(every)
    to_find = [edges_to_find(*(torch.from_numpy(part(batch)) for part in (each.governors_of, each.outside))).sum(1)
             for each in (trees, other)]  # fmt: skip
    assert torch.equal(*to_find), "as many edges are between words that aren't punctuation"
    some = slice(trees.starts[5], trees.starts[9])
    part = Trees(trees.ids[5:9], trees.lengths[5:9], trees.governors[some], trees.punctuation[some])
    assert (part.shuffled(0).governors == other.governors[some]).all()  # what else there is doesn't matter


def test_any_prediction_of_random_trees_finds_two_edges_in_m():
    """A random tree of m words has each pair as an edge with probability 2 / m, whatever is predicted."""
    examples, _ = planted(3000)
    trees = Trees.of(examples).shuffled(0)
    words = trees.lengths - 1  # without punctuation
    expected = (2 * (words - 1) / words).sum() / (words - 1).sum()
    real = Trees.of(examples)
    scored = evaluate("distance", lambda batch: torch.from_numpy(real.distances(batch))[None], trees, np.arange(3000))
    found = scored.draws(Resampling(trees.ids, repeats=200))[UUAS][:, 0]
    assert abs(found[0] - expected) < 3 * found[1:].std() and found[1:].std() < 0.01
