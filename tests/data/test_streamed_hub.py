"""Data sets of the hub as streams. The hub is out of reach: `datasets` reads a folder of that name in its place, by
the same call."""

from __future__ import annotations

import json

import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.data.corpus import open_streamed, streamed_root
from long_corpora import lines

pytest.importorskip("datasets")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = f"hub:owner/texts@{COMMIT}"


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Three files of rows, in the order of their names; here and there a blank text."""
    monkeypatch.chdir(tmp_path)
    found = lines(2048 + 60)
    folder = tmp_path / "owner" / "texts"
    folder.mkdir(parents=True)
    rows = [{"id": f"row {at}", "text": text, "label": at % 2} for at, text in enumerate(found)]
    rows.insert(5, {"id": "blank", "text": " ", "label": 0})
    for place in range(3):
        some = rows[800 * place : 800 * (place + 1)]
        (folder / f"train-{place}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    return found


def test_windows_are_the_rows_in_their_order(texts):
    corpus = open_streamed(NAME)
    division = corpus.divide(500)
    assert (division.texts, division.name, division.notes) == (len(texts), "owner/texts", ("1 blank row skipped",))
    assert {*division.places[:, 0].tolist()} == {0, 1, 2}, "each file is entered by itself"
    assert corpus.whole(division, range(5)).text == tuple(texts)
    for window in range(5):
        ((first, some),) = open_streamed(NAME).read(division, range(window, window + 1))
        assert first == 500 * window and some.text == tuple(texts[first : first + 500])
    assert some.ids[-1] == "owner/texts/2:509" and len({*corpus.whole(division, range(5)).ids}) == len(texts)


@pytest.mark.slow
def test_shards_of_a_stream_are_the_whole_of_the_same_rows_in_a_file(texts, tiny, tmp_path):
    tiny.save(tmp_path / "model")
    file = tmp_path / "same.jsonl"
    file.write_text("".join(json.dumps({"id": f"row {at}", "text": text}) + "\n" for at, text in enumerate(texts)))
    model, how = str(tmp_path / "model"), {"repeats": 100}
    whole = bertscope.patterns(model, str(file), **how)
    added = bertscope.patterns(model, NAME, id="id", shards=3, store=tmp_path / "store", **how)
    for one, other in zip(whole.headline, added.headline, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-12)


def test_the_commit_is_the_identity(texts, monkeypatch):
    root = streamed_root(NAME)
    assert root.source == NAME and root.digest != streamed_root(NAME.replace("0", "1")).digest
    assert root.digest != streamed_root(f"hub:owner/texts::test@{COMMIT}").digest
    monkeypatch.setattr("bertscope.data.streamed_hub.revision_of", lambda id, named: COMMIT)
    assert streamed_root("hub:owner/texts").digest == streamed_root("hub:owner/texts@main").digest == root.digest


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("hub:owner/texts", {}, "can't be identified, as the hub doesn't say which commit it has"),
        (f"hub:owner/texts::dev@{COMMIT}", {}, "can't be had from the hub .*split"),
        ("hub:", {}, "names no data set"),
        ("hub:owner/texts:a:b:c", {}, "names no data set"),
        (NAME, {"text": "words"}, "has no column 'words'; name one with --text"),
        (NAME, {"label": "label"}, "is no task with columns and labels; leave out --label"),
        (NAME, {"text": "label"}, "row 1: column 'label' has no text"),
        (NAME, {"limit": 5}, "--limit draws from all texts"),
    ],
)
def test_what_cannot_be_read(name, how, message, texts):
    with pytest.raises(UserError, match=message):
        streamed_root(name, **how)
        open_streamed(name, **how).divide(500)


def test_its_size_is_not_known(texts):
    with pytest.raises(UserError, match="isn't known before it is read; give a number of shards"):
        bertscope.patterns("pocket", NAME, shards="1MB", store="store")
