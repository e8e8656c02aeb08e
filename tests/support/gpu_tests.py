"""Which tests use a GPU. A run on one finds out; docs/gpu.md has the list, and `make test-gpu` runs its files.

BERTSCOPE_TEST_DEVICE=cuda python -m pytest -p gpu_tests --gpu-report FOUND.json
python tests/support/gpu_tests.py FOUND.json ...    # writes the list of what was found
python tests/support/gpu_tests.py                   # prints the files in the list
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gpu.md"
_BLOCK = re.compile(r"(?<=<!-- gpu tests -->\n).*?(?=<!-- end -->)", re.DOTALL)
_FOLDER = re.compile(r"^\| `tests/(\w+)` \| [\d,]+ \| (.*) \|$", re.MULTILINE)
_FILE = re.compile(r"`(\w+)` [\d,]+")
_USES = "uses the GPU"


def listed() -> list[str]:
    """The files that the page names."""
    found = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found, f"{PAGE} has no block for the list"
    return [
        f"tests/{folder}/{file}.py" for folder, files in _FOLDER.findall(found[0]) for file in _FILE.findall(files)
    ]


def table(counts: dict[str, int]) -> str:
    """A row for each folder: how many tests of which files use a GPU."""
    folders = defaultdict[str, dict[str, int]](dict)
    for file, count in sorted(counts.items()):
        folders[str(Path(file).parent)][Path(file).stem] = count
    rows = [
        f"| `{folder}` | {sum(files.values()):,} | {', '.join(f'`{name}` {n:,}' for name, n in files.items())} |\n"
        for folder, files in folders.items()
    ]
    return "| folder | tests | of which file |\n|---|---|---|\n" + "".join(rows)


def write(reports: list[Path]) -> None:
    """Put what runs found in the place of the list. Tests that failed are no list of what works."""
    found = [json.loads(report.read_text(encoding="utf-8")) for report in reports]
    if failed := [name for one in found for name in one["failed"]]:
        raise SystemExit(f"{len(failed)} tests failed, the first is {failed[0]}")
    counts = sum((Counter(one["passed"]) for one in found), Counter())
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda _: table(counts), page), encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu-report", type=Path, help="write down there which tests used the GPU")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.gpu_report and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Report(config.option.gpu_report))


def _allocations() -> int:
    """How often memory of the GPU was asked for, since the process began."""
    import torch

    return torch.cuda.memory_stats().get("allocation.all.allocated", 0) if torch.cuda.is_initialized() else 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    before = _allocations()
    try:
        return (yield)
    finally:
        item.user_properties.append((_USES, _allocations() > before))


class _Report:
    """Of the process that sees all results."""

    def __init__(self, file: Path) -> None:
        self._file, self._passed, self._failed = file, Counter[str](), list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)
        elif report.when == "call" and report.passed and (_USES, True) in map(tuple, report.user_properties):
            self._passed[report.nodeid.partition("::")[0]] += 1

    def pytest_sessionfinish(self) -> None:
        found = {"passed": dict(sorted(self._passed.items())), "failed": self._failed}
        self._file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write([Path(name) for name in sys.argv[1:]]) if sys.argv[1:] else print(*listed())
