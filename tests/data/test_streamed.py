"""Texts a window at a time: any window is read without what lies before it, and is what the whole has there."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.corpus import open_streamed, read_examples, streamed_root
from bertscope.data.division import Division
from bertscope.data.streamed import is_pattern
from long_corpora import lines, treebank

TEXTS = lines(500)
JSON = [
    {"text": text, **({"id": f"own {at}"} if at % 3 else {}), **({"links": []} if at == 321 else {})}
    for at, text in enumerate(TEXTS)
]
MARKED = [{"words": text.split(), **({"mood": ["x"] * len(text.split())} if at == 333 else {})}
          for at, text in enumerate(TEXTS)]  # fmt: skip


def _text(path: Path) -> None:
    path.write_text("\ufeff\n" + "".join(f"  {text}\n{'  ' if at % 90 else ''}\n" for at, text in enumerate(TEXTS)))


def _packed(path: Path) -> None:
    pack = gzip.compress if path.suffix == ".gz" else lzma.compress
    path.write_bytes(pack("\r\n".join(TEXTS).encode()))


def _objects(path: Path, objects: list[dict] = JSON) -> None:
    written = "\n\n".join(map(json.dumps, objects)).encode()
    path.write_bytes(gzip.compress(written) if path.suffix == ".gz" else written)


def _parquet(path: Path) -> None:
    shown = [text if at % 50 else None for at, text in enumerate(TEXTS)]
    pd.DataFrame({"n": range(500), "text": shown, "name": [f"row {at}" for at in range(500)]}).to_parquet(
        path, row_group_size=70
    )


KINDS = {
    "a.txt": _text,
    "a.txt.gz": _packed,
    "a.TXT.xz": _packed,
    "a.jsonl": _objects,
    "a.jsonl.gz": _objects,
    "marked.jsonl": lambda path: _objects(path, MARKED),
    "a.conllu": lambda path: treebank(path, 500),
    "a.parquet": _parquet,
}


def columns(examples: Examples) -> dict:
    return dict(examples._columns()) | {"name": examples.name, "notes": examples.notes}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("shards", [1, 3, 40])
def test_shards_are_what_the_whole_has_there(name, shards, tmp_path):
    KINDS[name](tmp_path / name)
    source = str(tmp_path / name)
    whole, streamed = read_examples(source), open_streamed(source)
    divided = streamed.divide(16)
    assert divided.texts == len(whole) and len(divided.places) == -(-len(whole) // 16)
    met = 0
    for shard in range(1, shards + 1):
        for first, texts in streamed.read(divided, divided.windows(shard, shards)):
            assert first == met
            expected = columns(whole.take(range(first, min(first + 16, len(whole)))))
            assert columns(texts) == expected
            met += len(texts)
    assert met == len(whole)
    root = streamed_root(source)
    assert (root.kind, root.options) == ("examples", {}) and Path(root.source).is_absolute()


def test_a_division_is_stored(tmp_path):
    _text(tmp_path / "a.txt")
    divided = open_streamed(str(tmp_path / "a.txt")).divide(16)
    divided.save(tmp_path / "kept")
    again = Division.load(tmp_path / "kept")
    np.testing.assert_array_equal(again.places, divided.places)
    assert again.__dict__ | {"places": 0} == divided.__dict__ | {"places": 0}


def test_windows_are_shared_evenly():
    divided = Division(10 * 7, 7, np.zeros((10, 3), np.int64), "", (), False, (), False, False)
    for of in (1, 2, 3, 7, 10, 13):
        shared = [divided.windows(shard, of) for shard in range(1, of + 1)]
        assert [window for one in shared for window in one] == list(range(10))
        assert max(map(len, shared)) - min(map(len, shared)) <= 1


def test_columns_of_parquet_can_be_named(tmp_path):
    _parquet(tmp_path / "a.parquet")
    found = read_examples(str(tmp_path / "a.parquet"), text="name", id="n")
    assert found.text[:2] == ("row 0", "row 1") and found.ids[:2] == ("0", "1") and len(found) == 500
    pairs = pd.DataFrame({"sentence1": ["a", "b"], "sentence2": ["c", "d"]})
    pairs.to_parquet(tmp_path / "pairs.parquet")
    assert read_examples(str(tmp_path / "pairs.parquet")).pair == ("c", "d")


def test_files_of_one_name_are_told_apart(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text("text\n")
    found = read_examples(str(tmp_path / "*" / "a.txt"))
    assert found.ids == ("one/a.txt:1", "two/a.txt:1") and found.name == "a.txt"
    assert is_pattern(tmp_path / "*") and not is_pattern(tmp_path / "one")


def test_what_is_malformed_is_refused_or_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one"}\n{"text": 2}\n{"text": "three"}\n')
    with pytest.raises(UserError, match=r"a\.jsonl, line 2: text must be text"):
        open_streamed(str(path)).divide(2)
    streamed = open_streamed(str(path), skip_bad=True)
    divided = streamed.divide(1)
    whole = read_examples(str(path), skip_bad=True)
    assert divided.notes == whole.notes and "1 of 3 sentences are malformed" in divided.notes[0]
    ((first, texts),) = streamed.read(divided, range(1, 2))
    assert (first, texts.text, texts.ids) == (1, ("three",), ("a.jsonl:3",))


@pytest.mark.parametrize(
    ("files", "source", "said"),
    [
        ({"a.txt": "\n\n"}, "a.txt", "a.txt has no text; check that it is the right file"),
        ({"a.txt": "a", "b.jsonl": '{"text": "b"}'}, "*", "give files of one kind of .*, not of .jsonl, .txt"),
        ({"a.csv": "a"}, "*.csv", "give files of one kind of .*, not of .csv"),
        ({"a.jsonl": '{"text": "a"}', "b.jsonl": '{"text": "b", "text_pair": "c"}'}, "*.jsonl",
         "b.jsonl, line 1: not like .*a.jsonl, line 1: give a second text"),
        ({"a.txt": "x" * (1 << 20) + "y\n"}, "a.txt", "line 1: over 1 MiB long"),
        ({"a.txt": "a"}, "a.txt --split train", "has no splits"),
    ],
)  # fmt: skip
def test_mistakes(files, source, said, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    source, _, split = source.partition(" --split ")
    with pytest.raises(UserError, match=said):
        streamed = open_streamed(str(tmp_path / source))
        streamed.examples_root(split or "test")
        streamed.divide(2)


def test_damaged_files_are_one_line(tmp_path):
    whole = gzip.compress("\n".join(TEXTS).encode())
    (tmp_path / "a.txt.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="the packed data is damaged"):
        open_streamed(str(tmp_path / "a.txt.gz")).divide(2)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UserError, match="can't be read as Parquet"):
        open_streamed(str(tmp_path / "a.parquet"))
