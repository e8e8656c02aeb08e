"""More annotated sentences than are held, and than are read."""

from __future__ import annotations

import pytest

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.corpus import read_examples
from treebank_files import conllu


def test_more_sentences_than_are_held(tmp_path, monkeypatch):
    path = tmp_path / "t.conllu"
    path.write_text("\n\n".join(conllu(f"w{i} X 0 root").strip() for i in range(20)))
    monkeypatch.setattr(limits, "MOST_SENTENCES", 8)
    with pytest.raises(UserError, match="has over 8 sentences"):
        read_examples(path)
    found = read_examples(path, limit=3)
    assert (
        len(found) == 3 and "t.conllu has 20 sentences, more than are held at once: one in 4 was read" in found.notes
    )


def test_more_sentences_than_are_read(tmp_path, monkeypatch):
    path = tmp_path / "t.conllu"
    path.write_text("\n\n".join(conllu(f"w{i} X 0 root").strip() for i in range(20)))
    monkeypatch.setattr(limits, "MOST_SENTENCES", 8)
    monkeypatch.setattr(limits, "MOST_ROWS", 19)
    with pytest.raises(UserError, match="has over 19 sentences, more than are read; split it"):
        read_examples(path, limit=3)
    monkeypatch.setattr(limits, "MOST_ROWS", 20)
    assert len(read_examples(path, limit=3)) == 3
