"""Plain text, a sentence or a paragraph a line."""

from __future__ import annotations

import gzip
import lzma
import subprocess

import pytest

from bertscope.core.errors import UserError
from bertscope.data.text import read_text
from corpora import SHARED, with_shared

LINES = "\ufeffOne line.\r\n\n  \nTwo lines, é.  \n\u3000\nThree".encode()


@pytest.mark.parametrize(
    ("name", "pack"), [("a.txt", bytes), ("a.txt.gz", gzip.compress), ("a.TXT.XZ", lzma.compress)]
)
def test_lines(tmp_path, name, pack):
    (tmp_path / name).write_bytes(pack(LINES))
    notes: list[str] = []
    read = read_text(tmp_path / name, notes=notes)
    assert read.text == ("One line.", "Two lines, é.", "Three")
    assert read.ids == (f"{name}:1", f"{name}:4", f"{name}:6")
    assert notes == ["3 blank lines skipped"]
    assert read_text(tmp_path / name, limit=2).text == read.text[:2]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"", "a.txt has no text"),
        ("a.txt", b" \n\n", "a.txt has no text"),
        ("a.txt", b"one\ncaf\xe9\n", "a.txt, line 2: not valid UTF-8"),
        ("a.txt", b"one\n" + b"a" * 100_000_000, "a.txt, line 2: over 1 MiB long; break it into lines"),
        ("a.txt.gz", gzip.compress(b"a" * 100_000_000, 1), "a.txt.gz, line 1: over 1 MiB long"),
        ("a.txt.xz", b"no xz", "cannot read"),
        ("a.txt.gz", b"no gz", "cannot read"),
        ("a.txt.gz", gzip.compress(LINES)[:-4], "the packed data is damaged; get the file again"),
    ],
    ids=range(8),
)
def test_mistakes(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_text(tmp_path / name)
    assert said in str(caught.value) and str(caught.value).isprintable()


def test_no_such_file_a_folder_and_limits(tmp_path):
    with pytest.raises(UserError, match=r"no file .*gone\.txt; check the path"):
        read_text(tmp_path / "gone.txt")
    with pytest.raises(UserError, match=r"is a folder, not a plain file; give the file itself"):
        read_text(tmp_path)
    with pytest.raises(UserError, match="limit is 0"):
        read_text(tmp_path, limit=0)


def test_a_limit_reads_no_further(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\n\xff")
    assert read_text(tmp_path / "a.txt", limit=1).text == ("one",)


@with_shared
@pytest.mark.parametrize("name", ["wiki-1.txt.xz", "books-1.txt.xz"])
def test_the_text_at_hand(name):
    if not (path := SHARED.parent / "text" / name).exists():
        pytest.skip(f"{name} isn't here")
    read = read_text(path, limit=2000)
    assert len(read) == 2000 and all(read.text)


@pytest.mark.parametrize(
    ("name", "pack"), [("my log.txt", bytes), ("a.txt.gz", gzip.compress), ("a.txt.xz", lzma.compress)]
)
def test_the_message_about_a_long_line_has_a_command_that_helps(tmp_path, name, pack):
    longest = "é" * ((1 << 19) - 1)
    lines = ["one", longest, longest + "aa", "two", "b" * (3 << 20)]
    (tmp_path / name).write_bytes(pack("\n".join(lines).encode()))
    with pytest.raises(UserError, match="line 3: over 1 MiB long; break it into lines, or leave such") as caught:
        read_text(tmp_path / name)
    subprocess.run(str(caught.value).rpartition("lines out: ")[2], shell=True, check=True, cwd=tmp_path)
    shorter = tmp_path / f"shorter-{name.removesuffix('.gz').removesuffix('.xz')}"
    assert read_text(shorter).text == ("one", longest, "two")
