"""Schemes of tags: told apart, brought to IOB2 without losing an entity, and refused where they are mixed."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.data.tag_schemes import Scheme, ill_formed, tag_scheme, to_iob2, with_types
from plain_entities import strict

SENTENCES: dict[Scheme, list[str]] = {
    "IOB2": ["B-PER", "I-PER", "B-PER", "O", "B-LOC", "B-ORG"],
    "IOB1": ["I-PER", "I-PER", "B-PER", "O", "I-LOC", "I-ORG"],
    "BIOES": ["B-PER", "E-PER", "S-PER", "O", "S-LOC", "S-ORG"],
    "BILOU": ["B-PER", "L-PER", "U-PER", "O", "U-LOC", "U-ORG"],
}
"""The same four entities."""


@pytest.mark.parametrize("scheme", SENTENCES)
def test_the_same_entities_in_every_scheme(scheme: Scheme) -> None:
    tags = SENTENCES[scheme]
    assert tag_scheme([tags, ["O", "O"]]) == scheme
    assert ill_formed(tags, scheme) is None
    assert to_iob2(tags, scheme) == tuple(SENTENCES["IOB2"])


def test_random_entities_come_back_from_every_scheme() -> None:
    """Entities are written in each scheme by its definition, and read off the IOB2 that is made of it."""
    random, parts = np.random.default_rng(0), 0
    for _ in range(300):
        words, at, entities = int(random.integers(1, 12)), 0, set()
        while at < words:
            end = min(words, at + int(random.integers(1, 4)))
            if random.random() < 0.6:
                entities.add((str(random.choice(["PER", "LOC"])), at, end - 1))
            at = end
        for scheme in SENTENCES:
            tags = _written(entities, words, scheme)
            assert ill_formed(tags, scheme) is None
            assert strict(to_iob2(tags, scheme)) == entities
        parts += sum(("PER", last + 1) in {(type, first) for type, first, _ in entities} for _, _, last in entities)
    assert parts > 50  # names side by side, which IOB1 has to part


def _written(entities: set[tuple[str, int, int]], words: int, scheme: Scheme) -> list[str]:
    tags = ["O"] * words
    last_of = {(type, last) for type, _, last in entities}
    for type, first, last in entities:
        tags[first : last + 1] = [f"I-{type}"] * (last - first + 1)
        if scheme != "IOB1" or (type, first - 1) in last_of:
            tags[first] = f"B-{type}"
        if scheme in ("BIOES", "BILOU"):
            tags[last] = f"{'E' if scheme == 'BIOES' else 'L'}-{type}"
            if first == last:
                tags[first] = f"{'S' if scheme == 'BIOES' else 'U'}-{type}"
    return tags


def test_plain_tags_and_tags_without_types() -> None:
    assert tag_scheme([["NOUN", "VERB", "-LRB-", "PRP$"]]) == "plain"
    assert tag_scheme([["O", "PER", "PER"]]) == "plain"
    assert to_iob2(["NOUN", "O"], "plain") == ("NOUN", "O")
    assert tag_scheme([["O", "O"]]) == "IOB2"
    assert with_types([["B", "I", "O"]]) == [["B-entity", "I-entity", "O"]]
    assert with_types([["B", "N", "O"]]) == [["B", "N", "O"]], "a part of speech may be called B"
    assert with_types([["S", "V"]]) == [["S", "V"]]


@pytest.mark.parametrize(
    ("tags", "scheme", "at", "why"),
    [
        ("O I-PER", "IOB2", 1, "goes on with an entity that nothing begins"),
        ("B-PER I-LOC", "IOB2", 1, "goes on with an entity that nothing begins"),
        ("B-PER NOUN", "IOB2", 1, "none of IOB2"),
        ("B-PER E-PER", "IOB2", 1, "none of IOB2"),
        ("I-PER O B-PER", "IOB1", 2, "comes after none of its type"),
        ("B-PER O", "BIOES", 1, "should go on"),
        ("O B-PER", "BIOES", 1, "the sentence's last"),
        ("E-PER O", "BIOES", 0, "nothing begins"),
        ("B-PER E-LOC", "BIOES", 1, "should go on"),
        ("S-PER U-LOC", "BIOES", 1, "none of BIOES"),
        ("B-PER L-PER S-LOC", "BILOU", 2, "none of BILOU"),
        ("NOUN B-PER", "plain", 1, "most others are plain"),
    ],
)
def test_what_is_ill_formed(tags: str, scheme: Scheme, at: int, why: str) -> None:
    found = ill_formed(tags.split(), scheme)
    assert found is not None and found[0] == at and why in found[1]


def test_the_scheme_of_most_sentences_counts() -> None:
    """One slip doesn't make a file of IOB2 one of IOB1, nor a file of names one of parts of speech."""
    assert tag_scheme([["B-PER", "I-PER", "O"]] * 5 + [["O", "I-PER", "O"]]) == "IOB2"
    assert tag_scheme([["I-PER", "I-PER", "O"]] * 5 + [["O", "B-PER", "O"]]) == "IOB1"
    assert tag_scheme([["B-PER", "O"]] * 5 + [["NOUN", "O"]]) == "IOB2"
    assert tag_scheme([["B-PER", "I-PER", "O"]] * 5 + [["S-PER", "O"]]) == "IOB2"
    assert tag_scheme([["I-PER", "I-PER", "O"]] * 5 + [["L-PER", "O"]]) == "IOB1"
    assert tag_scheme([["B-PER", "E-PER", "O"]] * 5 + [["B-PER", "I-PER", "O"], ["U-PER", "O"]]) == "BIOES"
