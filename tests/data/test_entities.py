"""Entities: counts are those of the published definitions on any tags, well formed or not, and of seqeval itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import frozen_seqeval
import plain_entities
from bertscope.data.entities import ERRORS, entity_counts, entity_counts_by_type, entity_types, error_kinds
from tag_sequences import TAGS, tag_sequences

READINGS = {False: plain_entities.lenient, True: plain_entities.strict}


def random_tags(seed: int, arms: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions [arms, words] that are mostly gold's, gold [words] and sentences, some of which are empty."""
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 9, size=6))])
    weights = random.dirichlet(np.ones(len(TAGS)))
    gold = random.choice(len(TAGS), size=starts[-1], p=weights)
    other = random.choice(len(TAGS), size=(arms, starts[-1]), p=weights)
    return np.where(random.random(other.shape) < random.random(), other, gold), gold, starts


def sentences(tags: np.ndarray, starts: np.ndarray) -> list[list[str]]:
    return [[TAGS[at] for at in tags[first:end]] for first, end in pairwise(starts)]


def as_ids(*names: str) -> np.ndarray:
    return np.array([TAGS.index(name) for name in names], dtype=np.int64)


@pytest.mark.parametrize("strict", [False, True])
def test_counts_are_those_of_the_definitions_on_500_random_sequences(strict: bool) -> None:
    read: Callable[..., set[plain_entities.Entity]] = READINGS[strict]
    met = 0
    for seed in range(500):
        predicted, gold, starts = random_tags(seed)
        counts = entity_counts(predicted, gold, starts, TAGS, strict)
        by_type = entity_counts_by_type(predicted, gold, starts, TAGS, strict)
        assert counts.shape == (3, len(starts) - 1, 3) and by_type.shape == (3, len(starts) - 1, 3, 3)
        assert counts.dtype == np.float64
        for arm in range(3):
            for row, (one, other) in enumerate(
                zip(sentences(predicted[arm], starts), sentences(gold, starts), strict=True)
            ):
                here, there = read(one), read(other)
                assert counts[arm, row].tolist() == [len(here & there), len(here), len(there)]
                met += len(here & there)
                for place, type in enumerate(entity_types(TAGS)):
                    mine, true = ({each for each in side if each[0] == type} for side in (here, there))
                    assert by_type[arm, row, place].tolist() == [len(mine & true), len(mine), len(true)]
    assert met > 1000  # there was something to find


@pytest.mark.parametrize("strict", [False, True])
def test_f1_is_what_seqeval_said_of_500_random_sequences(strict: bool) -> None:
    """Its numbers are kept: `make` can't install it. tests/support/frozen_seqeval.py says how they were made."""
    kept = np.array(frozen_seqeval.frozen()["strict" if strict else "lenient"])
    found = np.array([ours(seed, strict) for seed in frozen_seqeval.SEEDS])
    assert kept.shape == (500, 6) and ((kept > 0) & (kept < 1)).mean() > 0.5  # most have something to say
    assert found == pytest.approx(kept, abs=1e-6)


def test_the_two_readings_differ_on_what_is_compared_with_seqeval() -> None:
    lenient, strict = (frozen_seqeval.frozen()[mode] for mode in ("lenient", "strict"))
    assert sum(one != other for one, other in zip(lenient, strict, strict=True)) > 400


@pytest.mark.parametrize("strict", [False, True])
def test_f1_is_seqevals_where_it_is_installed(strict: bool) -> None:
    pytest.importorskip("seqeval")
    for seed in (*frozen_seqeval.SEEDS, *range(10_000, 10_200)):
        assert ours(seed, strict) == pytest.approx(frozen_seqeval.by_seqeval(seed, strict), abs=1e-6), seed


def ours(seed: int, strict: bool) -> list[float]:
    """What `frozen_seqeval.by_seqeval` says, of our counts."""
    gold, predicted = tag_sequences(seed)
    starts = np.concatenate([[0], np.cumsum([len(row) for row in gold])])
    sides = (as_ids(*(tag for row in side for tag in row)) for side in (predicted, gold))
    types = entity_counts_by_type(*sides, starts, TAGS, strict).sum(0)  # [type, counted]
    right, found, there = types.sum(0)
    f1 = [2 * r / max(p + g, 1) for r, p, g in types]
    return [right / max(found, 1), right / max(there, 1), 2 * right / max(found + there, 1), *f1]


@pytest.mark.parametrize(
    ("tags", "lenient", "strict"),
    [
        (("B-PER", "I-PER", "O"), 1, 1),
        (("O", "I-PER", "I-PER"), 1, 0),  # nothing begins it
        (("B-PER", "I-LOC", "O"), 2, 1),  # an I of another type ends what was begun
        (("B-PER", "B-PER", "I-PER"), 2, 2),
        (("I-PER", "B-PER", "O"), 2, 1),
        (("O", "O", "O"), 0, 0),
    ],
)
def test_ill_formed_tags_by_hand(tags: tuple[str, ...], lenient: int, strict: int) -> None:
    ids, starts = as_ids(*tags), np.array([0, 3])
    assert entity_counts(ids, ids, starts, TAGS).tolist() == [[lenient] * 3]
    assert entity_counts(ids, ids, starts, TAGS, strict=True).tolist() == [[strict] * 3]


def test_an_entity_ends_with_its_sentence() -> None:
    """The same words and tags are one entity in one sentence, and two in two; strictly the second is none."""
    ids = as_ids("B-PER", "I-PER")
    assert entity_counts(ids, ids, np.array([0, 2]), TAGS)[:, 2].tolist() == [1]
    assert entity_counts(ids, ids, np.array([0, 1, 2]), TAGS)[:, 2].tolist() == [1, 1]
    assert entity_counts(ids, ids, np.array([0, 1, 1, 2]), TAGS, strict=True)[:, 2].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("gold", "predicted", "wanted"),
    [
        ("B-PER I-PER O O", "B-PER I-PER O O", {"right": 1}),
        ("B-PER I-PER O O", "B-LOC I-LOC O O", {"wrong_type": 1}),
        ("B-PER I-PER O O", "B-PER O O O", {"wrong_boundary": 1}),
        ("B-PER I-PER O O", "O B-LOC I-LOC O", {"other_overlap": 1}),
        ("B-PER I-PER O O", "O O O O", {"missed": 1}),
        ("O O O O", "O O B-LOC O", {"spurious": 1}),
        # two predicted in one true one: the first is its pair, the second is spurious
        ("B-PER I-PER I-PER O", "B-PER O B-PER O", {"wrong_boundary": 1, "spurious": 1}),
        # the true type is looked for before any overlap: LOC is the pair, PER, which overlaps as well, is spurious
        ("B-LOC I-LOC I-LOC O", "B-PER B-LOC I-LOC O", {"wrong_boundary": 1, "spurious": 1}),
        # each is used once: the exact one is right, and the other has nothing left to overlap with
        ("B-PER B-LOC I-LOC O", "B-PER B-LOC O B-PER", {"right": 1, "wrong_boundary": 1, "spurious": 1}),
        # one predicted in two true ones: that of its type is its pair
        ("B-PER I-PER B-LOC I-LOC", "O B-LOC I-LOC O", {"wrong_boundary": 1, "missed": 1}),
    ],
)  # fmt: skip
def test_errors_by_kind(gold: str, predicted: str, wanted: dict[str, int]) -> None:
    found = error_kinds(as_ids(*predicted.split()), as_ids(*gold.split()), np.array([0, 4]), TAGS)
    assert found == dict.fromkeys(("right", *ERRORS), 0) | wanted


def test_every_entity_is_used_once_and_every_step_pairs_as_many_as_it_can() -> None:
    for seed in range(300):
        predicted, gold, starts = random_tags(seed, arms=1)
        found = error_kinds(predicted[0], gold, starts, TAGS)
        right, here, there = entity_counts(predicted[0], gold, starts, TAGS).sum(0)
        paired = found["right"] + found["wrong_type"] + found["wrong_boundary"] + found["other_overlap"]
        assert found["right"] == right
        assert paired + found["spurious"] == here and paired + found["missed"] == there
        assert found["wrong_boundary"] == _most_of_the_same_type(predicted[0], gold, starts)


def _most_of_the_same_type(predicted: np.ndarray, gold: np.ndarray, starts: np.ndarray) -> int:
    """How many pairs of overlapping entities of one type a maximum matching has, after the exact spans."""

    def listed(tags: np.ndarray) -> set[tuple[int, str, int, int]]:
        rows = enumerate(sentences(tags, starts))
        return {(row, *entity) for row, names in rows for entity in plain_entities.lenient(names)}

    here, there = listed(predicted), listed(gold)
    spans = {(row, *span) for row, _, *span in here} & {(row, *span) for row, _, *span in there}
    left, right = (
        sorted(one for one in side if (one[0], *one[2:]) not in spans) for side in (here, there)
    )  # fmt: skip
    if not left or not right:
        return 0
    meet = [[a[:2] == b[:2] and a[2] <= b[3] and b[2] <= a[3] for b in right] for a in left]
    return int((maximum_bipartite_matching(csr_array(np.array(meet, dtype=int)), perm_type="column") >= 0).sum())


def test_what_is_no_tag_is_a_mistake_of_the_caller() -> None:
    ids, starts = as_ids("O", "B-PER"), np.array([0, 2])
    with pytest.raises(ValueError, match="'NOUN' is no IOB2 tag"):
        entity_counts(ids, ids, starts, ("O", "NOUN"))
    with pytest.raises(ValueError, match="places among 7 names, not -1"):
        entity_counts(ids - 1, ids, starts, TAGS)
    with pytest.raises(ValueError, match="begin at 0 and end at 2, not at 0 and 1"):
        entity_counts(ids, ids, np.array([0, 1]), TAGS)
    with pytest.raises(ValueError, match="one array"):
        error_kinds(ids[None], ids, starts, TAGS)
