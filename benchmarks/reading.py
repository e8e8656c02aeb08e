"""Reading files: what it costs to have every row checked and every mistake reported with its line.

One function for each kind of file; each writes the file first, so that `--rows` and `--data` hold here too.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.options import Options, sentences
from benchmarks.side_by_side import Report, Variant, Work, compare
from bertscope.core.examples import Examples

SST2_TRAIN = 67_349


def run(options: Options) -> list[Report]:
    with TemporaryDirectory() as folder:
        return [_tables(options, Path(folder))]


def _tables(options: Options, folder: Path) -> Report:
    """A .tsv file with a header; what the variants return, and must agree on, is how often each label occurs."""
    data = sentences(options, "train.tsv", options.size(SST2_TRAIN, 64))

    def written(examples: Examples) -> Path:
        assert examples.label is not None
        path = folder / f"{len(examples)}.tsv"
        rows = (f"{text}\t{label}\n" for text, label in zip(examples.text, examples.label, strict=True))
        path.write_text("sentence\tlabel\n" + "".join(rows), encoding="utf-8")
        return path

    def with_pandas(examples: Examples) -> Work:
        import pandas as pd

        path = written(examples)
        return lambda: np.bincount(pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False)["label"])

    def with_bertscope(examples: Examples) -> Work:
        from bertscope.data.read import read_task

        path = written(examples)

        def work() -> np.ndarray:
            task = read_task(path, text="sentence", label="label")
            return sum(np.bincount(part.label, minlength=2) for part in (task.train, task.validation, task.test))

        return work

    return compare(
        "reading a .tsv file",
        [Variant("pandas.read_csv", with_pandas), Variant("bertscope, checked, labelled and split", with_bertscope)],
        data, options, repeats=5,
    )  # fmt: skip
