"""Where results come from is looked up without touching anything."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from bertscope.core.provenance import described


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_looking_up_the_commit_leaves_the_checkout_alone(tmp_path):
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(
            ["git", *who, "-C", tmp_path, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert described(tmp_path) is None
    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-qm", "one")
    # Another time of the same content: git would note it in its index, for which it takes the index's lock.
    os.utime(tmp_path / "file", (1, 1))
    index = tmp_path / ".git" / "index"
    before = index.stat().st_ino, index.read_bytes()
    assert described(tmp_path) == git("rev-parse", "HEAD")[:12]
    assert (index.stat().st_ino, index.read_bytes()) == before
    (tmp_path / "file").write_text("two")
    assert described(tmp_path).endswith("-dirty")
