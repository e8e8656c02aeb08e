"""How tags say where an entity begins and ends: which scheme some sentences have, and all of them as IOB2.

IOB2    B-PER begins every entity, I-PER goes on, O is none
IOB1    I-PER begins one too; B-PER only parts it from one of the same type right before it
BIOES   as IOB2, but E-PER ends one, and S-PER is one of a single word
BILOU   the same, with L-PER and U-PER
plain   a tag for each word, such as parts of speech
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

Scheme = Literal["IOB2", "IOB1", "BIOES", "BILOU", "plain"]
_LETTERS: dict[Scheme, str] = {"IOB2": "BI", "IOB1": "BI", "BIOES": "BIES", "BILOU": "BILU"}
_BEGIN, _GO_ON, _MORE = "BSU", "IEL", "BI"
"""The letters that begin an entity, that go on with one, and after which one goes on (but for IOB)."""
UNNAMED = "entity"
"""The type of entities whose tags name none: B, I, O."""


def tag_scheme(sentences: Sequence[Sequence[str]]) -> Scheme:
    """The scheme that most sentences have; what doesn't fit it, `ill_formed` tells.

    >>> tag_scheme([["I-PER", "I-PER", "B-PER", "O"]]), tag_scheme([["S-LOC", "O"]]), tag_scheme([["NOUN", "VERB"]])
    ('IOB1', 'BIOES', 'plain')
    """
    words = Counter(tag for tags in sentences for tag in tags if tag != "O")
    typed = Counter[str]()
    for tag, count in words.items():
        typed[_split(tag)[0]] += count
    if typed[""] > typed.total() / 2:
        return "plain"
    schemes: list[Scheme] = ["IOB2", "IOB1"]
    if (ends := typed["E"] + typed["S"]) + (others := typed["L"] + typed["U"]):
        schemes.insert(0, "BIOES" if ends >= others else "BILOU")
    return min(schemes, key=lambda scheme: sum(ill_formed(tags, scheme) is not None for tags in sentences))


def ill_formed(tags: Sequence[str], scheme: Scheme) -> tuple[int, str] | None:
    """The first tag that isn't the scheme's, or can't stand where it stands, and why; None where all are well."""
    for at, tag in enumerate(tags):
        letter, type = _split(tag)
        if scheme == "plain":
            if letter:
                return at, f"tag {tag!r} speaks of entities, and most others are plain"
            continue
        if tag != "O" and (not letter or letter not in _LETTERS[scheme]):
            return at, f"tag {tag!r} is none of {scheme}, which the others are"
        before, type_before = _split(tags[at - 1]) if at else ("", "")
        follows = before != "" and type == type_before
        if scheme == "IOB1":
            if letter == "B" and not follows:
                return at, f"tag {tag!r} comes after none of its type, and other entities begin with I- (IOB1)"
            continue
        if scheme != "IOB2":
            follows &= before != "" and before in _MORE
            if before and before in _MORE and not (follows and letter and letter in _GO_ON):
                return at, f"tag {tags[at - 1]!r} comes before {tag!r}, and an entity should go on there ({scheme})"
        if letter and letter in _GO_ON and not follows:
            return at, f"tag {tag!r} goes on with an entity that nothing begins ({scheme})"
    if scheme in ("BIOES", "BILOU") and tags and (last := _split(tags[-1])[0]) and last in _MORE:
        return len(tags) - 1, f"tag {tags[-1]!r} is the sentence's last, and an entity should go on there ({scheme})"
    return None


def to_iob2(tags: Sequence[str], scheme: Scheme) -> tuple[str, ...]:
    """A sentence's tags as IOB2; plain ones stay as they are.

    >>> to_iob2(["I-PER", "I-PER", "B-PER", "I-LOC", "O"], "IOB1")
    ('B-PER', 'I-PER', 'B-PER', 'B-LOC', 'O')
    >>> to_iob2(["S-PER", "B-LOC", "E-LOC"], "BIOES")
    ('B-PER', 'B-LOC', 'I-LOC')
    """
    if scheme in ("plain", "IOB2"):
        return tuple(tags)
    converted, before = [], ""
    for tag in tags:
        letter, type = _split(tag)
        begins = letter != "" and (letter in _BEGIN or (scheme == "IOB1" and type != before))
        converted.append(f"{'B' if begins else 'I'}-{type}" if letter else tag)
        before = type
    return tuple(converted)


def with_types(sentences: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The tags, with a type where none of them has one: B, I, O are those of one kind of entity."""
    names = {tag for tags in sentences for tag in tags}
    if not (names <= set("OBIESLU") and "O" in names and names & set("BI")):
        return list(sentences)
    return [[tag if tag == "O" else f"{tag}-{UNNAMED}" for tag in tags] for tags in sentences]


def is_of_entities(tag: str) -> bool:
    """Whether a tag is one of some scheme other than plain."""
    return tag == "O" or _split(tag)[0] != ""


def _split(tag: str) -> tuple[str, str]:
    """The letter and the type; nothing for O, and for what is no entity's tag."""
    letter, _, type = tag.partition("-")
    return (letter, type) if type and letter and letter in "BIESLU" and len(letter) == 1 else ("", "")
