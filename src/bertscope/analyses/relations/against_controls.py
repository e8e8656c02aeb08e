"""Every head's attention in pairs against that in their controls: tables, tests, and how often they find nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.relations.best import LEVEL, TEST, VALIDATION, exchanged, findings, holm_of_tested
from bertscope.analyses.relations.question import DIRECTIONS, ELEMENT
from bertscope.analyses.tables import tidy
from bertscope.core.intervals import interval
from bertscope.core.statistics import t_test

if TYPE_CHECKING:
    from bertscope.analyses.relations.batch import HeadSums
    from bertscope.analyses.relations.measure import RelationReader


def heads_table(reader: RelationReader, sums: HeadSums, least: int) -> pd.DataFrame:
    """Every head, relation and direction of one model: accuracy on both halves, attention beside that in controls."""
    counts = np.asarray(reader.counts)[:, :, None, None]  # [half, R, 1, 1]
    n, difference, p = _tested(reader, sums)
    n = n[:, None, None]
    control = _divided(sums.control.value, n)
    hits = sums.hits.value
    enough = np.broadcast_to(n >= least, p.shape)
    parts = []
    for layer, at in sums.layers.items():
        table = tidy(
            {"relation": reader.pairs.names, "direction": list(DIRECTIONS), "head": _numbered(hits[..., at])},
            validation_accuracy=_divided(hits[VALIDATION][..., at], counts[VALIDATION]),
            test_accuracy=_divided(hits[TEST][..., at], counts[TEST]),
            # Of pairs that have a control only, so that the three are of the same pairs.
            attention=(control + difference)[..., at],
            control=control[..., at],
            difference=difference[..., at],
            n=np.broadcast_to(n, p.shape)[..., at],
            p=np.where(enough, p, np.nan)[..., at],
        )  # fmt: skip
        table.insert(0, "layer", layer)
        parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = whole.groupby("relation")["p"].transform(holm_of_tested)
    whole["certain"] = (whole["p_holm"] < LEVEL) & (whole["difference"] > 0)
    return whole


def frames_table(reader: RelationReader, sums: HeadSums) -> pd.DataFrame:
    """Each head's attention from frames' elements to what evokes them, and its test against controls, corrected for
    all heads; beside it the score of the paper, which has no test."""
    relation = reader.pairs.names.index(ELEMENT)
    n, difference, p = (found[relation] for found in _tested(reader, sums))
    control = _divided(sums.control.value[relation], n)
    scores = sums.scores.draws
    low, high = interval(scores[:, 0])
    parts = []
    for layer, at in sums.layers.items():
        table = tidy(
            {"head": _numbered(scores[..., at])},
            score=scores[0, 0, at], low=low[at], high=high[at], control=control[0, at], difference=difference[0, at],
            p=p[0, at], maximum=scores[0, 1, at],
        ).assign(n=int(sums.scores.count), n_compared=int(n))  # fmt: skip
        table.insert(0, "layer", layer)
        parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = holm_of_tested(whole["p"])
    whole["certain"] = (whole["p_holm"] < LEVEL) & (whole["difference"] > 0)
    return whole


def found_by_chance(reader: RelationReader, sums: HeadSums, least: int) -> Iterator[tuple[str, np.ndarray]]:
    """For each relation that is tested, and for frames (""), how many tests find something in each draw [draw], in
    which pairs and their controls are exchanged at random."""
    for relation, name in enumerate(reader.pairs.names):
        mine = _mine(reader, relation)
        framed = name == ELEMENT and reader.pairs.has_frames
        if len(mine) < (2 if framed else least):
            continue
        apart = sums.differences(mine)
        signs = exchanged(reader.pairs.control_keys[mine])
        drawn = (signs @ apart.reshape(len(mine), -1)).reshape(-1, *apart.shape[1:])
        p = t_test(drawn, (apart**2).sum(0), len(mine))
        if len(mine) >= least:
            yield name, findings(p)
        if framed:
            yield "", findings(p[:, :1])


def _mine(reader: RelationReader, relation: int) -> np.ndarray:
    return np.flatnonzero(reader.pairs.control_relation == relation)


def _tested(reader: RelationReader, sums: HeadSums) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """[R]: how many pairs have a control; [R, direction, head]: the mean difference, and its p-value."""
    shape = (len(reader.pairs.names), *sums.apart.array.shape[1:])
    n, means, p = np.zeros(shape[0]), np.full(shape, np.nan), np.full(shape, np.nan)
    for relation in range(shape[0]):
        mine = _mine(reader, relation)
        n[relation] = len(mine)
        if len(mine):
            apart = sums.differences(mine)
            means[relation] = apart.mean(0)
            p[relation] = t_test(apart.sum(0), (apart**2).sum(0), len(mine))
    return n, means, p


def _numbered(of_heads: np.ndarray) -> range:
    return range(1, of_heads.shape[-1] + 1)


def _divided(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    counts = np.broadcast_to(counts, sums.shape)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan, dtype=float), where=counts > 0)


def beyond_twins(tables: Sequence[pd.DataFrame], models: int) -> list[pd.DataFrame]:
    """The tables of models and of their random twins, where what is certain of a model is also more than any head of
    its twin has: a net with random weights tells words apart too, by their embeddings."""
    beyond = []
    for table, twin in zip(tables[:models], tables[models:], strict=False):
        by = [name for name in ("relation", "direction") if name in twin]
        most = twin.groupby(by, sort=False)["difference"].transform("max") if by else twin["difference"].max()
        beyond.append(table.assign(certain=table["certain"] & (table["difference"] > most)))
    return [*(beyond or tables[:models]), *tables[models:]]


def side_by_side_tables(tables: Sequence[pd.DataFrame], models: Sequence[str]) -> pd.DataFrame:
    """One table of all models; the differences of their random twins, which follow if there are any, are a column."""
    parts = []
    for which, model in enumerate(models):
        table = tables[which].copy()
        table.insert(0, "checkpoint", model)
        if len(tables) > len(models):
            table["random_weights"] = tables[len(models) + which]["difference"].to_numpy()
        parts.append(table)
    return pd.concat(parts, ignore_index=True)
