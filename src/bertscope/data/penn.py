"""The Penn Treebank in NLTK's sample: dependencies (.dp) and brackets (.mrg), in a zip or an unpacked folder.

The tags of the Penn Treebank are the mark `xpos`. `pos` has the UPOS that most words of a tag have, which isn't
always the word's own: `to`, `that`, `have` and `do` have one tag each where UD tells uses apart. Escapes are undone:
-LRB- is ( again, and `` is ".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.packed_files import Block, Collection, blocks, decoded
from bertscope.data.sentences import Sentence, read_each
from bertscope.data.table import shown
from bertscope.data.trees import check_tree

_TAGS = {
    "ADJ": "JJ JJR JJS",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "TO POS",
    "PRON": "PRP PRP$ WP WP$ WDT EX",
    "PROPN": "NNP NNPS",
    "PUNCT": ", . : `` '' \" -LRB- -RRB-",
    "SYM": "$ # SYM",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW LS",
}
UPOS = {tag: pos for pos, tags in _TAGS.items() for tag in tags.split()}
_BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'s", "'re"})
_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}
_TRACE = "-NONE-"
_HEAD = re.compile(r"[0-9]{1,7}")
_BRACKETS = re.compile(r"[()]|[^\s()]+")


def upos(word: str, tag: str) -> str:
    """The UPOS of a word with a tag of the Penn Treebank; `be` is an auxiliary wherever it is a verb."""
    return "AUX" if tag.startswith("VB") and word.lower() in _BE else UPOS.get(tag, "X")


def read_dependencies(
    files: Collection,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    few: bool = False,
    notes: list[str] | None = None,
) -> Examples:
    """The .dp files of a folder or zip: a line for each word with its tag and head, blank lines between sentences.
    An id is a sentence's file and first line."""
    how: dict[str, Any] = {"limit": limit, "skip_bad": skip_bad, "few": few, "notes": notes}
    return read_each(_blocks(files), lambda found: _dependencies(*found), files.path, **how)


def read_brackets(
    path: str | Path, *, limit: int | None = None, skip_bad: bool = False, notes: list[str] | None = None
) -> Examples:
    """Read the .mrg files of a folder or zip into words with `xpos`, `pos` and `phrase`: the label of the smallest
    phrase around a word (NP, VP ...). Brackets have no governors, and traces are left out. An id is a sentence's file
    and its number there."""
    with Collection(Path(path)) as files:
        if not files.ending(".mrg"):
            raise UserError(f"{path} has no .mrg files; give the Penn Treebank's folder or zip")
        found = (tree for name in files.ending(".mrg") for tree in _trees(files, name))
        return read_each(found, lambda tree: _leaves(*tree), files.path, limit=limit, skip_bad=skip_bad, notes=notes)


def _blocks(files: Collection) -> Iterator[tuple[Block, str, str]]:
    for name in files.ending(".dp"):
        where = files.where(name)
        for block in blocks(BytesIO(files.read(name)), where):
            yield block, where, Path(name).stem


def _dependencies(block: Block, where: str, file: str) -> Sentence:
    place = f"{where}, sentence at line {block.line}"
    rows = [line.rstrip("\r").split("\t") for line in decoded(block.raw, where, block.line).rstrip("\n").split("\n")]
    for row in rows:
        if len(row) != 3 or not row[0].strip() or not row[1] or not _HEAD.fullmatch(row[2]):
            raise UserError(f"{place}: {shown(' '.join(row))} isn't a word, a tag and a head, parted by tabs")
    words, tags, numbers = zip(*rows, strict=True)
    governors = tuple([int(number) - 1 for number in numbers])
    wrong = check_tree(governors)
    if wrong:
        raise UserError(f"{place}: {wrong}; mend it or leave such sentences out with --skip-bad")
    return _tagged(f"{file}:{block.line}", words, tags, governors=governors)


def _trees(files: Collection, name: str) -> Iterator[tuple[str, list[str], str]]:
    """The brackets of each sentence in a file, taken apart: their id, the pieces, and where they are."""
    where = files.where(name)
    number = depth = 0
    pieces: list[str] = []
    for found in _BRACKETS.finditer(decoded(files.read(name), where)):
        piece = found[0]
        depth += (piece == "(") - (piece == ")")
        if depth < 0 or (depth == 0 and piece != ")"):
            raise UserError(f"{where}: {shown(piece)} after sentence {number} is outside all brackets; mend the file")
        pieces.append(piece)
        if depth == 0:
            number += 1
            yield f"{Path(name).stem}:{number}", pieces, f"{where}, sentence {number}"
            pieces = []
    if depth:
        raise UserError(f"{where}: a bracket of sentence {number + 1} never closes; mend the file")


def _leaves(name: str, pieces: Sequence[str], place: str) -> Sentence:
    labels: list[str] = []
    leaves: list[tuple[str, str, str]] = []
    named = False  # whether the last piece was a label
    for before, piece in zip(("", *pieces), pieces, strict=False):
        if piece == "(":
            labels.append("")
        elif piece == ")":
            labels.pop()
        elif before == "(":
            labels[-1] = piece
        elif not named:
            raise UserError(f"{place}: the word {shown(piece)} has no tag of its own; mend it or use --skip-bad")
        elif labels[-1] != _TRACE:
            around = labels[-2] if len(labels) > 1 else ""
            leaves.append((piece, labels[-1], re.split("[-=]", around)[0]))
        named = before == "(" and piece not in "()"
    if not leaves:
        raise UserError(f"{place}: it has no words; mend it or use --skip-bad")
    words, tags, phrases = zip(*leaves, strict=True)
    return _tagged(name, words, tags, phrase=phrases)


def _tagged(
    name: str,
    escaped: Sequence[str],
    tags: Sequence[str],
    governors: tuple[int, ...] | None = None,
    **further: Sequence[str],
) -> Sentence:
    words = tuple(_ESCAPED.get(word) or word.replace("\\/", "/").replace("\\*", "*") for word in escaped)
    marks = {"pos": [upos(word, tag) for word, tag in zip(words, tags, strict=True)], "xpos": tags, **further}
    return Sentence(name, " ".join(words), words, marks, governors)
