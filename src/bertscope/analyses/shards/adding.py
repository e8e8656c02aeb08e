"""Adding up: windows to a shard, shards to a corpus, and what is found of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

from bertscope.analyses.attention.pass_part import PassPart
from bertscope.analyses.shards.joining import read_over
from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.core.question import Question
from bertscope.core.sums import Sums
from bertscope.data.division import Division
from bertscope.data.streamed import StreamedTexts
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed

_READ = "read"  # the part of a shard's sums that is its reader's


class AddingReader(Protocol):
    """A reader of maps that can be asked in shards."""

    def sums(self, first: int = 0) -> Sums:
        """What it keeps of the texts that it read; `first` is where they begin in the corpus."""

    def merge(self, other: Sums) -> None:
        """Take in what is kept of texts that come later."""


def gather(
    question: Question,
    config: Any,
    models: Sequence[Encoder],
    corpus: StreamedTexts,
    division: Division,
    windows: range,
    survey: Sums | None,
    told: str,
) -> Sums:
    """What a question keeps of some windows: of none, where a corpus has fewer than shards. `told` says which they
    are."""
    given = {**_named(question, models), "config": config}
    about = {"name": division.name, "notes": list(division.notes)}
    whole, read = _reader(_part(question, given, Examples((), ()), survey)), Passed(0, 0)
    with progress(told, len(windows)) as bar:
        for first, texts in corpus.read(division, windows):
            part = _part(question, given, texts, survey, first)
            read = _together(read, part.read(part.encoders, part.reader))
            whole.merge(_reader(part).sums(first))
            bar.advance()
    kept = {_READ: whole.sums()} if windows else {}
    facts = {"texts": read.examples, "truncated": read.truncated, "left_out": read.left_out}
    return Sums.of(kept, **about, **facts)


def added_up(question: Question, opened: Mapping[str, Any]) -> Any:
    """The answer from the sums of all shards, in their order; one shard's are held at a time."""
    if question.sharding == "states":
        return read_over(question, opened)
    given = {name: value for name, value in opened.items() if name not in question.of_shards}
    first = Sums.load(opened["sums"][0])
    texts = Examples((), (), name=first.facts["name"], notes=tuple(first.facts["notes"]))
    whole, read = _part(question, given, texts, opened.get("survey")), Passed(0, 0)
    for sums in map(Sums.load, opened["sums"]):
        read = _together(read, Passed(*(sums.facts[name] for name in ("texts", "truncated", "left_out"))))
        if sums.facts["texts"]:
            _reader(whole).merge(sums.part(_READ))
    return whole.finish(read)


def _reader(part: PassPart) -> AddingReader:
    return cast(AddingReader, part.reader)


def _part(
    question: Question, given: Mapping[str, Any], texts: Examples, survey: Sums | None, first: int = 0
) -> PassPart:
    """The question's part in a pass over these texts; over none it is where others' sums are added. Who surveys the
    corpus is told what was found, and where the texts begin in it."""
    assert question.reads is not None
    known = {"surveyed": survey, "first": first} if question.surveys else {}
    return question.part(**{**given, question.reads: texts}, **known)


def _named(question: Question, models: Sequence[Encoder]) -> dict[str, Any]:
    """A step's models as the question takes them: all of a list, or one after the other."""
    if question.takes_several:
        return {question.named[0]: list(models)}
    return dict(zip(question.named, models, strict=True))


def _together(one: Passed, other: Passed) -> Passed:
    return replace(
        one,
        examples=one.examples + other.examples,
        truncated=one.truncated + other.truncated,
        left_out=one.left_out + other.left_out,
    )


def open_sums(folder: str | Path) -> Path:
    """Where a shard's sums lie: they are large, and read one after the other."""
    return Path(folder)
