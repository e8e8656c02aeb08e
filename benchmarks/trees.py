"""Reading a treebank, and the distances between all words of all its sentences."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from benchmarks.options import Options, Sentences
from benchmarks.side_by_side import Claim, Report, Variant, compare
from bertscope.core.examples import ROOT, Examples
from bertscope.data.treebank import read_treebank, write_conllu
from bertscope.data.trees import all_distances

SHARED = Path(os.environ.get("BERTSCOPE_SHARED", Path(__file__).parents[2] / "shared"))
EWT = SHARED / "data/UD_English-EWT/en_ewt-ud-train.conllu"
WALK, SCIPY, OURS = "a walk from each word, plain Python", "scipy's shortest paths", "bertscope"
PARSE, READ = "conllu alone, all fields parsed", "read_treebank"


def run(options: Options) -> list[Report]:
    limit = options.rows or options.size(12544, 24)
    with tempfile.TemporaryDirectory() as scratch:
        file, name = (EWT, "EWT train") if EWT.exists() else (_made_up(Path(scratch), limit), "made-up trees")
        examples = read_treebank(file, limit=limit)
        assert examples.words is not None
        words = sum(map(len, examples.words))
        data = Sentences(examples, f"{name}, {len(examples):,} sentences, {words:,} words")
        return [
            compare(
                "reading a treebank, checks included",
                [
                    Variant(PARSE, lambda examples: lambda: _parsed(file, len(examples))),
                    Variant(READ, lambda examples: lambda: _read(file, len(examples))),
                ],
                data, options, repeats=3,
            ),
            compare(
                "the distances between all words of each sentence",
                [
                    Variant(WALK, lambda examples: lambda: _flat(map(_walked, examples.governors or ()))),
                    Variant(SCIPY, lambda examples: lambda: _flat(map(_by_scipy, examples.governors or ()))),
                    Variant(OURS, lambda examples: lambda: _flat(all_distances(examples.governors or ()))),
                ],
                data, options, repeats=3, claims=[Claim(OURS, WALK, 4), Claim(OURS, SCIPY, 10)],
            ),
        ]  # fmt: skip


def _flat(rows: Iterable[Any]) -> np.ndarray:
    return np.concatenate([np.ravel(row) for row in rows])


def _read(file: Path, limit: int) -> np.ndarray:
    return _flat(read_treebank(file, limit=limit).governors or ())


def _parsed(file: Path, limit: int) -> np.ndarray:
    import conllu

    with file.open(encoding="utf-8") as stream:
        read = [
            [token["head"] - 1 for token in sentence if isinstance(token["id"], int)]
            for sentence in islice(conllu.parse_incr(stream), limit)
        ]
    return _flat(read)


def _walked(heads: tuple[int, ...]) -> list[list[int]]:
    """What one would write first: from each word along the edges to all others."""
    near: list[list[int]] = [[] for _ in heads]
    for word, head in enumerate(heads):
        if head != ROOT:
            near[word].append(head)
            near[head].append(word)
    rows = []
    for start in range(len(heads)):
        row = [-1] * len(heads)
        row[start] = 0
        queue = [start]
        for word in queue:
            for other in near[word]:
                if row[other] < 0:
                    row[other] = row[word] + 1
                    queue.append(other)
        rows.append(row)
    return rows


def _by_scipy(heads: tuple[int, ...]) -> np.ndarray:
    up = np.asarray(heads)
    below = np.flatnonzero(up != ROOT)
    edges = csr_array((np.ones(len(below)), (below, up[below])), shape=(len(up), len(up)))
    return shortest_path(edges, directed=False, unweighted=True)


def _made_up(folder: Path, count: int) -> Path:
    """A file of random trees as long as EWT's sentences are on average, where EWT isn't at hand."""
    random = Random(0)
    heads = tuple((ROOT, *(random.randrange(word) for word in range(1, random.randint(1, 31)))) for _ in range(count))
    words = tuple(tuple(f"word{at}" for at in range(len(row))) for row in heads)
    ids = tuple(map(str, range(count)))
    examples = Examples(ids=ids, text=tuple(map(" ".join, words)), words=words, governors=heads)
    write_conllu(examples, folder / "made-up.conllu")
    return folder / "made-up.conllu"
