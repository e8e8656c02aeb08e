"""Entities of tags, word by word, from the published definitions: what `data/entities.py` is held to.

What `seqeval` itself said is kept by `frozen_seqeval.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

Entity = tuple[str, int, int]
"""Type, first word, last word."""


def lenient(tags: Sequence[str]) -> set[Entity]:
    """As conlleval.pl reads a sentence (Tjong Kim Sang & De Meulder 2003): its rules for the end and the beginning of
    a chunk, of the tags that IOB2 has."""
    found, first = set[Entity](), 0
    before, type_before = "O", ""
    for at, tag in enumerate([*tags, "O"]):
        part, _, type = tag.partition("-")
        ends = (before, part) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")}
        ends |= before != "O" and type != type_before
        begins = part == "B" or (before, part) == ("O", "I")
        begins |= part != "O" and type != type_before
        if ends:
            found.add((type_before, first, at - 1))
        if begins:
            first = at
        before, type_before = part, type
    return found


def strict(tags: Sequence[str]) -> set[Entity]:
    """As seqeval's scheme IOB2 has it: B begins, I of the same type goes on, and anything else ends."""
    found = set[Entity]()
    for first, tag in enumerate(tags):
        if not tag.startswith("B-"):
            continue
        after = first + 1
        while after < len(tags) and tags[after] == f"I-{tag[2:]}":
            after += 1
        found.add((tag[2:], first, after - 1))
    return found
