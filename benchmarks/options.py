"""What a run works on: sizes, device, and sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bertscope.core.examples import Examples

BATCH = 32  # examples per batch, wherever a variant batches by examples
SST2 = Path(__file__).parents[2] / "shared/data/glue/SST-2"


@dataclass(frozen=True)
class Options:
    quick: bool = False
    """Tiny sizes: everything runs, the figures mean nothing."""
    repeats: int | None = None
    """Rounds; None is what suits the benchmark."""
    device: str = "cpu"
    data: Path | None = None
    """A GLUE-like file with columns `sentence` and `label`, instead of the benchmark's own."""
    rows: int | None = None
    """How many sentences; None is what the benchmark is about."""
    heads: int = 1
    """How many heads of each layer the ablation's baselines run again."""
    tuned: tuple[str, ...] = ()
    """Fine-tuned models that are shrunk, each with its task: FOLDER=TASK."""
    store: Path = Path("bertscope-store")
    """Where the answers of shrink are kept."""
    distill: bool = False
    """Whether what shrink leaves is trained on what the whole model says, too."""
    epochs: int | None = None
    """How often it goes through the training set; None is what the recipe says."""

    captum: Path | None = None
    """The folder in which captum is, where it isn't installed."""

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def rounds(self, usual: int) -> int:
        return self.repeats or self.size(usual, 1)


@dataclass(frozen=True)
class Sentences:
    examples: Examples
    source: str
    """What to print beside the figures."""

    def __len__(self) -> int:
        return len(self.examples)


def sentences(options: Options, file: str, limit: int) -> Sentences:
    """The first rows (`limit`, or `--rows`) of `--data`, or of SST-2's `file` if it is there, or of the demo."""
    limit = options.rows or limit
    path = options.data or SST2 / file
    if path.exists():
        import pandas as pd

        table = pd.read_csv(path, sep="\t", quoting=3, nrows=limit)
        name = path.name if options.data else f"SST-2 {file}"
        texts, labels = table["sentence"].str.strip(), table["label"]
    elif options.data:
        raise SystemExit(f"{path} doesn't exist")
    else:
        from bertscope.data.read import read_task

        task = read_task("demo/sentiment")
        split = task.train if file.startswith("train") else task.test
        split = split.take(range(min(limit, len(split))))
        name, texts, labels = "demo/sentiment (no SST-2 here)", split.text, split.label
    examples = Examples(
        ids=tuple(str(row) for row in range(len(texts))), text=tuple(texts), label=np.array(labels, dtype=np.int64)
    )
    return Sentences(examples, f"{name}, {len(examples):,} sentences")
