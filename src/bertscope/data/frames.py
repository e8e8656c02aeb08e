"""Frames: which words of a sentence are the elements of which frame, and what evokes it.

An example is an annotation set of FrameNet: one target, and a link to it from each of its elements that the sentence
has. The same sentence is there as often as it has such sets.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples, Link
from bertscope.data.framenet import Counts, annotation_sets
from bertscope.data.packed_files import Collection
from bertscope.data.sentences import check_limit, to_examples


def read_frames(
    path: str | Path,
    *,
    max_words: int | None = 12,
    max_targets: int | None = 1,
    max_element_words: int | None = 3,
    gap: int | None = 2,
    min_core: int | None = 1,
    limit: int | None = None,
    notes: list[str] | None = None,
) -> Examples:
    """Read FrameNet from its zip or folder, and keep the annotation sets that `select_frames` keeps.

    `notes` is told how many there were, and how many are left after each condition. `limit` keeps the first of those
    that are left.
    """
    check_limit(limit)
    counts = Counts()
    path = Path(path)
    with Collection(path) as files:
        if not is_framenet(files):
            raise UserError(f"{path} has no frame folder beside fulltext or lu; give FrameNet's zip or folder")
        found = list(annotation_sets(files, counts))
    if not found:
        raise UserError(f"{path} has no annotation set with a target and an element; check that it is all there")
    if notes is not None:
        notes += [
            f"{counts.sentences:,} sentences; words from the part-of-speech layer, in {counts.split:,} split at "
            "spaces and punctuation",
            f"{counts.sets:,} annotation sets: {counts.repeated:,} met before, {counts.bare:,} without elements, "
            f"{counts.broken:,} with spans outside the sentence; {len(found):,} are left",
        ]
    kept = select_frames(
        to_examples(found),
        max_words=max_words, max_targets=max_targets, max_element_words=max_element_words, gap=gap, min_core=min_core,
        notes=notes,
    )  # fmt: skip
    return kept if limit is None else kept.take(range(min(limit, len(kept))))


def select_frames(
    examples: Examples,
    *,
    max_words: int | None = 12,
    max_targets: int | None = 1,
    max_element_words: int | None = 3,
    gap: int | None = 2,
    min_core: int | None = 1,
    notes: list[str] | None = None,
) -> Examples:
    """The annotation sets in which attention from element to target means something: short sentences, and elements
    that are short and not beside the target, so that a head that looks at its neighbours doesn't pass. The defaults
    are those of Kovaleva et al. (2019); None switches a condition off.

    max_words           words a sentence may have
    max_targets         runs of words a target may be in: 'took ... off' is in 2
    max_element_words   words each element may have
    gap                 every word of an element must be more than this many positions from every word of the target
    min_core            core elements there must be
    """
    if examples.words is None or examples.links is None:
        raise UserError("these examples have no frames; read them with read_frames or read_relations")
    conditions: list[tuple[int | None, str, Callable[[tuple[str, ...], tuple[Link, ...], int], bool]]] = [
        (max_words, "at most {} words", lambda words, links, most: len(words) <= most),
        (max_targets, "at most {} run(s) of words as target", lambda words, links, most: _runs(links) <= most),
        (max_element_words, "at most {} words in each element", lambda words, links, most: _longest(links) <= most),
        (gap, "no element within {} positions of the target", lambda words, links, most: _nearest(links) > most),
        (min_core, "at least {} core element(s)", lambda words, links, least: _core(links) >= least),
    ]
    kept = list(range(len(examples)))
    for limit, says, holds in conditions:
        if limit is not None:
            kept = [row for row in kept if holds(examples.words[row], examples.links[row], limit)]
            if notes is not None:
                notes.append(f"{len(kept):,} annotation sets with {says.format(limit)}")
    if notes is not None:
        notes.append(f"{len({examples.text[row] for row in kept}):,} different sentences in them")
    return examples.take(kept)


def _runs(links: tuple[Link, ...]) -> int:
    return max((sum(at - 1 not in link.target for at in link.target) for link in links), default=0)


def _longest(links: tuple[Link, ...]) -> int:
    return max((len(link.source) for link in links), default=0)


def _nearest(links: tuple[Link, ...]) -> float:
    """The least distance from a word of an element to one of the target."""
    return min((abs(one - other) for link in links for one in link.source for other in link.target), default=inf)


def _core(links: tuple[Link, ...]) -> int:
    return sum(link.core for link in links)


def is_framenet(files: Collection) -> bool:
    """Whether a folder or zip is laid out as FrameNet is."""
    return bool(files.inside("frame", ".xml") and (files.inside("fulltext", ".xml") or files.inside("lu", ".xml")))
