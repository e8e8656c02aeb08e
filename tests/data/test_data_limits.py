"""Files that are no files, never end, or hold more than they seem to: one line that names the limit, soon, in little
memory."""

from __future__ import annotations

import gzip
import lzma
import os
import resource
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.corpus import data_root, examples_root, read_data, read_examples
from bertscope.data.packed_files import Collection
from bertscope.data.read import read_task, task_root
from corpora import conllu

ROWS = [(f"some text {i}", "ab"[i % 2]) for i in range(40)]
NAMES = (
    "x.csv",
    "x.tsv",
    "x.jsonl",
    "x.json",
    "x.parquet",
    "x.txt",
    "x.txt.gz",
    "x.conllu",
    "x.conllu.xz",
    "x.zip",
    "x",
)


def refused(read, *args, **options) -> str:
    with pytest.raises(UserError) as caught:
        read(*args, **options)
    said = str(caught.value)
    assert said.isprintable() and len(said) < 600
    return said


def everywhere(path):
    """What each way to the file says: when it is planned, and when it is read."""
    for read in (task_root, examples_root, data_root, read_task, read_examples, read_data):
        yield refused(read, path)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_plain_file_is_never_opened(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    assert all("a plain file; give the file itself" in said for said in everywhere(path))
    path.unlink()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        assert all("a plain file; give the file itself" in said for said in everywhere(path))
    path.unlink()
    for device in ("/dev/zero", "/dev/tty"):
        path.symlink_to(device)
        assert all("a plain file; give the file itself" in said for said in everywhere(path))
        path.unlink()


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_system(tmp_path, name):
    path = tmp_path / name
    path.symlink_to("/proc/self/mem")
    for said in everywhere(path):
        assert "x" in said and "Traceback" not in said


@pytest.mark.parametrize("name", NAMES)
def test_links_that_lead_nowhere_and_names_that_are_too_long(tmp_path, name):
    path = tmp_path / name
    path.symlink_to(tmp_path / "gone")
    assert all("no file" in said or "isn't there; mend it" in said for said in everywhere(path))
    path.unlink()
    path.symlink_to(path)
    assert all("x" in said for said in everywhere(path))
    assert all("name too long" in said for said in everywhere(tmp_path / f"{'x' * 300}{name}"))
    assert all(said for said in everywhere(f"{'x/' * 3000}{name}"))


def test_a_folder_that_holds_itself_is_read_once(tmp_path):
    inner = tmp_path / "f" / "inner"
    inner.mkdir(parents=True)
    (inner / "a.conllu").write_text(conllu("a X 0 root"))
    (inner / "again").symlink_to(tmp_path / "f")
    (tmp_path / "f" / "b.conllu").symlink_to("/dev/zero")
    with Collection(tmp_path / "f") as files:
        assert files.names == ["inner/a.conllu"]
    assert len(read_examples(tmp_path / "f")) == 1
    before = examples_root(tmp_path / "f").digest
    (inner / "a.conllu").write_text(conllu("b X 0 root"))
    assert examples_root(tmp_path / "f").digest != before


def test_files_without_number(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_FILES", 3)
    for i in range(4):
        (tmp_path / f"{i}.conllu").write_text("x")
    assert "has over 3 files; give the folder" in refused(read_examples, tmp_path)


def write_csv(path: Path) -> Path:
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    return path


def write_jsonl(path: Path) -> Path:
    path.write_text("".join(f'{{"text": "{text}", "label": "{label}"}}\n' for text, label in ROWS))
    return path


def write_parquet(path: Path) -> Path:
    parquet.write_table(pa.Table.from_pylist([{"text": text, "label": label} for text, label in ROWS]), path)
    return path


@pytest.mark.parametrize(
    ("name", "write"), [("r.csv", write_csv), ("r.jsonl", write_jsonl), ("r.parquet", write_parquet)]
)
def test_more_rows_than_are_held_are_refused_or_thinned_evenly(tmp_path, monkeypatch, name, write):
    path = write(tmp_path / name)
    everything = read_task(path, limit=10)
    monkeypatch.setattr(limits, "MOST_ROWS", 25)
    said = refused(read_task, path)
    assert "has over 25 rows, more than are held in memory at once; use some of it with --limit, or split it" in said
    task = read_task(path, limit=10)
    assert f"{name} has 40 rows, more than are held at once: one in 2 was read" in task.notes
    assert not any("one in" in note for note in everything.notes)
    lines = sorted(
        int(one.partition(":")[2]) for part in (task.train, task.validation, task.test) for one in part.ids
    )
    assert lines[-1] - lines[0] > 25  # spread over the file, though labels take turns in it


def test_more_text_than_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MOST_HELD", 1 << 8)
    for path in (write_csv(tmp_path / "r.csv"), write_jsonl(tmp_path / "r.jsonl")):
        assert "has over 256 bytes, more than are held" in refused(read_task, path)
    assert "'text' has over 256 bytes of text" in refused(read_task, write_parquet(tmp_path / "r.parquet"))
    (tmp_path / "t.txt").write_text("one line of it\n" * 100)
    assert "t.txt has over 256 bytes" in refused(read_examples, tmp_path / "t.txt")
    found = read_examples(tmp_path / "t.txt", limit=5)
    assert len(found) == 5 and "t.txt has 100 lines, more than are held at once: one in 8 was read" in found.notes


@pytest.mark.parametrize(("name", "pack"), [("t.txt.gz", gzip.compress), ("t.txt.xz", lzma.compress)])
def test_what_unpacks_to_far_more_than_it_is(tmp_path, monkeypatch, name, pack):
    (tmp_path / name).write_bytes(pack((b"x" * 99 + b"\n") * ((6 << 20) // 100)))
    assert len(read_examples(tmp_path / name, limit=5)) == 5  # 6 MiB are nothing
    monkeypatch.setattr(limits, "UNPACKED_FREELY", 1 << 20)
    if name.endswith("gz"):  # which makes 294 times of it
        assert len(read_examples(tmp_path / name)) > 60_000
        monkeypatch.setattr(limits, "MOST_TIMES_UNPACKED", 200)
    bound = f"to over {limits.MOST_TIMES_UNPACKED:,} times its packed size"
    assert f"unpacks to over 1 MiB and {bound}" in refused(read_examples, tmp_path / name)


def test_a_log_that_says_the_same_all_day_is_no_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_FREELY", 1 << 16)
    monkeypatch.setattr(limits, "LINES_UNPACKED_FREELY", 100)
    line = "2026-11-16T{:02}:00:00.000Z INFO scheduler.heartbeat worker is alive and has nothing to do at all; ok"
    log = "\n".join(line.format(at * 24 // 20_000) for at in range(20_000)).encode()
    path = tmp_path / "beats.txt.gz"
    path.write_bytes(gzip.compress(log))
    assert len(log) > 200 * path.stat().st_size
    assert len(read_examples(path)) == 20_000


@pytest.mark.parametrize("name", ["t.txt.gz", "t.txt.xz", "t.zip"])
def test_blank_lines_without_end_take_no_time(tmp_path, monkeypatch, name):
    """They aren't held, so that what is held doesn't bound them."""
    monkeypatch.setattr(limits, "LINES_UNPACKED_FREELY", 1 << 17)
    path, blank = tmp_path / name, b"\n" * (1 << 20)
    if name == "t.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.conllu", blank)
    else:
        path.write_bytes((gzip if name.endswith("gz") else lzma).compress(blank))
    assert "unpacks to over 131,072 lines and to over 20 for each of its bytes" in refused(read_examples, path)


def test_zips_are_counted_as_they_are_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "UNPACKED_FREELY", 1 << 20)
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}.conllu", b"\n" * (2 << 20))
    assert "0.conllu unpacks to over 1 MiB" in refused(read_examples, path)
    raw = path.read_bytes()
    path.write_bytes(raw.replace((2 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little")))  # a header that lies
    assert "damaged" in refused(read_examples, path) or "unpacks to over" in refused(read_examples, path)
    monkeypatch.setattr(limits, "MOST_TIMES_UNPACKED", 10**6)
    monkeypatch.setattr(limits, "MOST_HELD", 3 << 20)
    path.write_bytes(raw)
    assert "has over 3 MiB in its files" in refused(read_examples, path)


BOMBS = """
import gzip, json, os, sys, zipfile
from pathlib import Path
from bertscope.core.errors import UserError
from bertscope.data.corpus import read_data
from bertscope.data.read import read_task
name, made = sys.argv[1], Path(sys.argv[2])
path = made / name
if name == "lines.txt.gz":
    with gzip.open(path, "wb", 1) as file:
        for _ in range(200):
            file.write(b"a b\\n" * 100_000)
elif name == "blank.txt.gz":
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(b"\\n" * 10_000_000)
elif name == "rows.parquet":
    import pyarrow as pa
    from pyarrow import parquet
    table = pa.table({"text": pa.array(["some text"]).take(pa.array([0] * 1_000_000)), "label": ["a"] * 1_000_000})
    with parquet.ParquetWriter(path, table.schema) as file:
        for _ in range(20):
            file.write_table(table)
    del table
elif name == "many.zip":
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(40):
            archive.writestr(f"{number}.conllu", b"\\n" * 100_000_000)
elif name == "sentences.zip":
    word = b"1\\ta\\ta\\tNOUN\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(2):
            archive.writestr(f"{number}.conllu", word * (100_000_000 // len(word)))
elif name == "deep.json":
    path.write_text("[" * 100_000 + "]" * 100_000)
else:
    with path.open("wb") as file:
        file.truncate(500 << 20)
import resource
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[3]) << 20, -1))
try:
    read_data(path)
except UserError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lines.txt.gz", "has over 5,000,000 lines"),
        ("blank.txt.gz", "unpacks to over 10,000,000 lines"),
        ("rows.parquet", "has over 5,000,000 rows"),
        ("many.zip", "unpacks to over"),
        ("sentences.zip", "has over 500,000 sentences"),
        ("deep.json", "deep.json: not JSON; save it again"),
        ("line.csv", "over 10,000,000 characters on one line"),
        ("line.tsv", "over 10,000,000 characters on one line"),
        ("line.jsonl", "over 10,000,000 characters on one line"),
        ("line.json", "has over 256 MiB"),
        ("line.txt", "over 1 MiB long"),
    ],
)
def test_bombs_of_their_full_size(tmp_path, name, said):
    command = [sys.executable, "-c", BOMBS, name, str(tmp_path), "2048"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert said in done.stdout, done.stdout + done.stderr


def test_memory_is_bounded_while_lines_are_too_long(tmp_path):
    """A small one of the above, for every run."""
    path = tmp_path / "line.csv"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "over 10,000,000 characters on one line" in refused(read_task, path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 << 10
