"""Treebanks: sentences whose words have parts of speech and governors.

train.conllu, train.conllu.gz    CoNLL-U, as Universal Dependencies has it
UD_English-EWT/                  a folder or zip: all its .conllu files, or else all its .dp files, in order of name
dependency_treebank.zip          NLTK's Penn Treebank sample (.dp): see penn.py

Words are the syntactic words. A token that spans several (`3-4 don't`) shapes the text alone; empty nodes (`8.1`),
enhanced graphs and further comments are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from sys import intern
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import refuse_existing, write_text
from bertscope.data.packed_files import Block, Collection, blocks, decoded, is_collection, stream
from bertscope.data.penn import read_dependencies
from bertscope.data.sentences import Sentence, read_each
from bertscope.data.table import shown
from bertscope.data.trees import check_tree

_COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_KINDS = {"lemma": "lemma", "pos": "upos", "xpos": "xpos", "feats": "feats", "relation": "deprel"}
"""The column of each kind of mark."""
_OWN = "Mark."
"""How MISC names marks that have no column: `Mark.gender=feminine`."""
_BETWEEN = re.compile(r"\t| {2,}")
"""Two spaces pass for a tab: editors make such of them."""
_SPAN = re.compile(r"([1-9][0-9]{0,6})-([1-9][0-9]{0,6})")
_EMPTY_NODE = re.compile(r"[0-9]{1,7}\.[1-9][0-9]{0,6}")
_GOVERNOR = re.compile(r"[0-9]{1,7}")


def read_treebank(
    path: str | Path,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    few: bool = False,
    notes: list[str] | None = None,
) -> Examples:
    """Read a CoNLL-U file, or a folder or zip of treebank files, into words, marks and governors.

    Marks are `lemma`, `pos` (UPOS), `xpos`, `feats` and `relation` (UD), as far as the files have them. An id is the
    sentence's `sent_id`, or else its file and first line; one that was there before gets a number. The text is what
    `# text` says, or else the words joined as SpaceAfter says. `limit` keeps the first sentences. A sentence that
    isn't one tree is refused, or with `skip_bad` left out and counted in `notes`. Of more than can be held some are
    taken, if only a `few` are wanted.
    """
    path = Path(path)
    how: dict[str, Any] = {"limit": limit, "skip_bad": skip_bad, "few": few, "notes": notes}
    if not is_collection(path):
        return read_each(blocks(stream(path), path), lambda block: sentence_of(block, path, path.name), path, **how)
    with Collection(path) as files:
        if names := files.ending(".conllu"):
            return read_each(_blocks(files, names), lambda found: sentence_of(*found), path, **how)
        if files.ending(".dp"):
            return read_dependencies(files, **how)
    raise UserError(f"{path} has no .conllu or .dp files; give a treebank's file, folder or zip")


def has_governors(path: Path) -> bool:
    """Whether any word of a CoNLL-U file has one: what is to be parsed by others is published without."""
    rows = (_BETWEEN.split(raw.decode(errors="replace")) for raw in stream(path))
    at = _COLUMNS.index("head")
    return any(len(cells) > at and _GOVERNOR.fullmatch(cells[at]) for cells in rows if not cells[0].startswith("#"))


def write_conllu(examples: Examples, path: str | Path) -> None:
    """Write words, marks and governors as CoNLL-U, so that `read_treebank` reads them back as they are.

    Marks that CoNLL-U has no column for go into MISC. Labels, links and answers have no place there. A file that
    exists is never written over.
    """
    path = Path(path)
    refuse_existing(path)
    if examples.words is None or examples.governors is None or examples.pair is not None:
        raise UserError(f"cannot write {path}: CoNLL-U holds single texts whose words and governors are marked")
    write_text(path, "".join(_written(examples, row) for row in range(len(examples))))


def _blocks(files: Collection, names: Sequence[str]) -> Iterator[tuple[Block, str, str]]:
    for name in names:
        where = files.where(name)
        for block in blocks(BytesIO(files.read(name)), where):
            yield block, where, Path(name).name


class _Malformed(Exception):
    """What is wrong with a sentence."""


def sentence_of(block: Block, where: str | Path, file: str) -> Sentence:
    lines = [line for each in decoded(block.raw, where, block.line).split("\n") if (line := each.strip())]
    comments = _comments(lines)
    place = f"sentence {shown(comments['sent_id'])} at line" if comments.get("sent_id") else "sentence at line"
    try:
        words, surface = _numbered(_columns(lines))
        governors = _governors(words)
    except _Malformed as why:
        raise UserError(
            f"{where}, {place} {block.line}: {why}; mend it or leave such sentences out with --skip-bad"
        ) from why
    return Sentence(
        id=comments.get("sent_id") or f"{file}:{block.line}",
        text=comments.get("text") or _joined(surface),
        words=tuple([intern(token["form"]) for token in words]),
        marks=_marks(words),
        governors=governors,
    )


def _comments(lines: list[str]) -> dict[str, str]:
    pairs = (line[1:].partition("=") for line in lines if line.startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _columns(lines: list[str]) -> list[dict[str, str]]:
    """The lines that aren't comments, column by column, as they are written."""
    found = []
    for line in lines:
        if line.startswith("#"):
            continue
        cells = _BETWEEN.split(line)
        if len(cells) == 1:
            raise _Malformed("a line has no tabs between its columns")
        if len(cells) != len(_COLUMNS):
            raise _Malformed(f"a line has {len(cells)} columns, not {len(_COLUMNS)}")
        found.append(dict(zip(_COLUMNS, cells, strict=True)))
    return found


def _numbered(tokens: list[Any]) -> tuple[list[Any], list[Any]]:
    """The words, and what the text is made of: words, and spans in place of theirs."""
    words: list[Any] = []
    surface: list[Any] = []
    spanned = 0
    for token in tokens:
        number = token["id"]
        if number == str(len(words) + 1):
            words.append(token)
            if len(words) > spanned:
                surface.append(token)
        elif (span := _SPAN.fullmatch(number)) and int(span[1]) == len(words) + 1 and int(span[2]) >= int(span[1]):
            spanned = int(span[2])
            surface.append(token)
        elif not _EMPTY_NODE.fullmatch(number):
            raise _Malformed(f"word number {shown(number)} comes where {len(words) + 1} should")
    if spanned > len(words):
        raise _Malformed(f"a span reaches word {spanned}, but there are only {len(words)}")
    return words, surface


def _governors(words: list[Any]) -> tuple[int, ...]:
    for at, token in enumerate(words, start=1):
        if not token["form"].strip():
            raise _Malformed(f"word {at} is blank")
        if not _GOVERNOR.fullmatch(token["head"]):
            raise _Malformed(f"the head of word {at} is {shown(token['head'])}, not a number")
    governors = tuple([int(token["head"]) - 1 for token in words])
    wrong = check_tree(governors)
    if wrong:
        raise _Malformed(wrong)
    return governors


def _marks(words: list[Any]) -> dict[str, list[str]]:
    found = {kind: [_mark(token, column) for token in words] for kind, column in _KINDS.items()}
    for at, token in enumerate(words):
        if _OWN in token["misc"]:
            for entry in token["misc"].split("|"):
                kind, _, value = entry.partition("=")
                if kind.startswith(_OWN):
                    found.setdefault(kind.removeprefix(_OWN), [""] * len(words))[at] = value
    return found


def _mark(token: Any, column: str) -> str:
    value = token[column]
    says_nothing = value == "_" and not (column == "lemma" and token["form"] == "_")
    return "" if says_nothing else intern(value)


def _joined(surface: list[Any]) -> str:
    spaced = (token["form"] + ("" if "SpaceAfter=No" in token["misc"].split("|") else " ") for token in surface)
    return "".join(spaced).strip()


def _written(examples: Examples, row: int) -> str:
    assert examples.words is not None and examples.governors is not None
    name, text, words, governors = examples.ids[row], examples.text[row], examples.words[row], examples.governors[row]
    marks = {kind: column[row] for kind, column in examples.marks.items()}
    if any(len(column) != len(words) for column in (governors, *marks.values())):
        raise UserError(f"cannot write sentence {shown(name)}: it must have a head and a mark for each of its words")
    lines = [f"# sent_id = {name}", *([f"# text = {text}"] if text else [])]
    for at, word in enumerate(words):
        fields = {column: marks[kind][at] for kind, column in _KINDS.items() if kind in marks}
        own = [f"{_OWN}{kind}={column[at]}" for kind, column in marks.items() if kind not in _KINDS and column[at]]
        fields |= {"id": str(at + 1), "form": word, "head": str(governors[at] + 1), "misc": "|".join(own)}
        lines.append("\t".join(fields.get(column) or "_" for column in _COLUMNS))
    written = "\n".join([*lines, "", ""])
    if not _reads_back(written, Sentence(name, text, words, marks, governors)):
        raise UserError(
            f"cannot write sentence {shown(name)}: CoNLL-U wouldn't give it back; its id, text, words and marks must "
            "be without tabs, line ends and outer spaces, and its governors one tree"
        )
    return written


def _reads_back(written: str, wanted: Sentence) -> bool:
    try:
        found = sentence_of(Block(1, written.encode()), "", "")
    except (UserError, UnicodeEncodeError):
        return False
    same = (found.id, found.text if wanted.text else "", found.words, found.governors)
    nothing = [""] * len(found.words)
    return same == (wanted.id, wanted.text, wanted.words, wanted.governors) and all(
        list(found.marks.get(kind, nothing)) == list(column) for kind, column in wanted.marks.items()
    )
