"""`states`: hidden states as a stored step that questions share."""

from __future__ import annotations

import numpy as np
import pytest

import bertscope
from bertscope.analyses.state_inputs import open_states
from bertscope.analyses.states.question import state_steps
from bertscope.core.errors import UserError
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.models.source import model_root
from bertscope.models.states_store import StatesStore
from running import made_by


def test_a_step_keeps_what_hidden_gives(tmp_path, tiny, texts):
    states = bertscope.states(tiny, texts, out=tmp_path / "kept")
    again = StatesStore.open(tmp_path / "kept")
    assert np.array_equal(again.array, bertscope.hidden_states(tiny, texts).array)
    assert states.result["vectors"].value == len(again)
    assert {number.key for number in states.result.headline} == set(bertscope.states.numbers)
    assert again.record == tiny.record == states.result.models[tiny.id]


def test_the_store_shares_one_step_among_questions(tmp_path, tiny):
    folder = tiny.save(tmp_path / "model")
    corpus = examples_root("demo/corpus", limit=20)
    step = state_steps([model_root(folder)], corpus)["states.0"]
    store = Store(tmp_path / "store")
    assert made_by(step, store) == ["states"]
    kept = StatesStore.open(store.path(step) / "states")
    assert kept.layers == tuple(range(tiny.n_layers + 1))
    assert made_by(step, store) == []


def test_states_of_other_texts_are_refused(tiny, texts):
    whole = bertscope.hidden_states(tiny, texts)
    part = texts.take(range(2))
    with pytest.raises(UserError, match=f"of {len(texts)} texts"):
        open_states(whole, part)
    with pytest.raises(UserError, match="not mean vectors"):
        open_states(whole, texts, "mean")


def test_ids_tell_checkpoints_apart(tiny, texts):
    assert list(open_states([tiny, tiny], texts)) == [tiny.id, f"{tiny.id}-2"]


def test_an_unknown_pool_is_refused():
    with pytest.raises(UserError, match="did you mean"):
        bertscope.StatesConfig(pool="words")  # type: ignore[arg-type]


def test_random_weights_give_other_states_the_same_for_a_seed(tmp_path, tiny, texts):
    config = bertscope.StatesConfig(init="random", seed=3)
    states = bertscope.states(tiny, texts, config, out=tmp_path / "random")
    assert states.store.record.name == f"{tiny.name} (random init)"
    assert states.store.layers == tuple(range(tiny.n_layers + 1))
    again = bertscope.states(tiny, texts, config).store
    other = bertscope.states(tiny, texts, bertscope.StatesConfig(init="random")).store
    assert np.array_equal(states.store.array, again.array) and not np.allclose(again.array, other.array)
    assert not np.allclose(again.array, bertscope.hidden_states(tiny, texts).array)
    with pytest.raises(UserError, match="unknown init"):
        bertscope.StatesConfig(init="pretraned")  # type: ignore[arg-type]


def test_without_resume_what_is_there_is_made_anew_and_what_is_not_ours_is_left(tmp_path, tiny, texts):
    kept, foreign = tmp_path / "kept", tmp_path / "mine"
    first = bertscope.states(tiny, texts, out=kept)
    with pytest.raises(UserError, match="made with"):
        bertscope.states(tiny, texts.take(range(2)), out=kept)
    again = bertscope.states(tiny, texts.take(range(2)), out=kept, resume=False)
    assert len(again.store) < first.result["vectors"].value
    foreign.mkdir()
    (foreign / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="didn't write"):
        bertscope.states(tiny, texts, out=foreign, resume=False)
    assert (foreign / "letter.txt").read_text() == "dear"
