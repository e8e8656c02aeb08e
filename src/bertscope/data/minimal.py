"""Minimal pairs: texts that differ in little, on which something hangs.

demo/minimal              the demo language's: agreement, sentiment, always and never; see language/minimal.py
demo/minimal-entailment   its pairs of sentences whose label hangs on one word
pairs.csv                 a table with columns good and bad, or clean and corrupted, and phenomenon; see pair_files.py
BLiMP.zip, data/          BLiMP's files, packed or not
reviews.csv --swap FILE   ordinary texts, and the same with words exchanged
[("a", "b"), ...]         what Python users hold: tuples, dicts, a DataFrame, a Dataset
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.step import Root
from bertscope.data import demo, pair_files
from bertscope.data.accept import refuse_other, rows_of
from bertscope.data.bad_rows import BadRows
from bertscope.data.corpus import examples_root, read_examples
from bertscope.data.options import showing
from bertscope.data.pair_options import COLUMNS, PairOptions
from bertscope.data.plain_files import explained
from bertscope.data.splits import mixed_order
from bertscope.data.swaps import Swap, swapped, words_of

_OF_TEXTS = ("text", "text_pair", "split", "root", "skip_bad", "seed")
"""Of the options, those that say how ordinary texts are read."""


@dataclass(frozen=True, eq=False)
class MinimalPairs:
    """Pairs of texts that differ in little: a clean, or good, one and a corrupted, or bad, one."""

    name: str
    clean: Examples
    corrupted: Examples
    """Row by row what is set against the clean ones, by the same ids; both have second texts, or neither has."""
    phenomenon: tuple[str, ...]
    """What each pair is about."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how they were read."""

    def __post_init__(self) -> None:
        sizes = (len(self.clean), len(self.corrupted), len(self.phenomenon))
        if len(set(sizes)) > 1:
            told = "{} clean texts, {} corrupted ones and {} phenomena".format(*sizes)
            raise UserError(f"{self.name} has {told}; give as many of each")
        if not len(self):
            raise UserError(f"{self.name} has no pairs; add some")
        if self.clean.ids != self.corrupted.ids:
            raise UserError(f"{self.name}: clean and corrupted texts have different ids; give both of a pair one id")
        if (self.clean.pair is None) != (self.corrupted.pair is None):
            raise UserError(f"{self.name}: only one side has second texts; give them for both, or for neither")
        if same := _same(self.clean, self.corrupted):
            raise UserError(
                f"{self.name}, pair {self.clean.ids[same[0]]}: both texts are the same; remove such pairs"
            )

    def __len__(self) -> int:
        return len(self.phenomenon)

    def __repr__(self) -> str:
        few = ", ".join(self.phenomena) if len(self.phenomena) < 6 else f"{len(self.phenomena)} phenomena"
        return f"<MinimalPairs {self.name}: {len(self):,} pairs of {few}>"

    @property
    def phenomena(self) -> tuple[str, ...]:
        """What there is, in the order of the pairs."""
        return tuple(dict.fromkeys(self.phenomenon))

    @property
    def fingerprint(self) -> str:
        """The digest of all that is held, but for the name and the notes."""
        return digest_text(canonical_json([self.clean.fingerprint, self.corrupted.fingerprint, self.phenomenon]))

    def take(self, indices: Sequence[int] | np.ndarray) -> MinimalPairs:
        """The pairs at these positions, in this order."""
        kept = tuple(self.phenomenon[int(at)] for at in indices)
        return replace(
            self, clean=self.clean.take(indices), corrupted=self.corrupted.take(indices), phenomenon=kept
        )  # fmt: skip


@showing(PairOptions)
def read_pairs(source: Any, **options: Any) -> MinimalPairs:
    """Read minimal pairs from `demo/minimal`, a file or a folder, BLiMP's zip, or what is in memory: a list of tuples
    (clean, corrupted) or of dicts, a DataFrame, a Dataset.

    The columns are guessed unless `clean` and `corrupted` name them. `swap` makes pairs of ordinary texts, by
    exchanging words. `only` keeps some phenomena, `limit` that many pairs, drawn by `seed`.
    """
    asked = PairOptions.of(options)
    return _few(_source(source, asked).read(), asked)


def pairs_root(source: Any, **options: Any) -> Root:
    """The identity of what `read_pairs` would read, by content."""
    return _source(source, PairOptions.of(options)).root()


@dataclass(frozen=True)
class _Source:
    """Something that holds pairs: how they are read, all of them, and what identifies them."""

    read: Callable[[], MinimalPairs]
    root: Callable[[], Root]


def _source(source: Any, options: PairOptions) -> _Source:
    if isinstance(source, MinimalPairs):
        options.refuse(source.name, *COLUMNS, "swap", "text", "text_pair", "root", "split", why="is read already")
        return _held(source, options)
    if options.swap:
        return _exchanged(source, options)
    options.refuse(_called(source), "text", "text_pair", "root", why="is read as pairs, not as texts for --swap")
    if not isinstance(source, str | Path):
        options.refuse(_called(source), "split", why="has no splits")
        return _held(_of_object(source, options), options)
    if str(source).startswith("demo/"):
        return _demo(str(source), options)
    path = Path(source)
    options.refuse(str(source), "split", why="has no splits")
    return _Source(lambda: _of_files(path, options), lambda: pair_files.root(path, options.given()))


def _held(pairs: MinimalPairs, options: PairOptions) -> _Source:
    """What is in memory; how it was read there is no matter any more."""
    given = {name: value for name, value in options.given().items() if name in ("only", "limit", "seed")}
    return _Source(lambda: pairs, lambda: Root("pairs", pairs.name, pairs.fingerprint, given, held=pairs))


def _demo(name: str, options: PairOptions) -> _Source:
    if name not in demo.PAIRED:
        cure = f"name {next(iter(demo.PAIRED))}, or make pairs of its texts with --swap"
        raise UserError(f"{name} holds no pairs; {cure}" if name in demo.NAMES else
                        f"no demo pairs {name!r}; {did_you_mean(name, demo.PAIRED)}")  # fmt: skip
    options.refuse(name, *COLUMNS)

    def read() -> MinimalPairs:
        sides, phenomenon = demo.pairs(name, options.split, options.seed)
        clean, corrupted = (replace(side, name=name) for side in sides)
        return MinimalPairs(name, clean, corrupted, phenomenon, demo.PAIRED[name].notes)

    return _Source(read, lambda: Root("pairs", name, demo.pairs_identity(name), options.given()))


def _of_files(path: Path, options: PairOptions) -> MinimalPairs:
    with explained(path):
        found = pair_files.read(path, options)
    return MinimalPairs(path.absolute().name, *found)


def _of_object(given: Any, options: PairOptions) -> MinimalPairs:
    """Tuples of texts (or of two texts each), or whatever has columns."""
    name = type(given).__name__
    rows = rows_of(given, f"the {name}")
    if rows is not None:
        bad = BadRows(skip=options.skip_bad)
        return MinimalPairs(name, *pair_files.of_tables([rows.table], options, bad, "pairs"))
    if not isinstance(given, list | tuple):
        raise refuse_other(given)
    options.refuse(f"the {name}", *COLUMNS)
    if not given:
        raise UserError(f"the {name} of pairs is empty; give some")
    sides = [_two(one, f"the {name}, pair {row}") for row, one in enumerate(given, start=1)]
    ids = tuple(map(str, range(1, len(sides) + 1)))
    made = []
    for at in (0, 1):
        texts = [side[at] if isinstance(side[at], tuple) else (side[at],) for side in sides]
        if len({len(text) for text in texts}) > 1:
            raise UserError(f"the {name}: some of the pairs have second texts; give them for all, or for none")
        columns = tuple(zip(*texts, strict=True))
        made.append(Examples(ids, columns[0], columns[1] if len(columns) > 1 else None))
    return MinimalPairs("pairs", made[0], made[1], ("pairs",) * len(sides))


def _two(one: Any, where: str) -> tuple[Any, Any]:
    """A pair, each side a text or a tuple of two."""
    if not isinstance(one, list | tuple) or len(one) != 2:
        raise UserError(
            f"{where}: {type(one).__name__} instead of a tuple (clean, corrupted); give two sides of each"
        )
    sides = [tuple(side) if isinstance(side, list | tuple) else side for side in one]
    for text in (text for side in sides for text in (side if isinstance(side, tuple) else (side,))):
        if not isinstance(text, str) or not text.strip():
            what = "nothing" if text is None or text == "" else repr(text) if isinstance(text, str) else _kind(text)
            raise UserError(f"{where}: {what} instead of a text; give texts alone")
    if any(isinstance(side, tuple) and len(side) != 2 for side in sides):
        raise UserError(f"{where}: a side is one text, or a tuple of two")
    return sides[0], sides[1]


def _called(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else type(source).__name__


def _kind(value: Any) -> str:
    return "NaN" if isinstance(value, float) and value != value else type(value).__name__


def _exchanged(source: Any, options: PairOptions) -> _Source:
    """Ordinary texts, and the same with words exchanged."""
    name = _called(source)
    options.refuse(name, *COLUMNS, "only", why="is read with --swap, which makes the pairs")
    words = tuple(words_of(options.swap))
    how = {key: value for key, value in options.given().items() if key in _OF_TEXTS}

    def read() -> MinimalPairs:
        texts = read_examples(source, **how)
        at, other = swapped(texts, words)
        if not len(at):
            told = "gender" if not words else ", ".join(words[:3]) + (", ..." if len(words) > 3 else "")
            raise UserError(f"no text of {name} has a word of --swap ({told}); give other words, or other texts")
        said = f"{len(at):,} of {len(texts):,} texts have a word that is exchanged; the others are left out"
        clean, corrupted = (
            Examples(side.ids, side.text, side.pair, words=side.words, first_words=side.first_words, name=name)
            for side in (texts.take(at), other)
        )
        return MinimalPairs(texts.name or name, clean, corrupted, ("swap",) * len(at), (*texts.notes, said))

    def root() -> Root:
        inner = examples_root(source, **how)
        own = {one.name for one in fields(PairOptions)}
        read_as = {key: value for key, value in inner.options.items() if key in own}
        rest = {key: value for key, value in options.given().items() if key not in _OF_TEXTS}
        rest["swap"] = list(words) or ["gender"]  # the words, not where they were read from
        seed = {"seed": options.seed} if options.seed else {}
        return Root("pairs", inner.source, inner.digest, read_as | rest | seed, held=inner.held)

    Swap(words)  # refuses what is no pair of words
    return _Source(read, root)


def _few(pairs: MinimalPairs, options: PairOptions) -> MinimalPairs:
    """The phenomena that are asked for, and at most `limit` of the pairs."""
    for name in options.only:
        if name not in pairs.phenomena:
            raise UserError(f"{pairs.name} has no phenomenon {name!r}; {did_you_mean(name, pairs.phenomena)}")
    if options.only:
        pairs = pairs.take([at for at, name in enumerate(pairs.phenomenon) if name in options.only])
    if options.limit is None or options.limit >= len(pairs):
        return pairs
    codes = np.unique(np.array(pairs.phenomenon, dtype=object), return_inverse=True)[1]
    return pairs.take(np.sort(mixed_order(codes, "classification", options.seed)[: options.limit]))


def _same(one: Examples, other: Examples) -> list[int]:
    """The rows that are the same on both sides."""
    seconds = zip(one.pair or one.ids, other.pair or one.ids, strict=True)
    both = zip(one.text, other.text, seconds, strict=True)
    return [row for row, (text, new, (pair, second)) in enumerate(both) if text == new and pair == second]
