"""The peak memory of the five questions about attention as the corpus grows, each size in a process of its own."""

from __future__ import annotations

import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.options import Options, sentences

SIZES = (1_000, 5_000, 10_000)
MOST = 1.15  # times the smallest corpus's: that one fills half of a window of 2,048 texts, the others fill it


@dataclass
class Peaks:
    data: str
    megabytes: dict[int, list[float]]
    """By sentences; every round."""
    title: str = "peak memory of the five questions about two checkpoints, with the default classifier"

    @property
    def growth(self) -> float:
        """How many times the smallest corpus's memory the largest's is."""
        smallest, *_, largest = (min(rounds) for rounds in self.megabytes.values())
        return largest / smallest

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "data": self.data,
            "megabytes": self.megabytes,
            "claims": [{"most": MOST, "measured": self.growth}],
        }

    def __str__(self) -> str:
        lines = [self.title, f"on {self.data}", "", f"  {'sentences':>9}  {'MB':>7}"]
        lines += [f"  {size:9,}  {min(rounds):7,.0f}" for size, rounds in self.megabytes.items()]
        lines += ["", "  of the whole process, Python, torch, both models and the corpus itself included"]
        outcome = "holds" if self.growth <= MOST else "MISSED"
        claim = f"  claim: at most {MOST:g}x from the first to the last: {self.growth:.2f}x, {outcome}"
        return "\n".join([*lines, claim])


def run(options: Options) -> Peaks:
    sizes = (4, 16) if options.quick else SIZES
    data = sentences(options, "train.tsv", sizes[-1])
    found: dict[int, list[float]] = {size: [] for size in sizes if size <= len(data)}
    for _ in range(options.rounds(1)):
        for size, peaks in found.items():
            command = [sys.executable, "-m", "benchmarks.memory", str(size)]
            command += [str(options.data)] if options.data else []
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peaks.append(float(done.stdout.split()[-1]))
    return Peaks(data.source, found)


def _peak(size: int, data: Path | None) -> float:
    """What this process took at most, in MB, after asking the questions of so many sentences."""
    from benchmarks.attention import annotated, read, tuned
    from bertscope.models.load import load

    examples = annotated(sentences(Options(rows=size, data=data), "train.tsv", size).examples)
    before = load("pocket", device="cpu")
    read([before, tuned(before)], examples, classified=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2 ** (20 if sys.platform == "darwin" else 10)  # bytes on a Mac, kilobytes elsewhere


if __name__ == "__main__":
    print(_peak(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
