"""The demo, whole: two runs with one seed agree to the last digit, and a rerun computes nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertscope.core.store import Store
from bertscope.study.file import read_study
from browsing import CHROMIUM, browser, height_of  # noqa: F401


def demo(folder: Path) -> str:
    folder.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "bertscope", "demo"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
@pytest.mark.alone
def test_two_runs_agree_and_a_rerun_computes_nothing(tmp_path, request):
    assert "running" in demo(tmp_path / "one")
    demo(tmp_path / "two")
    one, two = (Store(tmp_path / name / "bertscope-store") for name in ("one", "two"))
    steps = [stored.step for stored in one.finished()]
    assert {step.id for step in read_study("demo").steps} <= {step.id for step in steps}
    for step in steps:
        assert one.result(step).equals(two.result(step)), step.id
    page = (tmp_path / "one" / "demo-report.html").read_text(encoding="utf-8")
    for said in ("With and without pretraining", "Learning curve", "One head switched off at a time", "bag of words"):
        assert said in page
    if CHROMIUM is not None:
        assert height_of(request.getfixturevalue("browser"), tmp_path / "one" / "demo-report.html") <= 25_000
    started = time.perf_counter()
    assert "running" not in demo(tmp_path / "one")
    assert time.perf_counter() - started < 3
