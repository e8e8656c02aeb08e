"""What questions wait for on a GPU: seconds beside the bare pass, and how often something waits for the device.

    python -m benchmarks.gpu_profiles --device cuda --texts SST-2/dev.tsv

On a CPU it runs too, where nothing waits: that it works can be seen there (`--size 2 2 32`). Waits are those of which
torch.cuda.set_sync_debug_mode tells; what a library of the GPU's waits for by itself (eigenvalues) isn't among them.
"""

from __future__ import annotations

import argparse
import linecache
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attention import annotated
from benchmarks.options import Options, sentences
from benchmarks.scale import random_bert
from benchmarks.side_by_side import machine, now
from bertscope.analyses.explain.question import explain
from bertscope.analyses.geometry.question import geometry
from bertscope.analyses.importance.question import importance
from bertscope.analyses.probe.question import probe
from bertscope.core.examples import Examples
from bertscope.core.threads import be_considerate
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.observe import observe
from bertscope.models.states import hidden_states

_FEW = 32  # sentences of the first run, which isn't timed: libraries are loaded and memory is taken in it
_TELLS = "synchronizing CUDA operation"


def main(arguments: list[str] | None = None) -> None:
    be_considerate()
    asked = _parser().parse_args(arguments)
    options = Options(device=asked.device, data=asked.texts, rows=asked.sentences)
    data = sentences(options, "dev.tsv", asked.sentences)
    encoder = random_bert(*asked.size, asked.device)
    print("  ".join(f"{name}: {value}" for name, value in machine(asked.device).items()))
    print(f"a random {' x '.join(map(str, asked.size))} BERT; {data.source}")
    examples = annotated(data.examples)
    few = examples.take(range(min(_FEW, len(examples))))
    print(f"{'':12} {'seconds':>9} {'the pass':>9} {'times':>7} {'waits':>7}")
    for name in asked.only or WORKS:
        prepare = WORKS[name]
        prepare(encoder, few)()
        _pass(encoder, few)
        work = prepare(encoder, examples)
        seconds, bare = (_seconds(one, asked.device) for one in (work, partial(_pass, encoder, examples)))
        with _waits(asked.device) as places:
            prepare(encoder, examples)()  # prepared anew: what a step keeps isn't found again
        told = f"{name:12} {seconds:9.3f} {bare:9.3f} {seconds / bare:7.1f} {sum(places.values()):7}"
        print("\n".join([told, *_most(places, asked.places)]), flush=True)


def _importance(encoder: Encoder, examples: Examples) -> Callable[[], Any]:
    task = _task(examples)
    return lambda: importance(encoder, task, faithful=False)


def _states(encoder: Encoder, examples: Examples) -> Callable[[], Any]:
    return lambda: hidden_states(encoder, examples)


def _geometry(encoder: Encoder, examples: Examples) -> Callable[[], Any]:
    states = hidden_states(encoder, examples)
    return lambda: geometry(states, examples)


def _probe(encoder: Encoder, examples: Examples) -> Callable[[], Any]:
    states = hidden_states(encoder, examples)
    return lambda: probe(states, examples, targets=("pos",))


def _explain(encoder: Encoder, examples: Examples) -> Callable[[], Any]:
    return lambda: explain(encoder, _task(examples), sample=len(examples))


WORKS: dict[str, Callable[[Encoder, Examples], Callable[[], Any]]] = {
    "importance": _importance, "states": _states, "geometry": _geometry, "probe": _probe, "explain": _explain,
}  # fmt: skip
"""By question, what makes it ready; without what is made before it: `states` of geometry and probe."""


def _task(examples: Examples) -> Task:
    """All of the examples are the test set; other questions aren't asked of the rest."""
    parts = {"train": examples, "validation": examples, "test": examples}
    return Task("sentences", "classification", ("LABEL_0", "LABEL_1"), **parts, metric="accuracy")


def _pass(encoder: Encoder, examples: Examples) -> None:
    class Nobody:
        needs = frozenset({"logits"})

        def update(self, batch: Any, seen: Any) -> None:
            pass

    observe([encoder], examples, [Nobody()])


def _seconds(work: Callable[[], Any], device: str) -> float:
    started = now(device)
    work()
    return now(device) - started


@contextmanager
def _waits(device: str) -> Iterator[Counter[str]]:
    """Where something waits for the device in this block, and how often."""
    import torch

    found: Counter[str] = Counter()
    if device == "cpu":
        yield found
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
    for one in told:
        if _TELLS in str(one.message):
            source = linecache.getline(one.filename, one.lineno).strip()
            found[f"{Path(one.filename).name}:{one.lineno} {source}"] += 1


def _most(places: Counter[str], count: int) -> Sequence[str]:
    return [f"    {times:6} {place}" for place, times in places.most_common(count)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_profiles", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--texts", type=Path, help="a .tsv with columns sentence and label; else SST-2's or the demo's"
    )
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--size", type=int, nargs=3, default=(12, 12, 768), metavar=("LAYERS", "HEADS", "WIDTH"))
    parser.add_argument("--only", nargs="+", choices=WORKS, help="some of the questions")
    parser.add_argument("--places", type=int, default=4, help="of waits, that are listed for each question")
    return parser


if __name__ == "__main__":
    main()
