"""What `structure` reads: corpora, models, states, settings; and what it refuses before it trains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import bertscope
from bertscope.analyses.structure.question import StructureConfig, plan, structure
from bertscope.analyses.structure.trees import Trees, parts
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.core.model_record import ModelRecord
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from made_states import made_store
from planted_trees import planted, random_trees
from running import made_by

QUICK = StructureConfig(ranks=(16,), learning_rate=1e-2, repeats=200)


def test_another_corpus_to_train_on():
    examples, store = planted(60, seed=5)
    # The same map for both corpora: layer 1 of each is turned alike only if the same directions are.
    others, more = planted(200, seed=0)
    result = structure(store, examples, QUICK, train=others, train_states=more)
    assert any(note.endswith("60 to test") for note in result.notes)
    assert result["root_accuracy"].n == 60
    half = others.take(range(50, 200))
    seen = structure(made_store(half, [more.vectors(layer)[more.starts[50] :] for layer in more.layers]), half, QUICK,
                     train=others, train_states=more)  # fmt: skip
    assert any("also occur among those that train" in note for note in seen.notes)


def test_sentences_without_all_their_vectors_are_left_out():
    examples, store = planted(100)
    starts = store.starts.copy()
    starts[8:] -= 1  # sentence 7 lacks its last word
    lacking = replace(store, starts=starts, array=np.delete(store.array, store.starts[8] - 1, axis=0))
    result = structure(lacking, examples, replace(QUICK, epochs=2, sentences=0))
    assert "1 sentence of planted is left out: too long, or a word without tokens" in result.notes


def test_the_split_is_by_text_and_no_sentence_is_in_two_parts():
    texts = [f"text {number % 500}" for number in range(1000)]
    three = parts(texts, 0, test=True)
    assert sum(map(len, three)) == 1000 and [len(part) for part in three] == pytest.approx([800, 100, 100], abs=60)
    named = [{texts[row] for row in part} for part in three]
    assert not named[0] & named[1] and not named[0] & named[2] and not named[1] & named[2]
    train, validation = parts(texts[::-1], 0, test=False)
    assert len(train) + len(validation) == 1000 and len(validation) == pytest.approx(100, abs=30)
    few = {texts[:100][row] for row in parts(texts[:100], 0, test=True)[2]}
    assert few == named[2] & set(texts[:100])  # what else there is doesn't matter


def test_models_are_read_and_the_random_one_is_beside_them(tiny):
    examples = read_examples("demo/corpus", limit=120)
    config = StructureConfig(ranks=(8,), epochs=2, repeats=100)
    result = structure([tiny, tiny], examples, config)
    keys = list(result.models)
    assert list(result.tables["training"]["checkpoint"].unique()) == keys and keys[0] == tiny.id
    names = [tiny.name, f"{tiny.name} (2)", f"{tiny.name} (random init)"]
    assert list(result.in_words().tables["training"]["checkpoint"].unique()) == names
    one, same, other = (
        result.tables["training"].query("checkpoint == @key")["validation_loss"].tolist() for key in keys
    )
    assert one == same and one != other
    assert result.models[keys[2]].origin.by == "random" and result.models[keys[2]].came_of(tiny.record)
    (number,) = result.numbers(key="uuas", model=keys[2])
    assert number.label == f"UUAS, {names[2]}" and result.subject == {"task": "demo/corpus"}


def test_the_command_keeps_each_models_states_once(tmp_path, tiny):
    folder = str(tiny.save(tmp_path / "model"))
    corpus, other = examples_root("demo/corpus", limit=100), examples_root("demo/sentiment", limit=40)
    config = StructureConfig(ranks=(8,), epochs=2, repeats=100)
    model, store = model_root(folder), Store(tmp_path / "store")
    step = plan(model, other, config, train=corpus)
    assert list(step.inputs) == ["examples", "train", "states.0", "states.1", "train_states.0", "train_states.1"]
    assert made_by(step, store).count("states") == 4
    result = store.result(step)
    assert result.subject["train"] == "demo/corpus"
    made = made_by(plan(model, corpus, config), store)
    assert made == ["structure"]  # the corpus that was trained on is known


def test_texts_without_trees_are_refused(tiny, texts, monkeypatch):
    monkeypatch.setattr(
        "bertscope.analyses.state_inputs.hidden_states", lambda *_, **__: pytest.fail("the model was run first")
    )
    with pytest.raises(UserError, match="has no dependency trees; give a treebank"):
        structure(tiny, texts)
    with pytest.raises(UserError, match="has pairs, which have two trees each"):
        Trees.of(read_examples("demo/entailment", limit=10))
    examples, governors = random_trees(3), random_trees(3).governors
    assert governors is not None
    with pytest.raises(UserError, match="doesn't say which words are punctuation"):
        Trees.of(replace(examples, marks={}))
    with pytest.raises(UserError, match="tree 2 of 3 is none: words 1 and 2 are both roots"):
        Trees.of(replace(examples, governors=(governors[0], (ROOT,) * len(governors[1]), governors[2])))


def test_mistakes_are_said_before_anything_is_trained():
    examples, store = planted(60)
    with pytest.raises(UserError, match="no sentence 's999' is scored here; those that are have ids such as 's"):
        structure(store, examples, replace(QUICK, show=("s999",)))
    few = examples.take(range(8))
    with pytest.raises(UserError, match="are too few; give more sentences"):
        structure(made_store(few, [store.vectors(0)[: store.starts[8]]]), few)
    with pytest.raises(UserError, match="are the data to be scored"):
        structure(store, examples, train=examples, train_states=store)
    others, more = planted(60, seed=3)
    with pytest.raises(UserError, match="those of planted, the states to train on those of else"):
        structure(store, examples, train=others, train_states=replace(more, record=ModelRecord("else", "else")))
    with pytest.raises(UserError, match="holds word vectors of 60 texts, not word vectors of these 61"):
        structure(store, examples, train=planted(61)[0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"ranks": ()}, "ranks are"), ({"ranks": (0, 2)}, "ranks are"), ({"ranks": (4, 4)}, "ranks are"),
     ({"epochs": 0}, "epochs is 0"), ({"batch_size": 0}, "batch-size is 0"), ({"repeats": 9}, "repeats is 9"),
     ({"learning_rate": 0.0}, "learning-rate is 0.0"), ({"seed": -1}, "seed is -1"),
     ({"sentences": -1}, "sentences is -1")],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        bertscope.StructureConfig(**wrong)


def test_named_sentences_are_drawn():
    examples, store = planted(60)
    test = parts(examples.text, 0, test=True)[2]
    wanted = tuple(examples.ids[row] for row in test[:2])
    result = structure(store, examples, replace(QUICK, show=wanted, epochs=2))
    assert list(result.tables["trees"]["sentence"].unique()) == list(wanted)


def test_train_is_a_flag_of_the_command(tmp_path, tiny, command):
    tiny.save(tmp_path / "tiny")
    words = "structure tiny --on demo/sentiment --train demo/corpus --limit 60 --ranks 2,8 --epochs 1 --no-random"
    code, out, err = command(*words.split())
    assert code == 0 and "selectivity" in out and "60 to test" in out
    assert err.count("running  states") == 2 and "ranks=2,8 random=False epochs=1" in err
