"""Minimal pairs in files: a table with a column for each side, or a folder or zip of such tables, as BLiMP is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.step import Root
from bertscope.data.bad_rows import BadRows
from bertscope.data.packed_files import Collection, decoded, files_of, is_collection
from bertscope.data.pair_options import PairOptions
from bertscope.data.plain_files import digest_plain, explained
from bertscope.data.sentences import told_apart
from bertscope.data.sheet import usable
from bertscope.data.table import Table, other_separator, shown, stem_of
from bertscope.data.table_files import read_json_lines, read_table

_SIDES = (("clean", "corrupted"), ("good", "bad"), ("sentence_good", "sentence_bad"))
_PHENOMENA = ("phenomenon", "linguistics_term", "UID")
_BLIMP = {"sentence_good", "sentence_bad", "UID"}
"""Columns by which BLiMP's files are known: a few of their pairs are the same text twice, and are left out."""
_SAME = "both texts the same"
_LINES = ".jsonl"


class _Columns(NamedTuple):
    clean: str
    corrupted: str
    clean_pair: str | None
    corrupted_pair: str | None
    phenomenon: str | None
    """None: pairs are about what their file is called."""


Found = tuple[Examples, Examples, tuple[str, ...], tuple[str, ...]]
"""Both sides, what each pair is about, and notes."""


def root(path: Path, options: Mapping[str, Any]) -> Root:
    """The identity of the pairs that lie there."""
    path = path.absolute()
    with explained(path):
        return Root("pairs", str(path), digest_plain(files_of(path)), options)


def read(path: Path, options: PairOptions) -> Found:
    """The pairs of a file, or of all that a folder or zip holds."""
    bad = BadRows(skip=options.skip_bad, few=options.limit is not None)
    return of_tables(_tables(path, bad), options, bad, stem_of(path))


def _tables(path: Path, bad: BadRows) -> list[Table]:
    if not (path.exists() and is_collection(path)):
        return [read_table(path, bad)]
    with Collection(path) as files:
        # A Mac's own notes on files lie beside them in some zips.
        names = [name for name in files.ending(_LINES) if not PurePosixPath(name).name.startswith(".")]
        if not names:
            raise UserError(f"{path} has no {_LINES} files; give a folder or zip that holds some, or one file")
        found = []
        for name in names:
            where = Path(files.where(name)) if path.is_dir() else path / name
            found.append(read_json_lines(where, decoded(files.read(name), files.where(name)), bad))
        return found


def of_tables(tables: Sequence[Table], options: PairOptions, bad: BadRows, name: str) -> Found:
    """The pairs of all these tables; `name` is what they are about if nothing says it."""
    several = len(tables) > 1
    columns = _columns(tables[0], options)
    ids, phenomena = list[str](), list[str]()
    sides: tuple[list[str], ...] = ([], [], [], [])
    for table in tables:
        if several and table.header != tables[0].header:
            before, columns = columns, _columns(table, options)
            if (before.clean_pair is None) != (columns.clean_pair is None):
                only = table.path if columns.clean_pair else tables[0].path
                raise UserError(f"{only} has second texts, and other files beside it have none; give them apart")
        own = BadRows(skip=bad.skip, expected=(_SAME,) if set(table.header) >= _BLIMP else (), few=bad.few)
        rows, cells, about = _pairs(table, columns, own)
        bad.counts += own.counts
        bad.not_held += own.not_held
        ids += table.ids(rows.tolist())
        phenomena += about or [stem_of(table.path) if several else name] * len(rows)
        for side, texts in zip(sides, cells, strict=True):
            side += texts
    if not ids:
        raise UserError(f"{tables[0].path} has no pair that can be used; mend it or give another")
    seconds = [tuple(side) if columns.clean_pair else None for side in sides[2:]]
    named = told_apart(ids)  # files of several folders may be called alike
    clean, corrupted = (Examples(named, tuple(sides[at]), seconds[at]) for at in (0, 1))
    return clean, corrupted, tuple(phenomena), (*bad.notes(), *_guessed(columns, options))


def _pairs(table: Table, columns: _Columns, bad: BadRows) -> tuple[np.ndarray, list[list[str]], list[str]]:
    """The rows of one table that can be used, their four columns of texts, and what each is about."""
    roles = [(columns.clean, "--clean", "text"), (columns.corrupted, "--corrupted", "text")]
    if columns.clean_pair is not None and columns.corrupted_pair is not None:
        roles += [(columns.clean_pair, "--clean-pair", "text"), (columns.corrupted_pair, "--corrupted-pair", "text")]
    if columns.phenomenon is not None:
        roles.append((columns.phenomenon, "--phenomenon", "phenomenon"))
    at, kept = usable(table, roles, bad)
    about = kept.pop() if columns.phenomenon is not None else ()
    seconds = kept[2:] or [("",) * len(at)] * 2
    four = [*kept[:2], *seconds]
    same = np.array([row[0] == row[1] and row[2] == row[3] for row in zip(*four, strict=True)], dtype=bool)
    if same.any():
        first = int(np.flatnonzero(same)[0])
        told = f"{columns.clean!r} and {columns.corrupted!r} are the same ({shown(four[0][first])})"
        bad.refuse(_SAME, f"{table.place(int(at[first]))}: {told}; remove such rows", int(same.sum()))
    left = np.flatnonzero(~same)
    return at[left], [[column[i] for i in left] for column in four], [about[i] for i in left] if about else []


def _columns(table: Table, options: PairOptions) -> _Columns:
    """Those that are named, the others guessed."""
    header = table.header
    sides = next((sides for sides in _SIDES if {*sides} <= {*header}), None)
    if options.clean is not None and options.corrupted is not None:
        sides = (options.clean, options.corrupted)
    if sides is None:
        known = ", or ".join(" and ".join(sides) for sides in _SIDES)
        cure = other_separator(header) or "name them with --clean and --corrupted"
        raise UserError(f"{table.path}: no columns look like pairs ({known}); {cure} (it has: {table.columns})")
    seconds: tuple[str | None, str | None] = options.clean_pair, options.corrupted_pair or options.clean_pair
    beside = tuple(f"{side}_pair" for side in sides)
    if options.clean_pair is None and {*beside} <= {*header}:
        seconds = beside[0], beside[1]
    phenomenon = options.phenomenon or next((name for name in _PHENOMENA if name in header), None)
    named = [*sides, phenomenon, *dict.fromkeys(seconds)]
    for name in named:
        if name is not None and named.count(name) > 1:
            raise UserError(f"{table.path}: {name!r} is named for two things; name two columns of {table.columns}")
    return _Columns(*sides, *seconds, phenomenon)


def _guessed(columns: _Columns, options: PairOptions) -> tuple[str, ...]:
    roles = [role for role in _Columns._fields if getattr(options, role) is None and getattr(columns, role)]
    if not roles:
        return ()
    listed = ", ".join(f"{role}={getattr(columns, role)!r}" for role in roles)
    *flags, last = (f"--{role.replace('_', '-')}" for role in roles)
    return (f"columns guessed: {listed}; name them with {', '.join(flags)}{' and ' * bool(flags)}{last}",)
