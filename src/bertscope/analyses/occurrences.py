"""The words that the rows of hidden states are: how they are written, and which is which between encoders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed
from bertscope.core.statement import too_long

if TYPE_CHECKING:
    from bertscope.models.states_store import StatesStore

Windows = Callable[[], Iterable[tuple[int, Examples]]]
"""A corpus that isn't held: some of its texts after the other, each time with the place of the first."""
Texts = Examples | Windows


def in_windows(texts: Texts) -> Iterable[tuple[int, Examples]]:
    """Texts as they come, however they are held."""
    return [(0, texts)] if isinstance(texts, Examples) else texts()


def owners(store: StatesStore) -> np.ndarray:
    """[row]: the example that each row comes from."""
    return np.repeat(np.arange(len(store.ids)), np.diff(store.starts))


def word_forms(store: StatesStore, examples: Examples) -> list[str]:
    """Each row's word as it is written."""
    rows = zip(
        owners(store).tolist(), store.words.tolist(), store.segments.tolist(), store.spans.tolist(), strict=True
    )
    if examples.words is not None:
        return [examples.words[example][word] for example, word, *_ in rows]
    texts = (examples.text, examples.pair or ())
    return [texts[segment][example][begin:end].strip() for example, _, segment, (begin, end) in rows]


def word_keys(store: StatesStore, examples: Examples, seed: int = 0) -> np.ndarray:
    """[row]: a hash of the text's id and the word's place: sampling by it, batches and order don't matter."""
    return _keys(store, examples, hashed(examples.ids, seed))


def common_words(stores: Mapping[str, StatesStore], texts: Texts, seed: int = 0) -> np.ndarray:
    """[store, word]: the rows of the words that all stores have, in a random order that is the same in all.

    A word is common where two tokenizers agree on where it begins and ends. The order is that of a hash of the text's
    id and the word's place, so that the first n are a random sample, whatever the order of the corpus.
    """
    found, keys = [], []
    for begin, some in in_windows(texts):
        parts = [store.texts(begin, begin + len(some)) for store in stores.values()]
        rows = _shared(parts, some)
        keys.append(word_keys(parts[0], some, seed)[rows[0]])
        found.append(rows + np.array([[store.starts[begin]] for store in stores.values()]))
    return np.concatenate(found, 1)[:, np.argsort(np.concatenate(keys), kind="stable")]


def _shared(stores: Sequence[StatesStore], examples: Examples) -> np.ndarray:
    """[store, word]: the rows of the words that all stores of some texts have."""
    first, *others = stores
    places = np.arange(len(examples), dtype=np.uint64)
    shared, row = np.unique(_keys(first, examples, places), return_index=True)
    rows = [row]
    for store in others:
        shared, before, here = np.intersect1d(shared, _keys(store, examples, places), return_indices=True)
        rows = [*(known[before] for known in rows), here]
    return np.stack(rows)


def left_out_notes(stores: Mapping[str, StatesStore]) -> list[str]:
    """What became of texts that are longer than a model reads."""
    return [
        too_long(len(store.left_out), "text", f"{store.record.name} reads", "left out")
        for store in stores.values()
        if store.left_out
    ]


def _keys(store: StatesStore, examples: Examples, of_examples: np.ndarray) -> np.ndarray:
    """[row]: a hash of the example's number and the word's place in it."""
    keys = of_examples[owners(store)]
    places = [store.words] if examples.words is not None else [store.segments, *_trimmed(store, examples)]
    for place in places:
        keys = mixed(keys, place.astype(np.uint64))
    return keys


def _trimmed(store: StatesStore, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's word begins and ends, without the space that some tokenizers count in."""
    spaces = [(len(form) - len(form.lstrip()), len(form) - len(form.rstrip())) for form in _covered(store, examples)]
    before, after = np.array(spaces, dtype=np.int64).reshape(-1, 2).T
    return store.spans[:, 0] + before, store.spans[:, 1] - after


def _covered(store: StatesStore, examples: Examples) -> Iterator[str]:
    """The characters that each row's tokens cover, in a text whose words aren't marked."""
    texts = (examples.text, examples.pair or ())
    rows = zip(owners(store).tolist(), store.segments.tolist(), store.spans.tolist(), strict=True)
    return (texts[segment][example][begin:end] for example, segment, (begin, end) in rows)
