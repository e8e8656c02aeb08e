"""A series of checkpoints through `patterns`, beside asking each alone: time, and memory. Each round in a process."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.options import Options, sentences

CHECKPOINTS = 12
SLOWER, LARGER = 1.2, 1.15  # times the time of asking each alone, and the memory of two models side by side
VARIANTS = {"alone": "each alone", "series": "as a series", "two": "two side by side"}


@dataclass
class Costs:
    data: str
    sentences: int
    seconds: dict[str, list[float]]
    megabytes: dict[str, list[float]]
    title: str = f"patterns of {CHECKPOINTS} checkpoints of pocket, opening and storing included"

    @property
    def claims(self) -> dict[str, tuple[float, float]]:
        """What is measured of each, and what it may be at most."""
        least, lowest = (
            {name: min(rounds) for name, rounds in each.items()} for each in (self.seconds, self.megabytes)
        )
        return {
            "of the time of asking each alone": (least["series"] / least["alone"], SLOWER),
            "of the memory of two checkpoints side by side": (lowest["series"] / lowest["two"], LARGER),
        }

    def to_json(self) -> dict[str, Any]:
        claims = [{"what": what, "measured": one, "most": most} for what, (one, most) in self.claims.items()]
        return {"title": self.title, "data": self.data, "sentences": self.sentences, "seconds": self.seconds,
                "megabytes": self.megabytes, "claims": claims}  # fmt: skip

    def __str__(self) -> str:
        lines = [self.title, f"on {self.sentences:,} sentences of {self.data}", "", f"  {'':17}  {'s':>7}  {'MB':>7}"]
        lines += [
            f"  {words:17}  {min(self.seconds[name]):7.1f}  {min(self.megabytes[name]):7,.0f}"
            for name, words in VARIANTS.items()
        ]
        for what, (measured, most) in self.claims.items():
            outcome = "holds" if measured <= most else "MISSED"
            lines.append(f"  claim: at most {most:g}x {what}: {measured:.2f}x, {outcome}")
        return "\n".join(lines)


def run(options: Options) -> Costs:
    data = sentences(options, "train.tsv", options.size(4096, 8))
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    megabytes: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "texts.txt").write_text("\n".join(data.examples.text) + "\n", encoding="utf-8")
        _keep(folder / "run", 3 if options.quick else CHECKPOINTS)
        for turn in range(options.rounds(2)):
            for name in VARIANTS:
                command = [sys.executable, "-m", "benchmarks.series", name, str(folder), str(turn)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                took, peak = map(float, done.stdout.split()[-2:])
                seconds[name].append(took)
                megabytes[name].append(peak)
    return Costs(data.source, len(data), seconds, megabytes)


def _keep(folder: Path, checkpoints: int) -> None:
    """Checkpoints whose weights differ a little, as a training would leave them."""
    import torch

    from bertscope.models.load import load

    model = load("pocket", device="cpu")
    for step in range(checkpoints):
        torch.manual_seed(step)
        with torch.no_grad():
            for weight in model.model.parameters():
                weight.mul_(1 + 0.01 * torch.randn_like(weight))
        model.save(folder / f"checkpoint-{step}")


def _cost(variant: str, folder: Path, turn: str) -> Sequence[float]:
    """The seconds that it takes, and the most memory that this process took, in MB."""
    from bertscope.core.planning import planned
    from bertscope.core.registry import find
    from bertscope.study.runner import run_steps

    question, store = find("patterns"), folder / f"store-{variant}-{turn}"
    whole = planned(question, [str(folder / "run")], str(folder / "texts.txt"), question.config(), {}, {})
    started = time.perf_counter()
    if variant == "series":
        run_steps([whole], store)
    elif variant == "alone":
        for step in whole.before():
            run_steps([step], store)
    else:
        named = [str(folder / "run" / f"checkpoint-{step}") for step in (0, 1)]
        run_steps([planned(question, named, str(folder / "texts.txt"), question.config(), {}, {})], store)
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return took, peak / 2 ** (20 if sys.platform == "darwin" else 10)  # bytes on a Mac, kilobytes elsewhere


if __name__ == "__main__":
    print(*_cost(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
