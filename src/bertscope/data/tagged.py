"""Words with tags, such as named entities or parts of speech, from whatever has them.

train.txt, dev.iob2     a word on each line: see conll_columns.py
mine.jsonl, .json       {"tokens": ["Anna", "left"], "ner_tags": ["B-PER", "O"]}; also .parquet
ewt.conllu              a treebank, whose parts of speech (UPOS) are the tags
a list of dicts, a Dataset with such lists

They become `Examples` with `words` and `marks["tag"]`: IOB2 where tags speak of entities, whatever the source has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.accept import refuse_other, rows_of
from bertscope.data.bad_rows import BadRows
from bertscope.data.conll_columns import TaggedWords, looks_like_columns, read_columns
from bertscope.data.json_files import first_object
from bertscope.data.options import TaskOptions
from bertscope.data.outputs.tags import TAG, usual_metric
from bertscope.data.packed_files import is_collection
from bertscope.data.sentences import Sentence, to_examples
from bertscope.data.sheet import is_unicode, repeated
from bertscope.data.splits import Splits
from bertscope.data.structured import TAGGED, TEST, VALIDATION, files_of_roles
from bertscope.data.table import Table, shown, unpacked_suffix
from bertscope.data.table_files import read_table
from bertscope.data.tag_schemes import ill_formed, tag_scheme, to_iob2, with_types
from bertscope.data.task import Task
from bertscope.data.treebank import read_treebank

TABLES = (".jsonl", ".json", ".parquet")
_TREEBANK = ".conllu"
_WORDS = ("tokens", "words")
_TAGS = ("tag", "tags", "ner_tags", "ner", "pos_tags", "upos_tags", "chunk_tags", "labels")
_MARKS = ("upos", "pos", "entity")
"""What annotation may be beside: it is what is learnt only where `kind` says so."""
_MAYBE_ENTITIES = re.compile(r"[Oo]$|[BbIi][-_]")
"""Tags that some have for entities, and no scheme known here."""


def read_tagged(given: Any, options: TaskOptions | None = None, bad: BadRows | None = None) -> Examples:
    """Read a file, or rows in memory, into words and tags.

    `options.text` and `options.label` name the columns of lists. Sentences that can't be used are refused, or with
    `options.skip_bad` left out; the notes count them, and say what was guessed and converted. Those that `bad` is
    given for are left to its owner to tell.
    """
    options = options or TaskOptions()
    refused = bad or BadRows(skip=options.skip_bad, few=options.limit is not None)
    if isinstance(given, Table):
        found = _from_table(given, options, refused)
    elif not isinstance(given, str | Path):
        rows = rows_of(given, f"the {type(given).__name__}")
        if rows is None:
            raise refuse_other(given)
        found = _from_table(rows.table, options, refused)
    elif unpacked_suffix(Path(given)) == _TREEBANK or is_collection(Path(given)):
        found = _from_treebank(Path(given), refused)
    elif unpacked_suffix(Path(given)) in TABLES:
        found = _from_table(read_table(Path(given), refused), options, refused)
    else:
        path = Path(given)
        found = _checked(read_columns(path, refused), lambda line: f"{path}, line {line}", refused)
    return found if bad else replace(found, notes=(*refused.notes(), *found.notes))


def is_tagged(path: Path, options: TaskOptions) -> bool:
    """Whether a file has words with tags, by its name, its first lines, or because `kind` says so."""
    if options.kind is not None:
        return options.kind == "tokens"
    if path.is_dir():
        return any(is_tagged(file, options) for file in files_of_roles(path, ("train", *VALIDATION, *TEST), "tokens"))
    suffix = unpacked_suffix(path)
    if suffix in TAGGED:
        return True
    if not path.is_file() or suffix in (".csv", ".zip", ".xml", ".dp", _TREEBANK):
        return False
    if suffix == ".parquet":
        return _parquet_is_tagged(path, options)
    if suffix in (".json", ".jsonl"):
        return row_is_tagged(first_object(path), options)
    return not (options.text or options.label) and looks_like_columns(path)


def _parquet_is_tagged(path: Path, options: TaskOptions) -> bool:
    try:
        return table_is_tagged(read_table(path), options)
    except UserError:  # whatever is wrong with it, its reader will say
        return False


def row_is_tagged(row: Any, options: TaskOptions) -> bool:
    """Whether a row has a list of words and one of tags, and no label of its own."""
    if not isinstance(row, dict) or (isinstance(row.get("label"), str | int | float) and not options.label):
        return False
    words, tags = (row.get(name) for name in _columns(tuple(row), options))
    return isinstance(tags, list) and isinstance(words, list) and all(isinstance(word, str) for word in words)


def table_is_tagged(table: Table, options: TaskOptions) -> bool:
    """Whether a table's first row has them, or `kind` says so."""
    if options.kind is not None:
        return options.kind == "tokens"
    columns = _columns(table.header, options)
    if not set(columns) <= set(table.header):
        return False
    wanted = {name for name in (*columns, "label") if name in table.header}
    return row_is_tagged({name: next(iter(table.cells(name)), None) for name in wanted}, options)


def tags_of(examples: Examples) -> tuple[str, ...]:
    """The tags that examples have: O first, then by the alphabet, a type's B before its I."""
    return ordered_tags(tag for row in examples.marks[TAG] for tag in row)


def ordered_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each tag once, in the order that tasks have."""
    return tuple(sorted(set(tags), key=lambda tag: (tag != "O", tag.partition("-")[2] or tag, tag)))


def with_tag(examples: Examples, tags: tuple[tuple[str, ...], ...]) -> Examples:
    """The examples, with these tags of their words."""
    return replace(examples, marks={**examples.marks, TAG: tags})


def entities_of_marks(examples: Examples) -> tuple[tuple[str, ...], ...]:
    """The marks of entities (`PER` on every word of a name) as IOB2. Names side by side are told apart by the tree:
    the words of one depend on each other."""
    assert examples.governors is not None
    return tuple(map(_iob2_of_marks, examples.marks["entity"], examples.governors))


def _iob2_of_marks(marks: Sequence[str], governors: Sequence[int]) -> tuple[str, ...]:
    def top(at: int) -> int:
        """The word of its name that the others depend on."""
        while governors[at] >= 0 and marks[governors[at]] == marks[at]:
            at = governors[at]
        return at

    goes_on = [at > 0 and mark == marks[at - 1] and top(at) == top(at - 1) for at, mark in enumerate(marks)]
    return tuple(f"{'I' if on else 'B'}-{mark}" if mark else "O" for mark, on in zip(marks, goes_on, strict=True))


def make_tokens(name: str, splits: Splits, notes: tuple[str, ...] = ()) -> Task:
    """The task of tagging the words of these splits."""
    labels = ordered_tags(tag for split in splits for row in split.marks[TAG] for tag in row)
    if len(labels) == 1:
        raise UserError(f"{name}: every word has the tag {shown(labels[0])}; are these the tags?")
    return Task(name, "tokens", labels, *splits, usual_metric(labels), notes)


def _columns(header: tuple[str, ...], options: TaskOptions) -> tuple[str, str]:
    """The columns of words and of tags, named or guessed; '' where there is none."""
    by_name = {name.lower(): name for name in reversed(header)}
    known = (*_TAGS, *_MARKS) if options.kind == "tokens" else _TAGS
    words = options.text or next((by_name[name] for name in _WORDS if name in by_name), "")
    tags = options.label or next((by_name[name] for name in known if name in by_name and by_name[name] != words), "")
    return words, tags


def _from_table(table: Table, options: TaskOptions, bad: BadRows) -> Examples:
    words, tags = _columns(table.header, options)
    for name, flag, what in ((words, "--text", "tokens"), (tags, "--label", "tags")):
        if name not in table.header:
            raise UserError(f"{table.path} has no column of {what}, only {table.columns}; name one with {flag}")
    ids = _ids(table, options)
    texts = table.cells("text") if "text" in table.header and words != "text" else [None] * len(table)
    found = []
    for row, (id, text, one, other) in enumerate(
        zip(ids, texts, table.cells(words), table.cells(tags), strict=True)
    ):  # fmt: skip
        if wrong := _not_tagged(one, other, words, tags):
            bad.refuse(wrong[0], f"{table.place(row)}: {wrong[1]}")
            continue
        line = table.lines[row]
        text = text if isinstance(text, str) and text.strip() else " ".join(one)
        found.append(TaggedWords(id, text, tuple(one), tuple(other), [line] * len(one)))
    if not found:
        raise UserError(f"{table.path} has no row that can be used; mend it or give another")
    guessed = [
        f"{role}={name!r}" for role, name, given in (("words", words, options.text), ("tags", tags, options.label))
        if not given
    ]  # fmt: skip
    note = f"columns guessed: {', '.join(guessed)}; name them with --text and --label" if guessed else ""
    examples = _checked(found, lambda line: f"{table.path}, {table.unit} {line}", bad)
    return replace(examples, notes=(*examples.notes, *([note] if note else ())))


def _ids(table: Table, options: TaskOptions) -> Sequence[str]:
    column = options.id or ("id" if "id" in table.header else "")
    if not column:
        return table.ids(range(len(table)))
    found = [
        cell or one for cell, one in zip(table.column(column, "--id"), table.ids(range(len(table))), strict=True)
    ]
    if options.id and (repeats := repeated(found)):
        again = repeats[0]
        which = f"id {shown(found[again])} is another row's too"
        raise UserError(f"{table.place(again)}: {which}; give each row its own, or leave out --id")
    return found


def _not_tagged(words: Any, tags: Any, words_column: str, tags_column: str) -> tuple[str, str] | None:
    """The reason why a row can't be used, and what to do about it."""
    for cell, column in ((words, words_column), (tags, tags_column)):
        if not isinstance(cell, list | tuple) or not cell:
            return "no list", f"{column!r} holds no list; give a word, or a tag, for each place"
    if len(words) != len(tags):
        return "more words than tags, or fewer", f"{len(words)} words, but {len(tags)} tags; mend it"
    if not all(isinstance(tag, str) for tag in tags if tag is not None):
        return "tags are no texts", (
            f"tags are numbers, and nothing says what they stand for; write tags such as B-PER in {tags_column!r}, "
            "or give the Dataset itself, which has their names"
        )
    if not all(isinstance(word, str) and word.strip() for word in words) or not all(
        tag and tag.strip() for tag in tags
    ):
        return "blank word or tag", "a word or a tag is blank; mend it"
    if not is_unicode("".join((*words, *tags))):
        return "not valid UTF-8", "a word is not valid Unicode; mend it"
    return None


def _from_treebank(path: Path, bad: BadRows) -> Examples:
    notes: list[str] = []
    found = read_treebank(path, skip_bad=bad.skip, few=bad.few, notes=notes)
    if "pos" not in found.marks:
        raise UserError(f"{path} has no parts of speech (UPOS); give a treebank that has them")
    bare = [row for row, tags in enumerate(found.marks["pos"]) if not all(tags)]
    if bare:
        bad.refuse("no part of speech", f"{path}, {found.ids[bare[0]]}: a word has no UPOS; mend it", len(bare))
        found = found.take(sorted({*range(len(found))} - {*bare}))
    tagged = with_tag(found, found.marks["pos"])
    return replace(tagged, notes=(*notes, "the tags are the treebank's parts of speech (UPOS)"))


def _checked(found: Sequence[TaggedWords], place: Callable[[int], str], bad: BadRows) -> Examples:
    """Sentences as examples, their tags as IOB2, those without whose tags can't be read."""
    tags = with_types([sentence.tags for sentence in found])
    scheme = tag_scheme(tags)
    sentences = []
    for sentence, own in zip(found, tags, strict=True):
        if wrong := ill_formed(own, scheme):
            at, why = wrong
            where = f"{place(sentence.lines[at])} ({shown(sentence.words[at])})"
            bad.refuse("ill-formed tags", f"{where}: {why}; mend it")
            continue
        marks = {TAG: to_iob2(own, scheme)}
        sentences.append(Sentence(sentence.id, sentence.text, sentence.words, marks))
    if not sentences:
        raise UserError(f"{place(found[0].lines[0])}: no sentence has tags that can be read; mend them")
    examples = to_examples(sentences)
    names = tags_of(examples)
    if scheme == "plain":
        if len(names) == 1:
            raise UserError(
                f"{place(found[0].lines[0])}: every word has the tag {shown(names[0])}; are these the tags?"
            )
        note = f"tags are plain: each of the {len(names)} is a class of words"
        if any(map(_MAYBE_ENTITIES.match, names)):
            note += "; if they are of entities, write B-PER, I-PER and O"
        return replace(examples, notes=(note,))
    return replace(examples, notes=() if scheme == "IOB2" else (f"tags were {scheme}, and are converted to IOB2",))
