"""`train-patterns --label`: maps are shown and asked for; what was answered is in the file, whatever happens."""

from __future__ import annotations

import base64
import builtins
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.own_labels import Places, read_labels
from bertscope.cli import labelling
from bertscope.cli.labelling import DEFINITIONS, KEYS, ShownMap, drawing
from bertscope.data.corpus import read_examples
from labelling_maps import labelled, saved
from plain_attention import plain_maps


@pytest.fixture
def session(command, model, csv, monkeypatch, tmp_path):
    """Label maps of `tiny` at a terminal: what is typed, or happens; then Ctrl-C, if that is all."""

    def run(
        *typed: str | type[Exception], more: tuple[object, ...] = (), of: object = model, on: object = csv
    ) -> tuple[int, str, str]:
        waiting = iter(typed)

        def answer(prompt: str = "") -> str:
            said = next(waiting, KeyboardInterrupt)
            if not isinstance(said, str):
                raise said
            return said

        monkeypatch.setattr(builtins, "input", answer)
        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
        return command("train-patterns", "--label", of, "--on", on, "--out", "labels.jsonl", *more)

    run.file = tmp_path / "labels.jsonl"
    return run


def said(file) -> list[str]:
    return [one.label for one in read_labels(file).labels]


def test_every_key_is_a_class_and_every_class_is_defined():
    assert list(KEYS)[:5] == list("vdmbh") and [KEYS[str(number)] for number in range(1, 6)] == list(CLASSES)
    assert [KEYS[letter] for letter in "vdmbh"] == list(CLASSES) == list(DEFINITIONS)


def test_answers_go_to_the_file_and_are_asked_for_once(session, tiny, csv):
    code, out, _ = session("v", "D", "3", "?", "what", "b", "u", "h", "q")
    assert code == 0 and said(session.file) == ["vertical", "diagonal", "vertical+diagonal", "heterogeneous"]
    assert "4 of 100 maps are labelled" in out and "run the same command to go on" in out
    assert out.count("roughly uniform within") == 1 and "a letter or a number" in out
    assert "tiny" not in out.split("map 1 of 100")[1].split("4 of 100")[0], "nothing is said of what is labelled"
    examples = read_examples(str(csv))
    drawn = Places.drawn(len(examples), tiny.head_counts, 0, 4)
    for one, row, unit in zip(read_labels(session.file).labels, drawn.rows, drawn.units, strict=True):
        assert (one.text, one.layer, one.head) == (examples.ids[row], unit.layer, unit.number)


def test_an_interrupted_session_goes_on_where_it_was(session):
    code, _, error = session("v", "d")
    assert code == 130 and "run the same command to go on" in error and len(said(session.file)) == 2
    code, out, _ = session("u", "b", "h", more=("--maps", 3))
    assert code == 0 and "map 3 of 3" in out and "map 1 of 3" not in out
    assert said(session.file) == ["vertical", "block", "heterogeneous"], "the last answer of before can be taken back"
    assert "bertscope patterns" in out and "--labels labels.jsonl" in out
    code, out, _ = session("m", more=("--maps", 4))
    assert code == 0 and said(session.file)[-1] == "vertical+diagonal", "there can be more later"


def test_each_answer_is_in_the_file_before_the_next_is_asked_for(session, monkeypatch):
    seen = []
    drawn = labelling.drawing

    def look(shown: ShownMap) -> str:
        seen.append(len(said(session.file)) if session.file.exists() else 0)
        return drawn(shown)

    monkeypatch.setattr(labelling, "drawing", look)
    session("v", "v", "v", more=("--maps", 3))
    assert seen == [0, 1, 2]


def test_the_end_of_the_input_is_a_stop(session):
    code, out, _ = session("v", EOFError)
    assert code == 0 and said(session.file) == ["vertical"] and "run the same command to go on" in out


def test_without_a_terminal_a_finished_file_is_told_and_nothing_else_is_done(command, model, tiny, csv, tmp_path):
    asked = ("train-patterns", "--label", model, "--on", csv, "--out", "labels.jsonl")
    code, _, error = command(*asked)
    assert code == 2 and "run it at a terminal" in error and error.count("\n") == 1
    assert not (tmp_path / "labels.jsonl").exists()
    labels = labelled(tiny, read_examples(str(csv)), lambda row, unit: "block", count=100)
    saved(labels, tmp_path / "labels.jsonl")
    code, out, _ = command(*asked)
    assert code == 0 and "block" in out and "bertscope patterns" in out


def test_patterns_reads_the_labels(command, model, tiny, csv, tmp_path):
    labels = labelled(tiny, read_examples(str(csv)), lambda row, unit: "block", count=40)
    saved(labels, tmp_path / "labels.jsonl")
    told = ("patterns", model, "--on", csv, "--repeats", 100, "--json")
    code, out, _ = command(*told, "--labels", "labels.jsonl")
    first = {number["key"]: number["value"] for number in json.loads(out)["numbers"]}
    assert code == 0 and first["block"] > 0.9
    _, out, _ = command(*told)
    assert {number["key"]: number["value"] for number in json.loads(out)["numbers"]}["block"] < 0.9
    code, out, _ = command("ls")
    assert "labels none" in " ".join(out.split())
    (tmp_path / "labels.jsonl").write_text("nothing")
    code, _, error = command(*told, "--labels", "labels.jsonl")
    assert code == 2 and "isn't a file of labelled maps" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "cure"),
    [
        (("--label", "pocket"), "needs --on DATA and --out FILE"),
        (("--label", "pocket", "folder", "--on", "demo/corpus", "--out", "x"), "leave out folder"),
        (("--label", "pocket", "--on", "demo/corpus", "--out", "x", "--maps", "0"), "give 1 or more maps"),
        (("--on", "demo/corpus"), "name a folder of labelled maps to train on, or label maps"),
        (("folder", "--on", "demo/corpus"), "--on goes with --label"),
    ],
)
def test_mistakes_are_one_line(command, words, cure):
    code, _, error = command("train-patterns", *words)
    assert code == 2 and cure in error and error.count("\n") == 1


def test_a_file_of_something_else_is_left_alone(session, tmp_path, csv, pocket):
    session("v", "q")
    before = session.file.read_bytes()
    for wrong, cure in (
        ({"of": pocket.save(tmp_path / "pocket")}, "name that model"),
        ({"more": ("--limit", 9)}, "these are other texts"),
        ({"more": ("--seed", 3)}, "was drawn with --seed 0"),
    ):
        code, _, error = session("v", **wrong)
        assert code == 2 and cure in error and error.count("\n") == 1 and session.file.read_bytes() == before
    session.file.write_text("my own notes")
    code, _, error = session("v")
    assert code == 2 and "isn't a file of labelled maps" in error and session.file.read_text() == "my own notes"


def test_a_drawing_shows_columns_bands_and_where_the_texts_are(monkeypatch):
    tokens = np.array([2, 0, 0, 2, 1, 2])
    column = drawing(ShownMap(np.tile(np.eye(6)[3], (6, 1)), tokens)).splitlines()
    assert column[0] == "  SS----SS::SS" and [row[0] for row in column[1:]] == list("S--S:S")
    assert all(row[2:] == "      ██    " for row in column[1:])
    band = drawing(ShownMap(np.eye(6), tokens)).splitlines()
    assert [row.index("█") for row in band[1:]] == [2, 4, 6, 8, 10, 12]
    monkeypatch.setattr(labelling, "_can_print", lambda text: False)
    assert "##" in drawing(ShownMap(np.eye(6), tokens)) and drawing(ShownMap(np.eye(6), tokens)).isascii()


@pytest.mark.parametrize("n", [3, 38, 39, 128, 511])
def test_a_drawing_is_at_most_eighty_columns_wide_however_long_the_text(n):
    tokens = np.zeros(n, int)
    tokens[[0, -1]] = 2
    shown = drawing(ShownMap(np.full((n, n), 1 / n), tokens)).splitlines()
    assert max(map(len, shown)) <= 80 and len(shown) == min(n, 38) + 1
    assert len({row[2:] for row in shown[1:]}) == 1, "a uniform map is even, whatever cells are put together"
    last = drawing(ShownMap(np.tile(np.eye(n)[-1], (n, 1)), tokens)).splitlines()
    assert all(row.endswith("██") and row[2:-2].strip() == "" for row in last[1:]), "a single column is not lost"


def test_the_page_has_every_map_as_it_is(session, tiny, csv, tmp_path):
    session("q", more=("--maps", 5))
    page = (tmp_path / "labels.jsonl.html").read_text("utf-8")
    pictures = re.findall(r"base64,([^\"]+)\"", page)
    assert len(pictures) == 10 and all(f"map {number}<" in page for number in range(1, 6))
    examples = read_examples(str(csv))
    drawn = Places.drawn(len(examples), tiny.head_counts, 0, 5)
    for large, small, row, unit in zip(pictures[::2], pictures[1::2], drawn.rows, drawn.units, strict=True):
        attention = plain_maps(tiny, examples.text[row])[unit.layer_index, unit.index]
        top = min(1, max(np.quantile(attention, 0.99), 4 / len(attention)))
        shade = 255 * np.sqrt(np.clip(attention / top, 0, 1))
        np.testing.assert_allclose(_pixels(base64.b64decode(large))[2:, 2:], shade, atol=1)
        np.testing.assert_allclose(_pixels(base64.b64decode(small)), 255 * attention, atol=1)
    (tmp_path / "labels.jsonl.html").write_text("a page of my own")
    code, _, error = session("v", more=("--maps", 5))
    assert code == 2 and "labels.jsonl.html" in error


def _pixels(png: bytes) -> np.ndarray:
    """The levels of a picture whose rows aren't filtered."""
    width, height = struct.unpack(">II", png[16:24])
    rows = zlib.decompress(png[png.index(b"IDAT") + 4 :])
    return np.frombuffer(rows, np.uint8).reshape(height, width + 1)[:, 1:].astype(float)


@pytest.mark.alone
@pytest.mark.slow
def test_killed_at_a_real_terminal_nothing_is_lost(model, csv, tmp_path):
    out = tmp_path / "labels.jsonl"
    words = [sys.executable, "-m", "bertscope", "train-patterns", "--label", model, "--on", csv, "--out", out]
    mine, theirs = pty.openpty()
    running = subprocess.Popen([*map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    try:
        for number, key in enumerate("vdh", start=1):
            os.write(mine, f"{key}\n".encode())
            _wait_for(lambda number=number: out.exists() and len(said(out)) == number, mine)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
        os.close(mine)
    assert said(out) == ["vertical", "diagonal", "heterogeneous"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("labels")) == [
        "labels.jsonl", "labels.jsonl.html",
    ]  # fmt: skip


def _wait_for(done, terminal: int) -> None:
    """Read what the terminal shows, so that it doesn't fill up, until something is so."""
    os.set_blocking(terminal, False)
    for _ in range(1200):
        if done():
            return
        try:
            os.read(terminal, 2**16)
        except BlockingIOError:
            time.sleep(0.05)
    raise AssertionError("no answer within a minute")
