"""Words, parts of speech and relations for plain texts, by spaCy where it is installed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples

MODEL = "en_core_web_sm"
_INSTALL = f"pip install spacy, then python -m spacy download {MODEL}"
_UD = {
    "ROOT": "root", "auxpass": "aux:pass", "csubjpass": "csubj:pass", "dative": "iobj", "dobj": "obj",
    "neg": "advmod", "nsubjpass": "nsubj:pass", "poss": "nmod:poss", "preconj": "cc:preconj",
    "predet": "det:predet", "prt": "compound:prt", "relcl": "acl:relcl",
}  # fmt: skip
"""The relations of spaCy's English models that UD knows by another name."""


def annotated(examples: Examples) -> Examples:
    """The examples as they are where their words are marked; plain texts as `annotate` gives them."""
    return examples if examples.words is not None else annotate(examples)


def annotate(examples: Examples) -> Examples:
    """The same texts with words, `lemma`, `pos`, `xpos`, `relation` and governors.

    The texts must be English. spaCy's relations get UD's names where UD has the relation; its trees stay its own, in
    which a preposition is the head of its noun. A text of several sentences has several roots.
    """
    if examples.words is not None:
        raise UserError("these texts have their words marked already; annotate is for plain texts")
    analyser = _analyser()
    rows = [_row(doc) for doc in analyser.pipe(examples.text)]
    first = None
    if examples.pair is not None:
        first = tuple(len(row.words) for row in rows)
        rows = [row + _row(doc) for row, doc in zip(rows, analyser.pipe(examples.pair), strict=True)]
    kinds = rows[0].marks if rows else ()
    return replace(
        examples,
        words=tuple(row.words for row in rows),
        first_words=first,
        marks=dict(examples.marks) | {kind: tuple(row.marks[kind] for row in rows) for kind in kinds},
        governors=tuple(row.governors for row in rows),
    )


@dataclass(frozen=True)
class _Row:
    words: tuple[str, ...]
    governors: tuple[int, ...]
    marks: dict[str, tuple[str, ...]]

    def __add__(self, other: _Row) -> _Row:
        """The words of a pair: those of the second text are counted on."""
        return _Row(
            self.words + other.words,
            self.governors + tuple(at if at == ROOT else at + len(self.words) for at in other.governors),
            {kind: marks + other.marks[kind] for kind, marks in self.marks.items()},
        )


def _row(doc: Iterable[Any]) -> _Row:
    """One text's words, without those that are only space."""
    tokens = [token for token in doc if not token.is_space]
    place = {token.i: at for at, token in enumerate(tokens)}
    marks = {
        "lemma": tuple(token.lemma_ for token in tokens),
        "pos": tuple(token.pos_ for token in tokens),
        "xpos": tuple(token.tag_ for token in tokens),
        "relation": tuple(_UD.get(token.dep_, token.dep_) for token in tokens),
    }
    return _Row(tuple(token.text for token in tokens), tuple(_governor(token, place) for token in tokens), marks)


def _governor(token: Any, place: dict[int, int]) -> int:
    """Where a token's governor is among the words; spaCy gives a root itself."""
    return ROOT if token.head.i == token.i else place.get(token.head.i, ROOT)


def _analyser() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise UserError(f"annotating plain text needs spaCy, which isn't installed; {_INSTALL}") from error
    try:
        return spacy.load(MODEL, exclude=["ner"])
    except OSError as error:
        raise UserError(f"spaCy's model {MODEL} isn't installed; {_INSTALL}") from error
