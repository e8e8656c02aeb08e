"""The list of tests that use a GPU names files that there are, and what a run found makes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gpu_tests


def test_files_in_the_list_are_there():
    assert (files := gpu_tests.listed()) and all((gpu_tests.ROOT / file).is_file() for file in files)
    assert "tests/training/test_captured_gpu.py" in files


def test_what_runs_found_becomes_the_list(tmp_path, monkeypatch):
    page = tmp_path / "gpu.md"
    page.write_text("before\n<!-- gpu tests -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(gpu_tests, "PAGE", page)
    reports = []
    found = [{"tests/models/test_b.py": 2000, "tests/core/test_a.py": 1}, {"tests/models/test_c.py": 3}]
    for place, passed in enumerate(found):
        reports.append(tmp_path / f"{place}.json")
        reports[-1].write_text(json.dumps({"passed": passed, "failed": []}))
    gpu_tests.write(reports)
    assert "| `tests/models` | 2,003 | `test_b` 2,000, `test_c` 3 |" in page.read_text()
    assert page.read_text().startswith("before\n") and page.read_text().endswith("<!-- end -->\nafter\n")
    assert gpu_tests.listed() == ["tests/core/test_a.py", "tests/models/test_b.py", "tests/models/test_c.py"]
    reports[0].write_text(json.dumps({"passed": {}, "failed": ["tests/core/test_a.py::test_one"]}))
    with pytest.raises(SystemExit, match=r"1 tests failed, the first is tests/core/test_a\.py::test_one"):
        gpu_tests.write(reports)


def test_a_run_sees_who_uses_the_gpu(run_in_a_process):
    """With allocations that are counted by hand here: there is no GPU."""
    found = run_in_a_process(
        "import gpu_tests\n"
        "made = [0]\n"
        "gpu_tests._allocations = lambda: made[0]\n"
        "def test_uses(): made[0] += 1\n"
        "def test_doesnt(): pass\n"
        "def test_fails():\n    made[0] += 1\n    assert False\n"
    )
    assert found == {"passed": {"test_three.py": 1}, "failed": ["test_three.py::test_fails"]}


@pytest.fixture
def run_in_a_process(tmp_path):
    """Run a file of tests in a process of its own, with the plugin."""

    def run(code: str) -> dict:
        (tmp_path / "test_three.py").write_text(code)
        support = Path(gpu_tests.__file__).parent
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "gpu_tests",
            "--gpu-report",
            "found.json",
            "test_three.py",
        ]
        paths = os.pathsep.join([str(support), *sys.path])
        subprocess.run(words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True)
        return json.loads((tmp_path / "found.json").read_text())

    return run
