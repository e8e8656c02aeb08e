"""The store of hidden states: equal to a plain loop, in order, refused where it doesn't fit."""

from __future__ import annotations

import errno
import gc
import shutil

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models import states as making
from bertscope.models.observe import observe
from bertscope.models.states import StatesStore, hidden_states

NOTHING = "\u200b"  # BERT's tokenizer normalises it away
SENTENCES = (
    ("She", "did", "n't", "say", "that", "the", "unbelievably", "long", "road", "was", "closed", "."),
    ("No", "."),
    ("naïve", NOTHING, "straße", "1,000.5", "mother-in-law"),
    (),
    ("word",) * 100,  # too long for the tiny model, which reads 64 tokens
    ("The", "people", "who", "lived", "there", "were", "kind", ",", "wonderfully", "so"),
    (NOTHING,),
    ("It", "rained", "."),
)


def marked(*sentences, first=0) -> Examples:
    ids = tuple(f"s{first + i}" for i in range(len(sentences)))
    return Examples(ids=ids, text=tuple(" ".join(words) for words in sentences), words=tuple(sentences))


def alone(encoder, *text, **how):
    """One example by itself through plain transformers: [layer, token, dim] and the library's encoding."""
    coded = encoder.tokenizer(*text, return_tensors="pt", **how).to(encoder.device)
    with torch.no_grad():
        output = encoder.model(**coded, output_hidden_states=True)
    return torch.cat(output.hidden_states).cpu().numpy(), coded


def means(states, numbers):
    """{number: mean over the tokens that have it [layer, dim]}, None left out."""
    found = sorted({number for number in numbers if number is not None})
    return {n: states[:, [at for at, of in enumerate(numbers) if of == n]].mean(1) for n in found}


@pytest.fixture
def sentences() -> Examples:
    return marked(*SENTENCES)


@pytest.mark.parametrize("which", ["tiny", "pocket"])
def test_words_equal_a_plain_loop(which, sentences, request):
    encoder = request.getfixturevalue(which)
    store = hidden_states(encoder, sentences, tokens=64, window=3)
    too_long = {"tiny": (4,), "pocket": ()}[which]
    assert store.left_out == tuple(f"s{i}" for i in too_long)
    assert store.ids == sentences.ids
    assert (store.n_layers, store.dim, len(store.layers)) == (
        encoder.n_layers, encoder.hidden_size, encoder.n_layers + 1,
    )  # fmt: skip
    rows = 0
    for i, words in enumerate(sentences.words):
        of = slice(store.starts[i], store.starts[i + 1])
        if i in too_long or not words:
            assert store.sentence(i).shape == (0, encoder.n_layers + 1, encoder.hidden_size)
            continue
        states, coded = alone(encoder, list(words), is_split_into_words=True)
        expected = means(states, coded.word_ids())
        assert store.words[of].tolist() == list(expected)
        if expected:
            np.testing.assert_allclose(store.sentence(i), np.stack(list(expected.values())), atol=1e-5)
        rows += len(expected)
    assert len(store) == rows == len(store.words) == len(store.segments)
    assert np.isfinite(store.array).all()
    for layer in store.layers:
        assert store.vectors(layer).flags.c_contiguous
        np.testing.assert_array_equal(np.concatenate([*store.blocks(layer, 7)]), store.vectors(layer))
        np.testing.assert_array_equal(store.array[:, layer], store.vectors(layer))


def test_a_word_without_pieces_leaves_the_others_findable(tiny, sentences):
    store = hidden_states(tiny, sentences)
    assert store.words[store.starts[2] : store.starts[3]].tolist() == [0, 2, 3, 4]
    assert store.starts[6] == store.starts[7]


def test_a_sentence_that_just_fits_is_read(tiny):
    store = hidden_states(tiny, marked(("the",) * 62, ("the",) * 63), tokens=1)
    assert store.starts.tolist() == [0, 62, 62] and store.left_out == ("s1",)


@pytest.mark.parametrize("pool", ["word", "token", "cls", "mean"])
def test_every_pool_of_texts_and_pairs(pool, tiny, texts):
    pairs = Examples(ids=texts.ids, text=texts.text, pair=tuple(reversed(texts.text)))
    for examples in (texts, pairs):
        store = hidden_states(tiny, examples, pool=pool, tokens=80)
        for i in range(len(examples)):
            text = (examples.text[i],) if examples.pair is None else (examples.text[i], examples.pair[i])
            states, coded = alone(tiny, *text)
            sequences = coded.sequence_ids()
            real = [at for at, which in enumerate(sequences) if which is not None]
            units = list(zip(sequences, coded.word_ids(), strict=True))
            numbers = {
                "word": [None if unit[0] is None else unit for unit in units],
                "token": [None if which is None else at for at, which in enumerate(sequences)],
                "cls": [0] + [None] * (len(units) - 1),
                "mean": [None if which is None else 0 for which in sequences],
            }
            expected = means(states, numbers[pool])
            np.testing.assert_allclose(store.sentence(i), np.stack(list(expected.values())), atol=1e-5)
            of = slice(store.starts[i], store.starts[i + 1])
            if pool == "token":
                assert store.words[of].tolist() == real
                assert store.segments[of].tolist() == [sequences[at] for at in real]
            elif pool == "word":
                assert store.words[of].tolist() == list(range(len(expected)))
                assert store.segments[of].tolist() == [which for which, _ in expected]


def test_an_example_without_text_has_no_mean_but_a_first_token(tiny):
    examples = Examples(ids=("a", "b"), text=("", "yes"))
    assert hidden_states(tiny, examples, pool="mean").starts.tolist() == [0, 0, 1]
    assert hidden_states(tiny, examples, pool="cls").starts.tolist() == [0, 1, 2]


def test_batches_windows_and_order_do_not_show(pocket, sentences):
    whole = hidden_states(pocket, sentences)
    for how in ({"tokens": 1}, {"tokens": 40, "window": 2}, {"window": 3}):
        np.testing.assert_allclose(hidden_states(pocket, sentences, **how).array, whole.array, atol=1e-5)
    backwards = hidden_states(pocket, sentences.take(range(len(sentences))[::-1]))
    for i in range(len(sentences)):
        np.testing.assert_allclose(backwards.sentence(len(sentences) - 1 - i), whole.sentence(i), atol=1e-5)


def test_layers_are_kept_by_their_public_numbers(tiny, sentences):
    whole, some = hidden_states(tiny, sentences), hidden_states(tiny, sentences, layers=[3, 0])
    assert some.layers == (0, 3) and some.array.shape[1] == 2 and some.n_layers == 3
    for layer in (0, 3):
        np.testing.assert_array_equal(some.vectors(layer), whole.vectors(layer))
    with pytest.raises(UserError, match="layer 1 isn't in the store; there are 0, 3"):
        some.vectors(1)
    with pytest.raises(IndexError):
        some.sentence(len(sentences))


def test_a_temporary_store_lives_as_long_as_its_object(tiny, texts):
    store = hidden_states(tiny, texts)
    folder, view = store.folder, store.vectors(1)
    assert folder.exists()
    del store
    gc.collect()
    assert not folder.exists()
    assert np.isfinite(view).all()


def test_a_complete_store_is_opened_without_running_the_model(tiny, sentences, tmp_path, monkeypatch):
    states = hidden_states(tiny, sentences, store=tmp_path / "h")
    monkeypatch.setattr(making, "observe", None)
    for again in (hidden_states(tiny, sentences, store=tmp_path / "h"), StatesStore.open(tmp_path / "h")):
        np.testing.assert_array_equal(again.array, states.array)
        assert (again.ids, again.left_out, again.pool) == (states.ids, states.left_out, "word")


def test_a_store_of_something_else_is_refused(tiny, pocket, sentences, tmp_path):
    place = tmp_path / "h"
    hidden_states(tiny, sentences, store=place)
    for words, change in {
        r"made with another encoder \(Bert": lambda: hidden_states(pocket, sentences, store=place),
        "made with other examples;": lambda: hidden_states(tiny, sentences.take(range(7)), store=place),
        "made with pool word;": lambda: hidden_states(tiny, sentences, pool="cls", store=place),
        r"made with layers \[0, 1, 2, 3\]": lambda: hidden_states(tiny, sentences, layers=[1], store=place),
    }.items():
        with pytest.raises(UserError, match=words) as refusal:
            change()
        assert str(place) in str(refusal.value) and "\n" not in str(refusal.value)
    with torch.no_grad():
        next(tiny.model.parameters())[0, 0] += 1
    with pytest.raises(UserError, match="another encoder"):
        hidden_states(tiny, sentences, store=place)
    relabelled = Examples(sentences.ids, sentences.text, words=sentences.words, label=np.zeros(len(sentences)))
    hidden_states(pocket, sentences, store=tmp_path / "p")
    hidden_states(pocket, relabelled, store=tmp_path / "p")  # labels don't change what the model reads


def test_what_cannot_work_is_refused(tiny, sentences, tmp_path, monkeypatch):
    with pytest.raises(UserError, match="unknown pool 'words'; did you mean 'word'"):
        hidden_states(tiny, sentences, pool="words")
    with pytest.raises(UserError, match="has the layers 0 to 3, not"):
        hidden_states(tiny, sentences, layers=[4])
    with pytest.raises(UserError, match="no examples"):
        hidden_states(tiny, sentences.take([]))
    with pytest.raises(UserError, match="none of the 2 examples has a word"):
        hidden_states(tiny, sentences.take([3, 4]))
    with pytest.raises(UserError, match="is no store of hidden states"):
        StatesStore.open(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="bertscope didn't write"):
        hidden_states(tiny, sentences, store=tmp_path / "mine")
    monkeypatch.setattr(making.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 10, 100))
    with pytest.raises(UserError, match=r"need [\d,]+ bytes and 100 bytes are free; choose another place"):
        hidden_states(tiny, sentences, store=tmp_path / "h")
    assert not (tmp_path / "h").exists()


def test_a_disk_that_fills_up_is_explained_and_the_work_goes_on_later(tiny, sentences, tmp_path, monkeypatch):
    expected = hidden_states(tiny, sentences, window=2).array
    update, calls = making._Writer.update, []

    def full(self, batch, seen):
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        update(self, batch, seen)

    monkeypatch.setattr(making._Writer, "update", full)
    with pytest.raises(UserError, match="the disk is full"):
        hidden_states(tiny, sentences, store=tmp_path / "h", window=2)
    with pytest.raises(UserError, match=r"is not finished \(2 of 8 examples\); call hidden"):
        StatesStore.open(tmp_path / "h")
    read = []
    monkeypatch.setattr(making._Writer, "update", update)
    monkeypatch.setattr(making, "observe", lambda *args, **how: read.extend(args[1].ids) or observe(*args, **how))
    np.testing.assert_array_equal(hidden_states(tiny, sentences, store=tmp_path / "h", window=2).array, expected)
    assert read == ["s2", "s5", "s7"]  # s0 and s1 were done; the others have no rows


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    "name", ["vectors.npy", "starts.npy", "words.npy", "ids.json", "hidden.json", "progress.json"]
)
@pytest.mark.parametrize("harm", [cut_short, lambda path: path.write_bytes(b""), lambda path: path.unlink()])
def test_a_damaged_store_is_refused(name, harm, tiny, sentences, tmp_path):
    hidden_states(tiny, sentences, store=tmp_path / "h")
    harm(tmp_path / "h" / name)
    for use in (
        lambda: StatesStore.open(tmp_path / "h"),
        lambda: hidden_states(tiny, sentences, store=tmp_path / "h"),
    ):
        with pytest.raises(UserError, match=r"isn't as bertscope wrote it|no store|didn't write") as refusal:
            use()
        assert "\n" not in str(refusal.value)


def test_an_index_that_was_changed_is_noticed(tiny, sentences, tmp_path):
    hidden_states(tiny, sentences, store=tmp_path / "h")
    words = tmp_path / "h" / "words.npy"
    content = bytearray(words.read_bytes())
    content[-4] ^= 1
    words.write_bytes(content)
    with pytest.raises(UserError, match=r"words\.npy was changed"):
        StatesStore.open(tmp_path / "h")


def test_open_gates_are_refused(tiny, texts):
    """A store is known by the encoder's weights, which don't show that a part is off."""
    with tiny.gates(off=["head:1.1"]), pytest.raises(UserError, match="gates are open"):
        hidden_states(tiny, texts)
