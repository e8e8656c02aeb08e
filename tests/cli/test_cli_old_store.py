"""A store that the version before wrote, tests/fixtures/old-store: nothing of it is misread, and asked again it is
computed again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bertscope.core.store import Store

FIXTURES = Path(__file__).parents[1] / "fixtures"
COUNTED = "skipped 7 steps of an earlier version in bertscope-store; "


@pytest.fixture
def old(tmp_path) -> Store:
    """A copy of it where `command` runs, beside its study and its model."""
    shutil.copytree(FIXTURES / "c2a538d" / "base", tmp_path / "base")
    shutil.copy(FIXTURES / "old-study.yaml", tmp_path / "old.yaml")
    return Store(shutil.copytree(FIXTURES / "old-store", tmp_path / "bertscope-store"))


def test_its_steps_are_skipped_with_one_counted_line(command, old):
    assert not list(old.finished()) and len(old.of_other_versions()) == 7
    before = {path: path.read_bytes() for path in old.folder.rglob("*") if path.is_file()}
    for code, *words in (
        (2, "ls"), (2, "show", "ablate"), (2, "claims"), (2, "report", "build"),
        (2, "report", "export", "--out", "all"), (0, "study", "status", "old.yaml"), (0, "study", "gc", "old.yaml"),
        (0, "study", "run", "old.yaml", "--dry-run"),
    ):  # fmt: skip
        found, _, err = command(*words)
        assert (found, err.count(COUNTED)) == (code, 1) and len(err.splitlines()) == 1 + (code == 2), (words, err)
    after = {path: path.read_bytes() for path in old.folder.rglob("*") if path.is_file()}
    assert {path: after[path] for path in before} == before, "looking at it changes nothing"


def test_what_is_asked_again_is_computed_again(command, old, tmp_path):
    asked = ("patterns", "base", "--on", "demo/corpus", "--limit", "24")
    code, out, err = command(*asked)
    assert code == 0 and "done     patterns" in err and out
    (stored,) = old.finished()
    assert stored.step.name == "patterns" and "stored   patterns" in command(*asked)[2]
    assert "patterns" in command("ls")[1] and command("report", "build")[0] == 0
    assert "deleted: " in command("rm", "--other-versions", "--yes")[1] and not old.of_other_versions()
    assert [one.step.id for one in old.finished()] == [stored.step.id, *_ledgers(old)]


def _ledgers(store: Store) -> list[str]:
    return [one.step.id for one in store.finished() if one.step.name == "claims"]
