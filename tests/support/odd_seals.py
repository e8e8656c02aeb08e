"""Seals that a model folder may come to have, by damage or on purpose, and what is said of each. One that is another
tool's says nothing of the model."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertscope.core.seal import FILE, Seal
from folder_changes import TOO_DEEP, Change, holds, replaced, truncated, without, write
from odd_configs import SAME
from small_model_folders import edit

_REFUSED = r"isn't as bertscope wrote it: seal\.json"
_CHANGED = "isn't as bertscope wrote it: "
_NO_SEAL = f"{SAME}|seal.json"
"""What is no file can't be ours: it may be passed over, or refused, but never waited for."""
_SIZED = (1, "0" * 64)


def _record(change: Callable[[dict[str, Any]], object]) -> Change:
    """The seal's record changed, and its digest left as it was."""

    def rewrite(folder: Path) -> None:
        record = json.loads((folder / FILE).read_text())
        change(record)
        write(folder / FILE, json.dumps(record))

    return rewrite


def _sealed_anew(growing: tuple[str, ...] = (), **more: tuple[int, str]) -> Change:
    """A seal that is true to itself, as whoever can write the folder can make one: with `more` files."""

    def rewrite(folder: Path) -> None:
        record = json.loads((folder / FILE).read_text())
        files = {name: (size, digest) for name, (size, digest) in record["files"].items()}
        write(folder / FILE, Seal("model", files | more, growing).text())

    return rewrite


def _first_size(text: str) -> Change:
    """Another text in the place of the first file's size."""

    def rewrite(folder: Path) -> None:
        raw = (folder / FILE).read_text()
        size, _ = json.loads(raw)["files"]["config.json"]
        assert f" {size}," in raw
        write(folder / FILE, raw.replace(f" {size},", f" {text},", 1))

    return rewrite


def _every_file(value: Any) -> Change:
    return _record(lambda record: record.update(files=dict.fromkeys(record["files"], value)))


SEALS: dict[str, tuple[Change, str]] = {
    "as it is": (lambda folder: None, SAME),
    "gone": (without(FILE), SAME),
    "another tool's": (holds(FILE, '{"wax": "red"}'), SAME),
    "another tool's list": (holds(FILE, "[1]"), _NO_SEAL),
    "null": (holds(FILE, "null"), _NO_SEAL),
    "a pipe": (replaced(FILE, os.mkfifo), _NO_SEAL),
    "a folder": (replaced(FILE, Path.mkdir), _NO_SEAL),
    "/dev/zero": (replaced(FILE, lambda path: path.symlink_to("/dev/zero")), _NO_SEAL),
    "/dev/null": (replaced(FILE, lambda path: path.symlink_to("/dev/null")), _NO_SEAL),
    "a loop": (replaced(FILE, lambda path: path.symlink_to(path)), _NO_SEAL),
    "leads nowhere": (replaced(FILE, lambda path: path.symlink_to("/no/such")), _NO_SEAL),
    "empty": (holds(FILE, ""), _REFUSED),
    "cut": (truncated(FILE, 0.5), _REFUSED),
    "of NUL": (holds(FILE, bytes(200)), _REFUSED),
    "of bytes": (holds(FILE, bytes(range(256))), _REFUSED),
    "too deep": (holds(FILE, TOO_DEEP), _REFUSED),
    "growing a number": (lambda folder: edit(folder / FILE, growing=[5]), _REFUSED),
    "growing null": (lambda folder: edit(folder / FILE, growing=None), _REFUSED),
    "growing a text": (lambda folder: edit(folder / FILE, growing="ab"), _REFUSED),
    "of a number": (lambda folder: edit(folder / FILE, of=5), _REFUSED),
    "of a list": (lambda folder: edit(folder / FILE, of=["model"]), _REFUSED),
    "of nothing": (_record(lambda record: record.pop("of")), _REFUSED),
    "without its digest": (_record(lambda record: record.pop("seal")), _REFUSED),
    "files a list": (lambda folder: edit(folder / FILE, files=[1]), _REFUSED),
    "files null": (lambda folder: edit(folder / FILE, files=None), _REFUSED),
    "files that are numbers": (_every_file(5), _REFUSED),
    "files that are null": (_every_file(None), _REFUSED),
    "files of three facts": (_every_file([1, "a", 2]), _REFUSED),
    "a file more": (_record(lambda record: record["files"].update({"tokenizer_x": _SIZED})), _REFUSED),
    "NUL in a name": (_record(lambda record: record["files"].update({"tokenizer\0": _SIZED})), _REFUSED),
    "half a character in a name": (
        _record(lambda record: record["files"].update({"tokenizer\ud800": _SIZED})), _REFUSED),
    "a line's end in a name": (
        _record(lambda record: record["files"].update({"tokenizer\n\x1b[2J": _SIZED})), _REFUSED),
    "a size of 1e999": (_first_size("1e999"), _REFUSED),
    "a size of NaN": (_first_size("NaN"), _REFUSED),
    "a size of 5,000 digits": (_first_size("9" * 5000), _REFUSED),
    "a size that is a text": (_first_size('"7"'), _REFUSED),
    "sealed anew": (_sealed_anew(), SAME),
    "sealed anew with NUL in a name": (_sealed_anew(**{"tokenizer\0": _SIZED}), _CHANGED),
    "sealed anew with a long name": (_sealed_anew(**{"tokenizer" + "x" * 300: _SIZED}), _CHANGED),
    "sealed anew with a file that isn't there": (_sealed_anew(tokenizer_x=_SIZED), "tokenizer_x is missing"),
    "sealed anew with what isn't written yet": (_sealed_anew(("x.txt",)), "x.txt is missing"),
    "sealed anew with a long name of what isn't written yet": (
        _sealed_anew(("x" * 100_000,)), "x is missing|x... is missing"),
    "sealed anew with a name that is longer than a path": (
        _sealed_anew(**{"tokenizer/" + "x/" * 50_000 + "x": _SIZED}), _CHANGED),
    "sealed anew with NUL in what is written": (_sealed_anew(("x\0",)), _CHANGED),
    "sealed anew with a pipe": (
        lambda folder: (os.mkfifo(folder / "tokenizer_x"), _sealed_anew(tokenizer_x=(0, "0" * 64))(folder)),
        "tokenizer_x is a pipe|tokenizer_x"),
}  # fmt: skip
