"""What a probe reads: a label of a word, of a word and its governor, or of a whole text, as a corpus has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples

_SAME_BY_TYPE = ("word",)
"""The targets that a word's type decides by itself: a control task by type would be the target under other names."""


@dataclass(frozen=True)
class Limits:
    """How much of a corpus a target takes."""

    words: int = 4000
    """To train on, and as many to test; for validation an eighth of that, which is looked at again and again."""
    balanced: bool = False
    types: int = 50
    bins: int = 5


@dataclass(frozen=True, eq=False)
class Target:
    """Items with a label each, in the order of the corpus."""

    name: str
    example: np.ndarray
    """The text each item is in."""
    words: np.ndarray
    """[item, 0, 1 or 2]: none for a whole text; a word; a word and its governor. Counted within the text."""
    label: np.ndarray
    """Numbers of `classes`."""
    classes: tuple[str, ...]
    types: tuple[str, ...] = ()
    """The word types that items have; none for whole texts."""
    type: np.ndarray | None = None
    """Each item's (first) word as a number of `types`, case apart."""

    def __len__(self) -> int:
        return len(self.label)

    @property
    def unit(self) -> str:
        return ("text", "word", "pair")[self.words.shape[1]]

    @property
    def has_control(self) -> bool:
        """Whether the control task of Hewitt and Liang, a label for each word type, says anything here."""
        return self.type is not None and self.name not in _SAME_BY_TYPE

    def of_words(self) -> Target:
        """The same label for single words: that of a word and its governor is the word's."""
        return replace(self, words=self.words[:, :1])

    def take(self, items: np.ndarray) -> Target:
        kind = None if self.type is None else self.type[items]
        return Target(
            self.name, self.example[items], self.words[items], self.label[items], self.classes, self.types, kind
        )


def choose_targets(
    examples: Examples, wanted: Sequence[str], limits: Limits, known: Sequence[str] = ()
) -> tuple[list[Target], list[str]]:
    """The targets that are wanted, or all that the corpus has of those known (by default all that there are), and
    what to say of others."""
    found = {name: _COLLECTORS[name](examples, limits) for name in known or _COLLECTORS}
    usable = {name: target for name, target in found.items() if target is not None and len(target.classes) > 1}
    if missing := [name for name in wanted if name not in usable]:
        raise UserError(
            f"these texts don't tell {' or '.join(missing)} of at least two kinds; "
            + (f"they have: {', '.join(usable)}" if usable else "give a treebank (.conllu) or demo/corpus")
        )
    if not usable:
        raise UserError("these texts tell nothing to probe for; give a treebank, demo/corpus or a task")
    alike = [name for name, target in found.items() if target is not None and name not in usable and not wanted]
    notes = [f"left out, since all have the same label: {', '.join(alike)}"] if alike else []
    return [usable[name] for name in dict.fromkeys(wanted or usable)], notes


def _numbered(values: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """The different values in alphabetical order, and each entry's number among them."""
    different, numbers = np.unique(np.array(values, dtype=object).astype(str), return_inverse=True)
    return tuple(map(str, different)), numbers.astype(np.int64)


def _of_words(name: str, examples: Examples, entries: Sequence[tuple[int, tuple[int, ...], str]]) -> Target | None:
    """A target of entries (text, words in it, label)."""
    if not entries or examples.words is None:
        return None
    example, words, labels = (list(column) for column in zip(*entries, strict=True))
    classes, label = _numbered(labels)
    types, kind = _numbered([examples.words[row][at[0]].casefold() for row, at in zip(example, words, strict=True)])
    return Target(name, np.array(example), np.array(words), label, classes, types, kind)


def _of_texts(name: str, rows: Sequence[int], label: np.ndarray, classes: Sequence[str]) -> Target:
    return Target(name, np.array(rows), np.zeros((len(rows), 0), dtype=np.int64), label, tuple(classes))


def _mark(kind: str) -> Callable[[Examples, Limits], Target | None]:
    """What the source says of single words; the words of which it says nothing are left out."""

    def collect(examples: Examples, limits: Limits) -> Target | None:
        rows = enumerate(examples.marks.get(kind, ()))
        entries = [(row, (at,), value) for row, values in rows for at, value in enumerate(values) if value]
        return _of_words(kind, examples, entries)

    return collect


def _relation(examples: Examples, limits: Limits) -> Target | None:
    """The relation of a word to its governor, without subtypes; the root has none."""
    if examples.governors is None or "relation" not in examples.marks:
        return None
    rows = enumerate(zip(examples.governors, examples.marks["relation"], strict=True))
    entries = [
        (row, (at, governor), value.partition(":")[0])
        for row, both in rows
        for at, (governor, value) in enumerate(zip(*both, strict=True))
        if governor != ROOT and value
    ]
    return _of_words("relation", examples, entries)


def _frame(examples: Examples, limits: Limits) -> Target | None:
    """The frame that a word evokes; of a target of several words, the first."""
    rows = enumerate(examples.links or ())
    evoked = {(row, link.target[:1]): link.frame for row, links in rows for link in reversed(links) if link.frame}
    return _of_words("frame", examples, [(row, word, frame) for (row, word), frame in sorted(evoked.items()) if word])


def _word(examples: Examples, limits: Limits) -> Target | None:
    """Which word it is, of the most frequent ones."""
    words = [[word.casefold() for word in row] for row in examples.words or ()]
    frequent = {word for word, _ in Counter(chain.from_iterable(words)).most_common(limits.types)}
    entries = [(row, (at,), word) for row, of in enumerate(words) for at, word in enumerate(of) if word in frequent]
    return _of_words("word", examples, entries)


def _label(examples: Examples, limits: Limits) -> Target | None:
    """The task's label of the whole text; neither scores nor several labels a text nor places are classes."""
    label: Any = examples.label
    if label is None or label.ndim > 1 or examples.choices is not None or not np.issubdtype(label.dtype, np.integer):
        return None
    values, numbers = np.unique(label, return_inverse=True)
    return _of_texts("label", range(len(label)), numbers.astype(np.int64), [str(value) for value in values])


def _length(examples: Examples, limits: Limits) -> Target | None:
    """How many words the text has, in groups of about equal size."""
    pairs = examples.pair or ("",) * len(examples)
    plain = (f"{one} {other}".split() for one, other in zip(examples.text, pairs, strict=True))
    lengths = np.array([len(words) for words in examples.words or plain])
    edges = np.unique(np.quantile(lengths, np.arange(1, limits.bins) / limits.bins, method="higher"))
    values, numbers = np.unique(np.digitize(lengths, edges), return_inverse=True)
    ends = [lengths[numbers == at] for at in range(len(values))]
    classes = [f"{of.min()} to {of.max()} words" for of in ends]
    return _of_texts("length", range(len(lengths)), numbers.astype(np.int64), classes)


_COLLECTORS: dict[str, Callable[[Examples, Limits], Target | None]] = {
    "pos": _mark("pos"), "relation": _relation, "frame": _frame, "entity": _mark("entity"),
    "gender": _mark("gender"), "word": _word, "label": _label, "length": _length,
}  # fmt: skip
