"""Files of every kind that is read, changed at random, and what became of reading them: the fuzzer of the data.

    python tests/support/data_mutants.py READER FIRST COUNT FOLDER

reads so many mutants, with two gigabytes of memory, and prints the counts as JSON. A mutant is known by its reader
and its number. No torch is needed.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import random
import re
import resource
import signal
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.own_labels import labels_root, read_labels
from bertscope.core.errors import UserError
from bertscope.data.corpus import data_root, examples_root, read_data, read_examples
from bertscope.data.penn import read_brackets
from bertscope.data.read import read_task, task_root
from bertscope.study.file import read_study
from framenet_files import FILES, FULL
from linked_rows import PAIR, TEXT, WORDS
from treebank_files import DP, HARD, MRG, PLAIN

MEMORY = 2 << 30
SECONDS = 20
"""What one file may take, on a busy machine."""
READY = Path(read_study.__code__.co_filename).parent / "ready"


@dataclass(frozen=True)
class Reader:
    """What is given to whom, and which of its files is changed."""

    given: str
    """The file or folder, in the folder of the files."""
    files: Mapping[str, bytes]
    changed: str
    read: Callable[[Path, random.Random], Any]
    pack: Callable[[bytes], bytes] = bytes
    """From the changed content to the file."""


def _data(path: Path, chance: random.Random) -> None:
    """Every way to a source, some with options."""
    options: dict[str, Any] = {"skip_bad": chance.random() < 0.4}
    if chance.random() < 0.3:
        options["limit"] = 5
    if chance.random() < 0.1:
        options["kind"] = chance.choice(["classification", "regression", "spans", "trees"])
    ways = [(data_root, read_data), (task_root, read_task), (examples_root, read_examples)]
    root, read = chance.choices(ways, [4, 1, 1])[0]
    root(path, **options)
    assert read(path, **options) is not None


def _study(path: Path, chance: random.Random) -> None:
    assert read_study(path).steps


def _labels(path: Path, chance: random.Random) -> None:
    labels_root(path)
    assert len(read_labels(path).classes) == len(read_labels(path).labels)


def _rows() -> list[dict[str, Any]]:
    return [{"text": f"some text, {i}", "label": "ab"[i % 2], "n": i} for i in range(24)]


def _table(mark: str, rows: list[dict[str, Any]]) -> bytes:
    quoted = '"{}"' if mark == "," else "{}"
    lines = [mark.join(rows[0]), *(mark.join(quoted.format(cell) for cell in row.values()) for row in rows)]
    return "\n".join(lines).encode()


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


def _zipped(files: Mapping[str, str | bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def _squad() -> bytes:
    def paragraph(i: int) -> dict[str, Any]:
        question = {"id": str(i), "question": "Why?", "answers": [{"text": "tired", "answer_start": 19}]}
        return {"context": f"Anna left. She was tired {i}.", "qas": [question]}

    articles = [{"title": "t", "paragraphs": [*map(paragraph, range(12))]}]
    return json.dumps({"version": "1.1", "data": articles}).encode()


def _own_labels() -> bytes:
    about = {"labels_of_maps": 1, "model": "m", "content": "c", "model_name": "n", "data_name": "d", "texts": "t"}
    maps = [{"text": f"test:{i}", "layer": 1, "head": i + 1, "label": CLASSES[i % len(CLASSES)]} for i in range(8)]
    return _jsonl([about | {"seed": 0}, *maps])


_TREES = "\n\n".join([(PLAIN + HARD).strip()] * 6).encode()
_RTE = [{"index": i, "sentence1": f"a {i}", "sentence2": f"b {i}", "label": "not_entailment"[4 * (i % 2) :]}
        for i in range(24)]  # fmt: skip
_WORDS = {"s1": [b"one"] * 12, "s2": [b"two"] * 12, "labels": [b"neutral", b"entailment"] * 6}
_SNLI = {f"snli/{name}.{split}": b"\n".join(words) for split in ("train", "dev", "test")
         for name, words in _WORDS.items()}  # fmt: skip
_XML = "fndata-1.7/fulltext/a__b.xml"


def _one(name: str, content: bytes, pack: Callable[[bytes], bytes] = bytes, read: Any = _data) -> Reader:
    return Reader(name, {name: content}, name, read, pack)


def _in_folder(given: str, files: Mapping[str, bytes], changed: str, read: Any = _data) -> Reader:
    return Reader(given, files, changed, read)


def readers() -> dict[str, Reader]:
    """By name, each with a file that is good."""
    rows, frames = _rows(), {name: content.encode() for name, content in FILES.items()}
    return {
        "csv": _one("x.csv", _table(",", rows)),
        "tsv": _one("x.tsv", _table("\t", rows)),
        "jsonl": _one("x.jsonl", _jsonl(rows)),
        "parquet": _one("x.parquet", _parquet(rows)),
        "squad": _one("x.json", _squad()),
        "text": _one("x.txt", b"One.\n\nTwo \xc3\xa9.\n" * 6),
        "gz": _one("x.txt.gz", gzip.compress(b"One.\n\nTwo.\n" * 6, mtime=0)),
        "xz": _one("x.conllu.xz", lzma.compress(_TREES)),
        "text in gz": _one("x.txt.gz", b"One.\n\nTwo \xc3\xa9.\n" * 6, lambda raw: gzip.compress(raw, mtime=0)),
        "conllu": _one("x.conllu", _TREES),
        "annotation": _one("x.jsonl", _jsonl([WORDS, TEXT] * 3)),
        "pairs": _one("x.jsonl", _jsonl([{key: PAIR[key] for key in PAIR if key != "label"}] * 12)),
        "zip of trees": _one("x.zip", _zipped({"a.conllu": _TREES, "b/c.conllu": PLAIN})),
        "trees in zip": _one("x.zip", _TREES, lambda raw: _zipped({"a.conllu": raw})),
        "penn": _in_folder("f", {"f/a.dp": b"\n".join([DP.encode()] * 6), "f/b.dp": DP.encode()}, "f/a.dp"),
        "brackets": _one("x.zip", MRG.encode(), lambda raw: _zipped({"a.mrg": raw}), lambda at, _: read_brackets(at)),
        "framenet": _in_folder("fn", {f"fn/{name}": raw for name, raw in frames.items()}, f"fn/{_XML}"),
        "frames in zip": _one("x.zip", FULL.encode(), lambda raw: _zipped(frames | {_XML: raw})),
        "zip of frames": _one("x.zip", _zipped(frames)),
        "splits": _in_folder("f", {f"f/{split}.csv": _table(",", rows) for split in ("train", "dev", "test")},
                             "f/test.csv"),
        "glue": _in_folder("RTE", {f"RTE/{split}.tsv": _table("\t", _RTE) for split in ("train", "dev")},
                           "RTE/train.tsv"),
        "aligned": _in_folder("snli", _SNLI, "snli/labels.train"),
        "study": _one("x.yaml", (READY / "demo.yaml").read_bytes(), read=_study),
        "labels": _one("x.jsonl", _own_labels(), read=_labels),
    }  # fmt: skip


_MARKS = b"\n\r\t\0\x1b0-()\"'<{}[]_,:&*"
TELLING = [b"", *(bytes([mark]) for mark in _MARKS), b"-1", b"1.5", b"&a ", b"*a", b"!!int abc", b"null", b"true",
           b"NaN", b"1e999", b"9" * 5000, b"[" * 3000, b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800",
           b"\xe2\x80\xa8", b"<!DOCTYPE a>", b"&#0;"]  # fmt: skip
_PIECES = re.compile(rb'"[^"\n]*"|[\w.+-]+|[^\w\s]|\s+')


def mutant(content: bytes, chance: random.Random) -> bytes:
    """The content with one to four changes, of bytes or of its parts: lines, words, quoted texts, numbers."""
    for _ in range(chance.randint(1, 4)):
        content = chance.choice([_bit, _cut, _copied, _put, _lines, _piece])(content, chance)
    return content


def _span(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice([1, 4, 40, 10_000]))


def _bit(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(max(1, len(content)))
    return content[:at] + bytes(byte ^ 1 << chance.randrange(8) for byte in content[at : at + 1]) + content[at + 1 :]


def _cut(content: bytes, chance: random.Random) -> bytes:
    start, end = _span(content, chance)
    return content[:start] + content[end:]


def _copied(content: bytes, chance: random.Random) -> bytes:
    (start, end), at = _span(content, chance), chance.randrange(len(content) + 1)
    return content[:at] + content[start:end] * chance.choice([1, 1, 3]) + content[at:]


def _put(content: bytes, chance: random.Random) -> bytes:
    start, end = _span(content, chance)
    other = chance.choice([chance.choice(TELLING), chance.randbytes(4)])
    return content[:start] + other + content[min(end, start + 4) :]


def _lines(content: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[at], lines[other] = lines[other], chance.choice([lines[at], lines[other], b""])
    return b"\n".join(lines)


def _piece(content: bytes, chance: random.Random) -> bytes:
    pieces = _PIECES.findall(content) or [b""]
    at = chance.randrange(len(pieces))
    pieces[at] = chance.choice([*TELLING, pieces[chance.randrange(len(pieces))]])
    return b"".join(pieces)


class _TooSlow(Exception):
    pass


@contextmanager
def _in_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlow

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)


def outcome(name: str, reader: Reader, number: int, folder: Path) -> str:
    """What became of a mutant: it was opened, refused with one clear line, or what went wrong. Number 0 is the good
    file."""
    chance = random.Random(f"{name} {number}")
    for path, content in reader.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        raw = mutant(content, chance) if number and path == reader.changed else content
        (folder / path).write_bytes(reader.pack(raw) if path == reader.changed else raw)
    try:
        with _in_time():
            reader.read(folder / reader.given, chance)
    except UserError as error:
        clear = str(error).isprintable() and len(str(error)) < 800
        return "refused" if clear else f"not one clear line: {str(error)[:900]!r}"
    except (Exception, RecursionError) as error:
        return f"{type(error).__name__}: {error}"[:300]
    return "opened"


def tried(name: str, first: int, count: int, folder: Path) -> dict[str, Any]:
    """The counts of outcomes, and the numbers of the mutants that were neither opened nor refused."""
    reader, counts, wrong, slowest = readers()[name], Counter[str](), dict[int, str](), 0.0
    for number in range(first, first + count):
        began = time.perf_counter()
        found = outcome(name, reader, number, folder)
        slowest = max(slowest, time.perf_counter() - began)
        if found in ("opened", "refused"):
            counts[found] += 1
        else:
            wrong[number] = found
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {"reader": name, **counts, "wrong": wrong, "slowest_s": round(slowest, 2), "peak_mb": peak}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(json.dumps(tried(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
