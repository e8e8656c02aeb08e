"""Plain text as documents, from files of every packing, and what is refused."""

from __future__ import annotations

import gzip
import lzma

import pytest

from bertscope.core.errors import UserError
from bertscope.data import demo, documents
from bertscope.data.documents import documents_root, is_held_out, open_documents

TEXT = "One day.\nIt rained.\n\n\n  Two.  \n\nThree.\nAnd more.\n"
WANTED = [["One day.", "It rained."], ["Two."], ["Three.", "And more."]]


def test_blank_lines_part_documents_however_they_are_packed(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(TEXT.encode()))
    for name in ("a.txt", "b.txt.gz", "c.txt.xz"):
        assert list(open_documents(tmp_path / name)) == WANTED
    together = open_documents(str(tmp_path / "*.txt*"))
    assert list(together) == 3 * WANTED and len(together.files) == 3  # a file's end is a document's


def test_a_file_without_blank_lines_is_many_documents(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "LONGEST", 10)
    (tmp_path / "a.txt").write_text("four\nfour\nfour\nfour\n")
    assert list(open_documents(tmp_path / "a.txt")) == [["four"] * 3, ["four"]]


def test_an_identity_is_of_what_is_read(tmp_path):
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(TEXT)
    one, other = (documents_root(tmp_path / folder / "a.txt") for folder in ("one", "other"))
    (tmp_path / "other/a.txt").write_text(TEXT + "More.\n")
    assert one.id == other.id != documents_root(tmp_path / "other/a.txt").id


def test_what_is_held_out_is_about_the_share_and_goes_by_the_first_line():
    found = [is_held_out([f"line {n}", "rest"], 0.1) for n in range(4000)]
    assert 0.08 < sum(found) / len(found) < 0.12
    assert found == [is_held_out([f"line {n}"], 0.1) for n in range(4000)]
    assert all(is_held_out([f"line {n}"], 0.3) for n in range(4000) if found[n])  # a larger share has the smaller's


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"text\n\x00\x01\n", "line 2: a zero byte, so it is no text"),
        (b"fine\n\xff\xfe\n", "line 2: not valid UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, raw, said):
    (tmp_path / "a.txt").write_bytes(raw)
    with pytest.raises(UserError, match=said):
        list(open_documents(tmp_path / "a.txt"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no file .*; check the path"):
        open_documents(tmp_path / "none.txt")
    with pytest.raises(UserError, match="no file is called like"):
        open_documents(str(tmp_path / "*.txt"))
    with pytest.raises(UserError, match="can't read int as plain text"):
        open_documents(3)


def test_the_demo_language_has_a_text_that_holds_nothing_it_is_asked_about():
    """Neither a sentence of its corpus nor one of a minimal pair; and a worker finds it again by its name alone."""
    text = open_documents(documents_root("demo/language").source)
    sentences = [line for document in text for line in document]
    assert len(sentences) == len({*sentences}) == 30_000
    assert sum(map(len, sentences)) == text.likely_size
    asked = {one for split in demo.SPLITS for one in demo.examples("demo/corpus", split).text}
    clean, corrupted = demo.pairs("demo/minimal", "test")[0]
    assert not {*sentences} & {*asked, *clean.text, *corrupted.text}
    assert {*(word for line in sentences for word in line.split())} > {"keys", "never", "was"}


def test_what_is_no_text_of_the_demo_language_is_refused():
    with pytest.raises(UserError, match="demo/corpus is no plain text; in the demo language there is demo/language"):
        open_documents("demo/corpus")
    with pytest.raises(UserError, match="demo/language is plain text, which pretrain learns from"):
        demo.make("demo/language", 0)
