"""Emergence: when do patterns, relations, trees, minimal pairs and the cone appear in a pre-training?

    emergence.py MODEL --data ../shared/data --out DIR [--limit N]

MODEL holds `checkpoint-N`s (`bertscope pretrain --keep log`). Five questions are asked of them as a series, on EWT's
dev sentences and on BLiMP's pairs; each answer is the series' (lines, onsets, layers and heads by step), saved in a
folder of its own: together well under 2 MB. With --store, what is known already isn't asked again. On the command
line each is one call, such as `bertscope relations 'MODEL/checkpoint-*' --on en_ewt-ud-dev.conllu`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import bertscope
from bertscope.core.result import Result

MOST_BYTES = 2_000_000


def asked(
    run: str | Path, trees: str, pairs: str, store: str | Path, *, limit: int | None = None,
    of_pairs: int | None = None, **quick: Any,
) -> dict[str, Result]:  # fmt: skip
    """The five answers: of the sentences of a treebank, and of minimal pairs; so many of them at most."""
    series, told = bertscope.series(f"{run}/checkpoint-*"), {"store": store, "limit": limit}
    return {
        "patterns": bertscope.patterns(series, trees, **told, **quick),
        "relations": bertscope.relations(series, trees, **told, **quick),
        "structure": bertscope.structure(series, trees, random=False, control=False, **told, **quick),
        "geometry": bertscope.geometry(series, trees, **told),
        "minimal-pairs": bertscope.minimal_pairs(series, pairs, rows=0, store=store, limit=of_pairs, **quick),
    }


def saved(answers: dict[str, Result], out: Path) -> int:
    """Bytes of all that is written there."""
    for name, answer in answers.items():
        answer.save(out / name)
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--store", default="bertscope-store")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=6700)
    given = parser.parse_args()
    sources = (given.data / "UD_English-EWT/en_ewt-ud-dev.conllu", given.data / "blimp/BLiMP.zip")
    found = asked(given.model, *map(str, sources), given.store, limit=given.limit, of_pairs=given.pairs)
    size = saved(found, given.out)
    for name, answer in found.items():
        print(name, answer.tables["onsets"].to_string(index=False), sep="\n")
    print(f"{size:,} bytes, {'fits' if size < MOST_BYTES else f'more than {MOST_BYTES:,}'}")
