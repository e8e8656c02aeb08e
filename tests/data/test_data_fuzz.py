"""Any bytes give examples or one clear line, whatever the reader."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import data_mutants
from bertscope.core.errors import UserError
from bertscope.data.frames import read_frames
from bertscope.data.penn import read_brackets
from bertscope.data.relations import read_relations
from bertscope.data.text import read_text
from bertscope.data.treebank import read_treebank
from framenet_files import EVERY, FILES, FULL
from linked_rows import PAIR, TEXT, WORDS
from treebank_files import DP, HARD, MRG, PLAIN


def zipped(files) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def every_frame(path):
    return read_frames(path, **EVERY)


XML = "fndata-1.7/fulltext/a__b.xml"
JSONL = f"{json.dumps(WORDS)}\n{json.dumps(TEXT)}"
# The reader, the file's name, what is in it, and how the changed content is packed.
CASES = {
    "conllu": (read_treebank, "t.conllu", PLAIN + HARD, None),
    "dependencies": (read_treebank, "t.zip", DP, lambda raw: zipped({"a.dp": raw})),
    "brackets": (read_brackets, "t.zip", MRG, lambda raw: zipped({"a.mrg": raw})),
    "frames": (every_frame, "t.zip", FULL, lambda raw: zipped(FILES | {XML: raw})),
    "relations": (read_relations, "t.jsonl", JSONL, None),
    "annotated pairs": (read_relations, "t.jsonl", json.dumps(PAIR), None),
    "text": (read_text, "t.txt", "One.\n\nTwo é.", None),
    "packed text": (read_text, "t.txt.gz", "\x1f\x8b\x08\x00", None),
    "zip of trees": (read_relations, "t.zip", zipped({"a.conllu": PLAIN}), None),
    "zip of frames": (read_relations, "t.zip", zipped(FILES), None),
}


TELLING = [b"", b"\n", b"\t", b"0", b"-", b"(", b")", b'"', b"<", b"{", b"_"]


@st.composite
def changed(draw, content: bytes):
    """The content with some pieces cut out, doubled or put elsewhere, or with other bytes in it."""
    for _ in range(draw(st.integers(1, 3))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        end = min(end, start + draw(st.sampled_from([1, 4, 40, 10_000])))
        other = draw(st.one_of(st.just(content[start:end] * 2), st.binary(max_size=4), st.sampled_from(TELLING)))
        content = content[:start] + other + content[end:]
    return content


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_give_examples_or_one_clear_line(tmp_path, case, data):
    read, name, content, pack = CASES[case]
    good = content if isinstance(content, bytes) else content.encode()
    raw = data.draw(st.one_of(changed(good), st.binary(max_size=100)))
    path = tmp_path / name
    path.write_bytes(pack(raw) if pack else raw)
    try:
        found = read(path)
    except UserError as error:
        assert str(error).isprintable() and len(str(error)) < 600
    else:
        assert len(found) and all(found.text)
        if found.words is not None:
            assert all(found.words)
            for row, words in enumerate(found.words):
                assert all(len(column[row]) == len(words) for column in found.marks.values())
                assert found.governors is None or len(found.governors[row]) == len(words)
                ends = [at for link in (found.links or {row: ()})[row] for at in link.source + link.target]
                assert all(0 <= at < len(words) for at in ends)


@pytest.mark.parametrize("name", data_mutants.readers())
def test_the_files_that_are_changed_can_be_read_as_they_are(tmp_path, name):
    reader = data_mutants.readers()[name]
    data_mutants.outcome(name, reader, 0, tmp_path)
    reader.read(tmp_path / reader.given, random.Random(0))  # `read_data`, without options


@pytest.mark.parametrize("name", data_mutants.readers())
def test_a_few_mutants_of_every_reader(tmp_path, name):
    assert data_mutants.tried(name, 1, 12, tmp_path)["wrong"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", data_mutants.readers())
def test_five_thousand_mutants_of_all_readers(tmp_path, name):
    """In a process of its own with two gigabytes, each file in some seconds."""
    count = -(-5000 // len(data_mutants.readers()))
    here = Path(data_mutants.__file__)
    command = [sys.executable, str(here), name, "1", str(count), str(tmp_path)]
    paths = os.pathsep.join([str(here.parent), *filter(None, sys.path)])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=os.environ | {"PYTHONPATH": paths}
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["wrong"] == {}
    assert found.get("opened", 0) + found["refused"] == count and found["peak_mb"] < 2048
    print(done.stdout)
