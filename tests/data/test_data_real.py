"""The real data, where it is: every task has its rows, and they are what another reader finds."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from bertscope.data.corpus import read_examples
from bertscope.data.read import read_task, task_root
from shared_data import DATA, needs_data

COUNTS = {
    "glue/SST-2": ("glue/sst2", 67_349 + 872, 1_821), "glue/RTE": ("glue/rte", 2_490, 277),
    "glue/MRPC": ("glue/mrpc", 4_076, 1_725), "glue/STS-B": ("glue/stsb", 5_749 + 1_500, 1_379),
    "glue/CoLA": ("glue/cola", 8_551, 527 + 516), "glue/WNLI": ("glue/wnli", 635, 71),
    "glue-10k/QNLI": ("glue/qnli", 8_999, 1_000), "glue-10k/MNLI": ("glue/mnli", 8_999, 1_000),
    "glue-10k/QQP": ("glue/qqp", 8_999, 1_000), "glue-10k/SNLI": ("snli", 8_999, 1_000),
    "snli": ("snli", 9_842, 9_824),
}  # fmt: skip


@needs_data
@pytest.mark.parametrize("where", COUNTS)
def test_the_real_folders_have_their_rows(where):
    name, train, test = COUNTS[where]
    task = read_task(DATA / where)
    assert (task.name, len(task.train) + len(task.validation), len(task.test)) == (name, train, test)
    by_name = task_root(name, root=(DATA / where).parent)
    assert by_name.id == task_root(DATA / where).id
    assert set(np.unique(task.test.label)) == set(range(len(task.labels))) or task.kind == "regression"


@needs_data
def test_the_real_files_alone_have_their_rows():
    for where, rows_there in (("glue/QNLI", 5_463), ("webmd/webmd.csv", 4_999 - 460)):
        task = read_task(DATA / where)
        assert len(task.train) + len(task.validation) + len(task.test) == rows_there
    for name, split, rows_there in (("glue/sst2", "published-test", 1_821), ("glue/stsb", "published-test", 1_379)):
        assert len(read_examples(name, root=DATA / "glue", split=split)) == rows_there
    hans = read_examples("hans", root=DATA)
    assert len(hans) == 30_000 and hans.label.sum() == 15_000


@needs_data
def test_the_real_rows_are_what_another_reader_finds():
    """Text and labels of whole files against Python's csv module, and MRPC's shares against the published ones."""
    with (DATA / "webmd/webmd.csv").open(encoding="utf-8-sig", newline="") as stream:
        found = [(row["Reviews"].strip(), row["Satisfaction"]) for row in csv.DictReader(stream)]
    task = read_task("webmd", root=DATA)
    splits = [task.train, task.validation, task.test]
    mine = [(text, task.labels[label]) for part in splits for text, label in zip(part.text, part.label, strict=True)]
    assert sorted(mine) == sorted(row for row in found if row[0])
    assert "460 rows left out (blank text: 460)" in task.notes
    mrpc = read_task("glue/mrpc", root=DATA / "glue")
    assert mrpc.test.label.sum() == 1_147 and mrpc.labels[1] == "equivalent"
    assert replace(mrpc, metric="f1").chance() == pytest.approx(2 * 1147 / (1725 + 1147))
