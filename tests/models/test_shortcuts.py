"""Linear shortcuts are ridge regressions: scikit-learn's, from the library's hidden states; controls are controls."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from bertscope.models.new_task_head import with_random_weights
from bertscope.models.outputs.kinds import model_output
from bertscope.models.shortcuts import PENALTIES, Sums, _Waiting, fit_shortcuts, shortcut


def data(n, seed, size=5):
    """States and targets that hang together, with middles far from 0 and directions of very different spread."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, size)) @ np.diag(10.0 ** np.arange(0, -size, -1)) + 3
    mix = np.random.default_rng(1).normal(size=(size, size))
    return x, x @ mix + 0.3 * generator.normal(size=(n, size)) - 7


def sums(*parts, layers=1):
    found = Sums(layers, 1, parts[0][0].shape[1])
    for x, y in parts:
        found.add([torch.from_numpy(x)] * layers, [torch.from_numpy(y)])
    return found


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_shortcut_is_scikit_learns_ridge(penalty):
    (x, y), (held_x, held_y) = data(40, 2), data(30, 3)
    found = shortcut(sums((x[:25], y[:25]), (x[25:], y[25:])), sums((held_x, held_y)), 0, penalties=[penalty])
    alpha = penalty * x.var(0).mean() * len(x)
    ridge = Ridge(alpha=alpha).fit(x, y)
    said = found(torch.from_numpy(held_x)).numpy()
    np.testing.assert_allclose(said, ridge.predict(held_x), rtol=1e-7, atol=1e-7)
    assert found.explained == pytest.approx(r2_score(held_y, said, multioutput="variance_weighted"), abs=1e-9)


def test_the_penalty_is_the_one_that_is_best_on_what_is_held_out():
    (x, y), (held_x, held_y) = data(8, 2), data(300, 3)
    found = shortcut(sums((x, y)), sums((held_x, held_y)), 0)
    errors = {}
    for penalty in PENALTIES:
        ridge = Ridge(alpha=penalty * x.var(0).mean() * len(x)).fit(x, y)
        errors[penalty] = np.square(held_y - ridge.predict(held_x)).sum()
    assert found.penalty == min(errors, key=errors.get)
    assert PENALTIES[0] < found.penalty < PENALTIES[-1]  # of few rows neither the least nor the most


def test_an_exact_map_is_found_and_states_that_never_change_say_the_mean():
    (x, _), (held, _) = data(200, 2), data(50, 3)
    mix = np.random.default_rng(4).normal(size=(5, 5))
    found = shortcut(sums((x, x @ mix + 2)), sums((held, held @ mix + 2)), 0)
    np.testing.assert_allclose(found(torch.from_numpy(held)), held @ mix + 2, atol=0.02)
    assert found.explained == pytest.approx(1, abs=1e-4)
    # The first token's embedding, in single precision: nothing but rounding.
    flat = np.float32(3) + 1e-7 * np.random.default_rng(5).normal(size=(200, 5))
    still = shortcut(sums((flat, x)), sums((flat[:50], held)), 0)
    np.testing.assert_allclose(still(torch.from_numpy(flat + 1e-5)), np.tile(x.mean(0), (200, 1)), atol=1e-9)


@pytest.fixture(scope="module")
def toy(toy_task, _toy_model):
    return toy_task, _toy_model


def first_states(encoder, examples):
    """[layer, example, d], as the library has them, one text at a time."""
    rows = []
    with torch.inference_mode():
        for text in examples.text:
            inputs = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
            given = encoder.model.base_model(**inputs, output_hidden_states=True).hidden_states
            rows.append(torch.stack([each[0, 0] for each in given]).double().cpu().numpy())
    return np.stack(rows, 1)


@pytest.mark.slow
def test_shortcuts_of_a_model_are_ridges_of_its_first_tokens_states(toy):
    made, encoder = toy
    random = with_random_weights(encoder, 0)
    found = fit_shortcuts(model_output(encoder, made.output), made.train, made.validation, random=random)
    own, of_random = first_states(encoder, made.train), first_states(random, made.train)
    tests = first_states(encoder, made.test), first_states(random, made.test)
    assert found.tokens == len(made.train)
    assert len(found.own) == len(found.permuted) == len(found.random) == encoder.n_layers
    for layer in range(1, encoder.n_layers):  # of the embeddings [CLS] is always the same
        for shortcuts, states, test in ((found.own, own, tests[0]), (found.random, of_random, tests[1])):
            one, x = shortcuts[layer], states[layer]
            ridge = Ridge(alpha=one.penalty * x.var(0).mean() * len(x)).fit(x, own[-1])
            said = one(torch.from_numpy(test[layer]).to(encoder.device)).cpu().numpy()
            np.testing.assert_allclose(said, ridge.predict(test[layer]), atol=1e-3)
        assert found.own[layer].explained > 0.9 > 0.05 > found.permuted[layer].explained
    without = fit_shortcuts(model_output(encoder, made.output), made.train, made.validation)
    assert without.permuted == without.random == ()
    torch.testing.assert_close(without.own[2].weight, found.own[2].weight)


def test_permuted_targets_are_all_anothers():
    waiting = _Waiting(Sums(1, 2, 1), Sums(1, 1, 1), 3)
    last = torch.arange(50.0)[:, None]
    moved = waiting._elsewhere(last)
    assert (moved != last).all() and sorted(moved[:, 0].tolist()) == last[:, 0].tolist()


def test_all_that_waits_is_added_up_once():
    own, random = Sums(1, 2, 2), Sums(1, 1, 2)
    waiting, generator = _Waiting(own, random, 0), torch.Generator().manual_seed(0)
    parts = [torch.randn(size, 3, 2, generator=generator, dtype=torch.double) for size in (700, 900, 3, 5)]
    for x, other, y in (part.unbind(1) for part in parts):
        waiting.add([[x], [other]], y)
    waiting.settle()
    x, other, y = torch.cat(parts).unbind(1)
    assert own.n == random.n == 1608
    torch.testing.assert_close(own.xx[0], x.T @ x)
    torch.testing.assert_close(own.xy[0][:, :2], x.T @ y)
    torch.testing.assert_close(random.xy[0], other.T @ y)
    torch.testing.assert_close(own.y, torch.stack([y.sum(0)] * 2))
    assert (own.xy[0][:, 2:] - x.T @ y).abs().max() > 1


def test_texts_without_a_token_that_is_read_give_no_shortcut(toy):
    made, encoder = toy
    none = made.train.take([])
    assert fit_shortcuts(model_output(encoder, made.output), none, made.validation) is None
