"""Which words push each class, over a corpus: the mean attribution of a word over the texts that have it.

Every text has attributions towards each class, whatever it predicts: with two classes those of the one are those of
the other with the other sign, so that the predictions' own serve; up to eight classes are each explained in every
text.

Of more classes, and of tags, only what is predicted is explained. It is predicted because its words are for it: of
such attributions any word has a mean above 0, even one that means nothing. So there each is taken beside the others
that might have been as large (`beyond_others`), and what is asked is whether a word does more than its share. Less
than that does any word that means nothing, where others decide: it isn't against the class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.core import null_panel
from bertscope.core.attributions import NO_PLACE, Attributions, Targets
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.intervals import reach
from bertscope.core.statistics import benjamini_hochberg, t_test
from bertscope.models.attribution import Method, attribute
from bertscope.models.outputs.base import ModelOutput

LEAST = 20
"""Texts that a word must be in."""
MOST_CLASSES = 8
"""That are each explained in every text."""
LEVEL = 0.05
_ROUNDING = 1e-12  # of an attribution: what is left of it where its share is all of it
_LIKE_ALL = 5  # so many times a word's attributions are taken to vary as those of all words do, before any is met


@dataclass(frozen=True)
class CorpusWords:
    """The attributions of words by class, one for each text that has them: cells are a class and a word in texts
    enough, entries what one text has for one cell."""

    names: tuple[str, ...]
    """[class]"""
    label: np.ndarray
    """[cell]: the class, by its place."""
    word: np.ndarray
    """[cell]: as it is written, but for capitals."""
    cell: np.ndarray
    """[entry]"""
    text: np.ndarray
    """[entry]: the text and class that it is of: all that gets one sign together."""
    value: np.ndarray
    """[entry]"""
    mirrored: bool
    """Whether there is a second class, for which all is the other way round."""
    beside: bool = False
    """Whether a word is taken beside the others: only what is above 0 is found then."""

    @property
    def counts(self) -> np.ndarray:
        """[cell]: texts."""
        return np.bincount(self.cell, minlength=len(self.word))

    @property
    def squares(self) -> np.ndarray:
        return np.bincount(self.cell, self.value**2, len(self.word))

    @property
    def sums(self) -> np.ndarray:
        return np.bincount(self.cell, self.value, len(self.word))

    def table(self) -> pd.DataFrame:
        """A row for each class and word, those first of which it is surest that they push it."""
        n, mean = self.counts, self.sums / self.counts
        spread = np.sqrt(np.maximum(self.squares - n * mean**2, 0) / (n - 1))
        either = reach(n) * spread / np.sqrt(n)
        p = t_test(self.sums, self.squares, n)
        frame = pd.DataFrame({
            "class": np.array(self.names, dtype=object)[self.label], "word": self.word, "mean": mean,
            "low": mean - either, "high": mean + either, "texts": n, "p": p, "p_fdr": benjamini_hochberg(p),
        })  # fmt: skip
        if self.mirrored:
            other = frame.assign(
                **{"class": self.names[0], "mean": -mean, "low": -frame["high"], "high": -frame["low"]}
            )
            frame = pd.concat([other, frame], ignore_index=True)
        frame.insert(
            5, "safe", np.where(frame["low"] > 0, frame["low"], np.where(frame["high"] < 0, frame["high"], 0))
        )
        place = frame["class"].map({name: place for place, name in enumerate(self.names)})
        order = np.lexsort((frame["word"], -frame["mean"].abs(), -frame["safe"].abs(), place))
        return frame.iloc[order].reset_index(drop=True)

    def found(self, sums: np.ndarray | None = None) -> np.ndarray:
        """[..., cell]: whether a word is found to push its class, or to push away from it, as far as the sums over
        texts say."""
        sums = self.sums if sums is None else sums
        found = benjamini_hochberg(t_test(sums, self.squares, self.counts)) < LEVEL
        return found & (sums > 0) if self.beside else found

    def of_nothing(self, draws: int, seed: int) -> np.ndarray:
        """[draw]: how many words are found where each text's attributions for a class have a random sign."""
        from scipy.sparse import csr_matrix

        texts, text = np.unique(self.text, return_inverse=True)
        entries = csr_matrix((self.value, (text, self.cell)), shape=(len(texts), len(self.word)))
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(draws, len(texts)))
        return self.found((entries.T @ signs.T).T).sum(1)


def corpus_words(asked: ModelOutput, found: Attributions, least: int = LEAST, *, beside: bool = False) -> CorpusWords:
    """From attributions towards classes to those of words, each beside the others if that is asked for."""
    found = beyond_others(found) if beside else found
    names, targets, owner = asked.pushed, found.targets, found.owner
    label, sign = np.maximum(targets.label, 0), np.ones(len(targets))  # a score has no label: it is the only one
    if asked.mirrored:
        label, sign = np.ones_like(label), np.where(label == 1, 1.0, -1.0)
    known, word = np.unique(np.array([text.casefold() for text in found.text], dtype=object), return_inverse=True)
    cells, cell = np.unique(label[owner] * len(known) + word.reshape(-1), return_inverse=True)
    example = targets.example[owner]
    entries, entry = np.unique(cell.reshape(-1) * (targets.example.max() + 1) + example, return_inverse=True)
    value = np.bincount(entry.reshape(-1), found.values * sign[owner]) / np.bincount(entry.reshape(-1))
    of, text = np.divmod(entries, targets.example.max() + 1)
    kept = np.flatnonzero(np.bincount(of, minlength=len(cells)) >= least)
    inside = np.isin(of, kept)
    of, text, value = np.searchsorted(kept, of[inside]), text[inside], value[inside]
    label, word = np.divmod(cells[kept], len(known))
    return CorpusWords(names, label, known[word], of, text * len(names) + label[of], value, asked.mirrored, beside)


def is_of_predictions(asked: ModelOutput, *, chosen: bool) -> bool:
    """Whether a text has attributions only towards what is predicted of it, or of one of its words."""
    return asked.says_of_words or (len(asked.pushed) > MOST_CLASSES and not chosen)


def beyond_others(found: Attributions) -> Attributions:
    """Each attribution minus its share of what the text's words do together. Shares are by how much a word's
    attributions vary: of a sum that was chosen for its size, the parts that vary most have most. A tagged word does
    most for its own tag, whichever word it is: it stands beside the other words that got that tag, and isn't among
    the others of its text.
    """
    owner, targets = found.owner, found.targets
    own = found.word == targets.place[owner]
    tag = targets.label[owner[own]]
    values = found.values.copy()
    values[own] -= (np.bincount(tag, found.values[own]) / np.maximum(np.bincount(tag), 1))[tag]
    text, spread = owner[~own], _spread(found, ~own)
    total, spreads = (np.bincount(text, some, len(found)) for some in (found.values[~own], spread))
    values[~own] -= (total / np.where(spreads > 0, spreads, 1.0))[text] * spread
    values[np.abs(values) <= _ROUNDING * np.abs(found.values)] = 0  # such as of a text's only word
    return found.with_values(values, found.method)


def _spread(found: Attributions, some: np.ndarray) -> np.ndarray:
    """Of some attributions the variance of those of the word, around its mean for the label, as if it had been met
    five times more with the variance of all words; 1 where nothing varies."""
    known, word = np.unique(np.array([text.casefold() for text in found.text], dtype=object), return_inverse=True)
    word, label, values = word.reshape(-1)[some], found.targets.label[found.owner[some]], found.values[some]
    _, cell = np.unique(label * len(known) + word, return_inverse=True)
    means = np.bincount(cell, values) / np.bincount(cell)
    squares = np.bincount(word, (values - means[cell]) ** 2, len(known))
    first = np.unique(cell, return_index=True)[1]
    free = np.bincount(word, minlength=len(known)) - np.bincount(word[first], minlength=len(known))
    every = squares.sum() / max(free.sum(), 1)
    return ((squares + _LIKE_ALL * every) / (free + _LIKE_ALL) if every > 0 else np.ones(len(known)))[word]


def towards_classes(
    asked: ModelOutput, examples: Examples, found: Attributions, method: Method, nodes: int, *, chosen: bool
) -> Attributions:
    """Attributions towards each class in every text, or those that were found where these serve: of two classes, of
    what a user chose, and where only predictions are explained."""
    classes = len(asked.pushed)
    if not classes:
        raise UserError(
            f"{asked.encoder.name} gives no classes that words could push over a corpus: what it chooses from is "
            "another in every text; leave out corpus and null"
        )
    if is_of_predictions(asked, chosen=chosen) or chosen or asked.mirrored or classes == 1:
        return found
    example = np.unique(found.targets.example)
    targets = Targets(
        np.repeat(example, classes), np.full(len(example) * classes, NO_PLACE),
        np.tile(np.arange(classes), len(example)),
    )  # fmt: skip
    return attribute(asked.encoder, asked, examples, targets, method=method, nodes=nodes)


def null_table(words: CorpusWords, seed: int) -> pd.DataFrame:
    return null_panel.panel({"corpus words": words.of_nothing(null_panel.DRAWS, seed)})
