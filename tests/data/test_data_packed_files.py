"""Folders and zips that hold corpora, and what the readers need to be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.frames import read_frames
from bertscope.data.packed_files import Collection
from bertscope.data.penn import read_brackets
from bertscope.data.treebank import read_treebank
from corpora import conllu, laid_out, packed
from framenet_files import EVERY, FILES, FULL

FEW = {"a.txt": "a", "b/a.txt": "b", "b/c/a.txt": "c", "b/c/d/a.txt": "d"}


def test_folders_and_zips_are_alike(tmp_path):
    with Collection(laid_out(tmp_path / "f", FEW)) as folder, Collection(packed(tmp_path / "f.zip", FEW)) as held:
        assert folder.names == ["a.txt", "b/a.txt", "b/c/a.txt"]  # no deeper: a folder may be a whole disk
        assert held.names == [*folder.names, "b/c/d/a.txt"]
        for files in (folder, held):
            assert [files.read(name) for name in folder.names] == [b"a", b"b", b"c"]
            assert files.inside("c", ".txt") == ["b/c/a.txt"]
            assert str(tmp_path) in files.where("a.txt") and "a.txt" in files.where("a.txt")


def test_locked_zips(tmp_path):
    path = packed(tmp_path / "t.zip", {"t.conllu": conllu("a X 0 root")})
    raw = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + flags] |= 1
    path.write_bytes(raw)
    with pytest.raises(UserError, match=r"t\.conllu is locked with a password"):
        read_treebank(path)


def test_files_that_are_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LARGEST_WHOLE", 1 << 20)
    files = {"t.conllu": "x" * (3 << 20)}
    for path in (packed(tmp_path / "t.zip", files), laid_out(tmp_path / "t", files)):
        with pytest.raises(UserError, match=r"t\.conllu has over 1 MiB; split it"):
            read_treebank(path)


def test_xml_of_any_depth(tmp_path):
    deep = FULL.replace("<header/>", "<header>" * 100_000 + "</header>" * 100_000)
    assert len(read_frames(packed(tmp_path / "t.zip", FILES | {"fndata-1.7/fulltext/a__b.xml": deep}), **EVERY)) == 3


def test_neither_a_folder_nor_a_zip(tmp_path):
    (tmp_path / "a.mrg").write_text("((NN a))")
    with pytest.raises(UserError, match=r"a\.mrg is no folder and no \.zip"):
        read_brackets(tmp_path / "a.mrg")


def test_names_in_a_zip_stay_on_one_line(tmp_path):
    with pytest.raises(UserError) as caught:
        read_treebank(packed(tmp_path / "t.zip", {"a\nb.conllu": "x"}))
    assert str(caught.value).isprintable()


def test_readers_are_imported_without_what_only_some_need():
    code = """
import sys
for name in ("conllu", "spacy", "cyclopts", "datasets"):
    sys.modules[name] = None
from bertscope.data import annotate, features, frames, penn, relations, text, treebank, trees
print([name for name in ("torch", "pandas", "scipy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-"], input=code, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr
