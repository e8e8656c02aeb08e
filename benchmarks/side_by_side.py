"""Variants of the same work, timed in turn: A B C A B C ... The minimum of a variant's rounds counts.

A machine's clock drifts, by up to 2.7x on the one these were written on. So no time means anything alone: variants
are interleaved, every claim is a ratio within one run, and nothing here is ever a test with a limit in seconds.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from benchmarks.options import BATCH, Options, Sentences
from bertscope.core.examples import Examples

TOLERANCE = 1e-4  # on logits, and on whatever else is compared


Work = Callable[[], "np.ndarray | float | None"]
"""Returns logits, or the like, which must agree between variants; or the seconds it took, where it must keep the time
itself."""


class Skipped(Exception):
    """This benchmark can't run here; says why."""


@dataclass(frozen=True)
class Variant:
    name: str
    prepare: Callable[[Examples], Work]
    """Does what isn't timed, and returns the work that is."""


@dataclass(frozen=True)
class Claim:
    """`variant` is at least `least` times as fast as `over`."""

    variant: str
    over: str
    least: float


@dataclass
class Report:
    title: str
    data: str
    examples: int
    rounds: dict[str, list[float]]
    """Each variant's seconds, round by round; the first variant is the baseline."""
    agreement: float | None = None
    """The largest difference between what the variants give, where there are several variants."""
    passes: int = 1
    """How often the work goes through the examples: once per head in a scan."""
    claims: Sequence[Claim] = ()
    notes: list[str] = field(default_factory=list)

    def seconds(self, variant: str) -> float:
        return min(self.rounds[variant])

    def ratio(self, variant: str, over: str | None = None) -> float:
        """How many times as fast as `over`, or as the baseline, a variant is."""
        return self.seconds(over or next(iter(self.rounds))) / self.seconds(variant)

    def rate(self, variant: str) -> float:
        """Examples per second, counted again in every pass."""
        return self.examples * self.passes / self.seconds(variant)

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "data": self.data,
            "examples": self.examples,
            "passes": self.passes,
            "agreement": self.agreement,
            "variants": [
                {
                    "variant": name,
                    "seconds": self.seconds(name),
                    "ratio": self.ratio(name),
                    "examples_per_second": self.rate(name),
                    "rounds": rounds,
                }
                for name, rounds in self.rounds.items()
            ],
            "claims": [asdict(claim) | {"measured": self.ratio(claim.variant, claim.over)} for claim in self.claims],
            "notes": self.notes,
        }

    def __str__(self) -> str:
        wide = max(map(len, self.rounds))
        lines = [self.title, f"on {self.data}", ""]
        lines += [f"  {'variant':{wide}}  {'seconds':>9}  {'ratio':>6}  {'examples/s':>10}"]
        lines += [
            f"  {name:{wide}}  {self.seconds(name):9.3f}  {self.ratio(name):5.2f}x  {self.rate(name):10,.1f}"
            for name in self.rounds
        ]
        lines += ["", f"  seconds: the minimum of {len(next(iter(self.rounds.values())))}"]
        if len(self.rounds) > 1:
            lines[-1] += ", variants interleaved; ratio: times as fast as the first"
        if self.agreement is not None:
            lines += [f"  the variants agree: they differ by {self.agreement:.1e} at most"]
        lines += [f"  {note}" for note in self.notes]
        for claim in self.claims:
            measured = self.ratio(claim.variant, claim.over)
            outcome = "holds" if measured >= claim.least else "MISSED"
            claimed = f"{claim.variant} at least {claim.least:g}x as fast as {claim.over}"
            lines += [f"  claim: {claimed}: {measured:.2f}x, {outcome}"]
        return "\n".join(lines)


def compare(
    title: str, variants: Sequence[Variant], data: Sentences, options: Options, *, repeats: int, **report: Any
) -> Report:
    """Warm every variant up, but for a quick look; then time them in turn. What the first round gave is compared."""
    for variant in variants if not options.quick else ():
        variant.prepare(data.examples.take(range(min(BATCH, len(data)))))()
    rounds: dict[str, list[float]] = {variant.name: [] for variant in variants}
    outputs: list[np.ndarray] = []
    for turn in range(options.rounds(repeats)):
        for variant in variants:
            seconds, output = _timed(variant.prepare(data.examples), options.device)
            rounds[variant.name].append(seconds)
            if turn == 0 and output is not None:
                outputs.append(output)
    if len(outputs) > 1:
        report["agreement"] = difference(outputs)
    return Report(title, data.source, len(data), rounds, **report)


def difference(outputs: Sequence[np.ndarray]) -> float:
    """How far outputs are from the first at most; too far, and the variants don't do the same work."""
    largest = max(float(np.abs(output - outputs[0]).max()) for output in outputs[1:])
    if not largest <= TOLERANCE:
        raise SystemExit(f"the variants differ by {largest:.1e}: they don't do the same work")
    return largest


def now(device: str) -> float:
    """The clock, once the device has done all it was asked to."""
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()


def _timed(work: Work, device: str) -> tuple[float, np.ndarray | None]:
    started = now(device)
    output = work()
    seconds = now(device) - started
    return (output, None) if isinstance(output, float) else (seconds, output)


def machine(device: str) -> dict[str, Any]:
    """The facts without which the seconds say nothing."""
    facts: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "device": device,
    }
    if device != "cpu":
        facts["gpu"] = torch.cuda.get_device_name()
        facts["tf32"] = torch.backends.cuda.matmul.allow_tf32
    return facts


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )
