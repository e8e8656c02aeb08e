"""Questions in shards: what is found is what one pass finds, whatever the number of shards."""

from __future__ import annotations

import copy
import json
import sys

import numpy as np
import pandas as pd
import pytest

from bertscope.analyses.shards.division import DivisionConfig
from bertscope.analyses.shards.plan import in_shards
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.result import Result
from bertscope.core.step import Root
from bertscope.core.store import Store
from bertscope.models.batches import WINDOW
from bertscope.models.states_store import open_store
from long_corpora import TEXTS, lines, text_file, treebank

EXACT = 1e-12
SHORT = 2048 + 150


@pytest.fixture(scope="module")
def models(_tiny, tmp_path_factory):
    """Two models of one shape: with other weights in the last layer."""
    folder = tmp_path_factory.mktemp("models")
    _tiny.save(folder / "before")
    after = copy.deepcopy(_tiny)
    after.model.base_model.encoder.layer[-1].attention.self.query.weight.data *= 1.5
    after.save(folder / "after")
    return [str(folder / "before"), str(folder / "after")]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return text_file(tmp_path_factory.mktemp("corpus") / "corpus.txt")


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A corpus of a window and a bit."""
    return text_file(tmp_path_factory.mktemp("short") / "short.txt", SHORT)


def assert_same(whole: Result, added: Result) -> None:
    """Counts and words equal, sums to the last digits."""
    assert (whole.question, whole.version, whole.subject) == (added.question, added.version, added.subject)
    assert whole.notes == added.notes and whole.figures == added.figures and [*whole.tables] == [*added.tables]
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(table, added.tables[name], rtol=EXACT, atol=EXACT, obj=name)
    for name, array in whole.arrays.items():
        np.testing.assert_allclose(added.arrays[name], array, rtol=EXACT, atol=EXACT)
    for one, other in zip(whole.headline, added.headline, strict=True):
        assert (one.key, one.n, one.of, one.unit) == (other.key, other.n, other.of, other.unit)
        for value, like in ((one.value, other.value), (one.low, other.low), (one.high, other.high)):
            assert value == like or value == pytest.approx(like, rel=EXACT, abs=EXACT, nan_ok=True)


def test_a_shard_has_the_windows_of_a_pass():
    assert DivisionConfig().window == WINDOW


@pytest.mark.slow
def test_patterns(models, corpus, tmp_path):
    """Also by a number of shards that isn't that of the windows: then some have several, or none."""
    ask = find("patterns")
    whole = ask(models, str(corpus), repeats=100)
    assert whole.headline[0].n == TEXTS and "9 blank lines skipped" in whole.notes
    for shards in (2, 5):
        assert_same(whole, ask(models, str(corpus), repeats=100, shards=shards, store=tmp_path / str(shards)))


@pytest.mark.slow
def test_change(models, corpus, tmp_path):
    how = {"repeats": 100, "seed": 3}
    added = find("change")(*models, str(corpus), shards=3, store=tmp_path, **how)
    assert_same(find("change")(*models, str(corpus), **how), added)


@pytest.mark.slow
def test_features(models, tmp_path):
    bank = str(treebank(tmp_path / "bank.conllu"))
    whole = find("features")(models, bank, repeats=100)
    assert {"noun", "subject", "negation"} <= {*whole.tables["layers"]["feature"]}
    assert_same(whole, find("features")(models, bank, repeats=100, shards=2, store=tmp_path / "store"))


def test_features_of_texts_without_words(models, corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    whole = find("features")(models[0], str(corpus), repeats=100)
    assert any("spaCy" in note for note in whole.notes)
    assert_same(whole, find("features")(models[0], str(corpus), repeats=100, shards=3, store=tmp_path))


@pytest.mark.slow
def test_redundancy(models, corpus, tmp_path):
    """The sample of tokens is that of the whole corpus: those with the smallest hashes."""
    how = {"repeats": 100, "tokens": 300, "clusters": 3}
    whole = find("redundancy")(models, str(corpus), **how)
    assert_same(whole, find("redundancy")(models, str(corpus), **how, shards=3, store=tmp_path))


@pytest.mark.slow
def test_relations(models, tmp_path):
    """Pairs and their controls lie in different shards, and the half that chooses is in all of them."""
    bank = str(treebank(tmp_path / "bank.conllu", SHORT))
    how = {"repeats": 100, "null": True}
    whole = find("relations")(models[0], bank, **how)
    assert whole.tables["heads"]["n"].max() > 300 and len(whole.tables["null"])
    for shards in (2, 3):
        assert_same(whole, find("relations")(models[0], bank, **how, shards=shards, store=tmp_path / str(shards)))


@pytest.mark.slow
def test_relations_of_frames(models, tmp_path):
    """Frames in one shard alone, spans of words, links that make no pairs, and of two models."""
    rows = []
    for at, text in enumerate(lines(SHORT)):
        words = [*text.split(), "good", "road"]
        links = [{"name": "Near", "source": [0], "target": [len(words) - 1]}]
        links += [{"name": "Whole", "source": [0, 1], "target": [1, 2]}] * (at % 7 == 0)
        links += [{"name": "Theme", "frame": "Going", "source": [0, 1], "target": [2], "core": at % 3 > 0}] * (
            at < 90
        )
        rows.append(json.dumps({"words": words, "links": links}))
    (tmp_path / "own.jsonl").write_text("\n".join(rows))
    whole = find("relations")(models, str(tmp_path / "own.jsonl"), repeats=100)
    assert "frames" in whole.tables and any("aren't core" in note for note in whole.notes)
    added = find("relations")(models, str(tmp_path / "own.jsonl"), repeats=100, shards=2, store=tmp_path / "store")
    assert_same(whole, added)


def test_relations_of_texts_without_any(models, corpus, tmp_path):
    with pytest.raises(UserError, match="these texts have no relations between words"):
        find("relations")(models[0], str(corpus), shards=2, store=tmp_path)


@pytest.mark.slow
def test_masked_words(short, tmp_path):
    """Also of texts without a word to mask, and of more shards than windows."""
    how = {"repeats": 100, "seed": 2}
    whole = find("masked-words")("pocket", str(short), **how)
    assert whole["accuracy"].n > 2000 and whole["accuracy"].low < whole["accuracy"].value < whole["accuracy"].high
    assert_same(whole, find("masked-words")("pocket", str(short), **how, shards=3, store=tmp_path))


@pytest.mark.slow
def test_states(models, short, tmp_path):
    """Each shard keeps its own array, also one without a text; the whole is a reading over them, equal to the last
    bit, and copies nothing."""
    whole = find("states")(models[0], str(short), pool="token")
    for shards in (2, 5):
        store = Store(tmp_path / str(shards))
        added = find("states")(models[0], str(short), pool="token", shards=shards, store=store)
        assert_same(whole.result, added.result)
        assert added.store.ids == whole.store.ids and added.store.layers == whole.store.layers
        for name in ("starts", "words", "segments", "spans"):
            np.testing.assert_array_equal(getattr(added.store, name), getattr(whole.store, name))
        for layer in whole.store.layers:
            np.testing.assert_array_equal(added.store.vectors(layer)[:], whole.store.vectors(layer))
        np.testing.assert_array_equal(added.store.sentence(SHORT - 1), whole.store.sentence(SHORT - 1))
        (folder,) = (store.path(one.step) / "states" for one in store.finished() if one.step.name == "states")
        assert {path.name for path in folder.iterdir()} == {"shards.json", "seal.json"}
    kept = next(path for path in store.folder.glob("steps/*/sums/vectors.npy"))
    store.delete(kept.parents[1])
    with pytest.raises(UserError, match=r"stands for 2 shards, and .* isn't there any more"):
        open_store(folder)


def test_states_in_shards_stay_in_the_store(models, short, tmp_path):
    with pytest.raises(UserError, match="states in shards stays in the store, a folder for each shard; leave out"):
        find("states")(models[0], str(short), shards=2, store=tmp_path / "store", out=tmp_path / "out")


@pytest.mark.slow
def test_geometry(models, short, tmp_path):
    """Of two models; what is rare in one shard is frequent in all."""
    how = {"groups": 5, "words": 500}
    whole = find("geometry")(models, str(short), **how)
    assert len(whole.tables["words"]) and len(whole.tables["layers"])
    assert_same(whole, find("geometry")(models, str(short), **how, shards=5, store=tmp_path))


@pytest.mark.slow
def test_similarity(models, short, tmp_path):
    """It reads the states that geometry has kept in as many shards."""
    store = Store(tmp_path)
    find("geometry")(models, str(short), groups=5, shards=3, store=store)
    before = {one.step.id for one in store.finished()}
    how = {"words": 300, "groups": 5}
    added = find("similarity")(models, str(short), **how, shards=3, store=store)
    assert_same(find("similarity")(models, str(short), **how), added)
    assert [one.step.name for one in store.finished() if one.step.id not in before] == ["similarity"]


@pytest.mark.slow
def test_texts_too_long_for_the_model_leave_a_shard_without_a_row(models, tmp_path):
    """A whole window of them; and of a pass over the corpus they are but left out."""
    long = " ".join(["house"] * 600)
    (tmp_path / "long.txt").write_text("\n".join([*lines(2048), *[long] * 2048, *lines(70)]))
    whole = find("geometry")(models[0], str(tmp_path / "long.txt"), groups=5)
    assert any("2,048 texts are longer" in note for note in whole.notes)
    assert_same(whole, find("geometry")(models[0], str(tmp_path / "long.txt"), groups=5, shards=3, store=tmp_path))


@pytest.mark.slow
def test_all_files_of_a_pattern_are_one_corpus(models, tmp_path):
    found = lines()
    for place in range(4):
        some = found[1100 * place : 1100 * (place + 1)]
        (tmp_path / f"part{place}.txt").write_text("\n".join(some), encoding="utf-8")
    pattern = str(tmp_path / "part*.txt")
    whole = find("change")(*models, pattern, repeats=100)
    assert whole.headline[0].n == TEXTS
    assert_same(whole, find("change")(*models, pattern, repeats=100, shards=3, store=tmp_path / "store"))


def test_what_is_stored_is_sums_and_a_shard_is_made_once(models, corpus, tmp_path):
    store = Store(tmp_path)
    find("change")(*models, str(corpus), repeats=100, shards=3, store=store)
    made = [one.step for one in store.finished()]
    assert sorted(step.name for step in made) == ["change", "division", *["sums"] * 3]
    kept = [store.path(step) / "sums" for step in made if step.name == "sums"]
    assert {path.name for folder in kept for path in folder.iterdir()} == {
        "arrays.safetensors", "sums.json", "seal.json"
    }  # fmt: skip
    before = {folder: folder.stat().st_mtime_ns for folder in kept}
    find("change")(*models, str(corpus), repeats=100, shards=3, store=store)
    assert before == {folder: folder.stat().st_mtime_ns for folder in kept}


@pytest.mark.slow
def test_a_damaged_shard_is_made_again_alone(models, corpus, tmp_path):
    store = Store(tmp_path)
    ask = lambda: find("change")(*models, str(corpus), repeats=100, shards=3, store=store)  # noqa: E731
    first = ask()
    steps = {one.step.config["shard"]: one.step for one in store.finished() if one.step.name == "sums"}
    (answer,) = (one.step for one in store.finished() if one.step.name == "change")
    times = {shard: store.path(step).stat().st_mtime_ns for shard, step in steps.items()}
    store.delete(store.path(answer))
    (store.path(steps[2]) / "sums" / "arrays.safetensors").write_bytes(b"spoilt")
    assert_same(first, ask())
    now = {shard: store.path(step).stat().st_mtime_ns for shard, step in steps.items()}
    assert {shard for shard in steps if now[shard] != times[shard]} == {2}


@pytest.mark.parametrize("name", sorted(name for name, entry in QUESTIONS.items() if entry.group))
def test_who_cannot_be_asked_in_shards_says_so(name, tmp_path):
    question = find(name)
    if question.sharding:
        assert question.reads and question.function("of_shards" if question.sharding == "states" else "part")
        return
    with pytest.raises(UserError, match=f"^{name} can't be asked in shards, since .* leave out --shards"):
        planned(question, ["pocket"], "demo/corpus", question.config(), {}, {}, shards=3)


@pytest.mark.parametrize(
    ("given", "how", "message"),
    [
        ("demo/corpus", {}, "can't be read in shards: it is no file of texts without labels"),
        (["held", "texts"], {}, "what is held in memory can't be read in shards"),
        ("corpus", {"limit": 10}, "--limit draws from all texts"),
        ("corpus", {"shards": 0}, "shards is 0; give a number from 1 to"),
        ("corpus", {"shards": "many"}, "shards is 'many'; give a number from 1 to .*, or the size of one"),
        ("corpus", {"shards": "0MB"}, "shards is '0MB'; give a number"),
        ("corpus", {"shards": True}, "shards is True; give a number"),
        ("corpus", {"shards": "0.001kB"}, "shards of 0.001kB are .*; give a larger size"),
        ("twice", {}, "calls several texts by one id; in shards each needs its own"),
        ("labelled", {}, "can't be read in shards: it is no file of texts without labels"),
        ("nothing*.txt", {}, "no file is called like nothing\\*.txt; check the pattern"),
    ],
)
def test_what_cannot_be_read_in_shards(given, how, message, models, corpus, tmp_path):
    (tmp_path / "twice.jsonl").write_text('{"id": "a", "text": "one"}\n{"id": "a", "text": "two"}\n')
    (tmp_path / "labelled.jsonl").write_text('{"text": "one", "label": 1}\n{"text": "two", "label": 0}\n')
    places = {"corpus": str(corpus)} | {name: str(tmp_path / f"{name}.jsonl") for name in ("twice", "labelled")}
    source = places.get(given, given) if isinstance(given, str) else given
    with pytest.raises(UserError, match=message):
        find("change")(*models, source, store=tmp_path / "store", **({"shards": 2} | how))


def test_shards_of_a_size(models, corpus):
    """As many as it takes, by the bytes of the file; the steps are those of that number."""
    ask, size = find("change"), corpus.stat().st_size
    plan = lambda shards: planned(ask, models, str(corpus), ask.config(), {}, {}, shards=shards)  # noqa: E731
    count = -(-size // 20_000)
    assert 2 < count < 10 and plan("20kB").id == plan(count).id == plan(str(count)).id == plan("0.02MB").id
    assert plan("1TB").id == plan(1).id


def test_labels_of_maps_are_for_one_pass():
    one, patterns = Root("model", "pocket", "1"), find("patterns")
    with pytest.raises(UserError, match="patterns in shards takes no --labels; leave it out"):
        in_shards(patterns, [one], Root("examples", "a.txt", "2"), patterns.config(), {"labels": one}, 2)
