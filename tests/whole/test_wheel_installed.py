"""The wheel in an empty environment, without the repository: a newcomer's first commands, in a folder elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from built_wheel import build
from lock import HERE

pytestmark = pytest.mark.slow


class Place:
    """A virtual environment, and a folder that commands run in."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.folder = folder / "venv" / "bin", folder / "work"
        self.folder.mkdir()
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environment = kept | {"HOME": str(folder), "HF_HUB_OFFLINE": "1", "COLUMNS": "100"}

    def __call__(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        call = [str(self.bin / program), *words]
        return subprocess.run(call, cwd=self.folder, env=self.environment, capture_output=True, text=True)

    def said(self, *words: str) -> str:
        done = self("bertscope", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Place:
    folder = tmp_path_factory.mktemp("empty")
    wheel = build(HERE, folder / "dist")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    place = Place(folder)
    flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    torch = place("pip", "install", *flags, "--no-index", "--require-hashes", "-r", str(HERE / "lock" / "torch.txt"))
    if torch.returncode:
        pytest.skip("no CPU build of torch at hand (PIP_FIND_LINKS); the package index's takes gigabytes")
    rest = place("pip", "install", *flags, "--require-hashes", "-r", str(HERE / "lock" / "run.txt"))
    if "connection" in rest.stderr.lower():
        pytest.skip("the package index can't be reached")
    assert rest.returncode == 0, rest.stderr
    own = place("pip", "install", *flags, "--no-index", str(wheel))
    assert own.returncode == 0, own.stderr
    return place


def test_all_that_it_needs_is_there(place):
    assert place("pip", "check").returncode == 0
    code = "import bertscope, bertscope.analyses.patterns.measure as one; print(bertscope.__file__)"
    assert str(place.bin.parent) in place("python", "-c", code).stdout, "not the checkout's"


def test_a_newcomers_first_commands(place):
    assert re.fullmatch(r"[\d.]+\n", place.said("--version"))
    assert "demo/sentiment" in place.said("data", "demo/sentiment", "--show", "1")
    assert "144 heads" in place.said("-q", "patterns", "pocket", "--on", "demo/sentiment", "--limit", "50")
    trained = ("--on", "demo/sentiment", "--limit", "40", "--epochs", "1", "--out", "tuned")
    assert "accuracy" in place.said("-q", "finetune", "pocket", *trained)
    assert "probability" in place.said("-q", "explain", "tuned", "--text", "the food was cold and bad")
    place.said("-q", "attention", "pocket", "--text", "the soup was cold", "--out", "maps.html")
    place.said("-q", "report", "build")
    page = (place.folder / "report.html").read_text(encoding="utf-8")
    assert len(page) > 500_000 and "vega" in page, "with its drawing library"
    assert (place.folder / "maps.html").stat().st_size > 20_000
    assert "all as it was written" in place.said("verify")


def test_the_demo_is_planned(place):
    """Run, it takes minutes; to plan it reads the model, the language and the study that are in the package."""
    code = "import bertscope; print(len(bertscope.read_study('demo').steps))"
    done = place("python", "-c", code)
    assert done.returncode == 0 and int(done.stdout) > 20, done.stderr


def test_bash_completes_its_commands(place):
    """As a shell that starts anew: what --install-completion wrote is found by it, and names commands and flags."""
    assert place("bertscope", "--install-completion", "--shell", "bash").returncode == 0
    asked = "COMP_WORDS=(bertscope pat); COMP_CWORD=1; _bertscope; echo ${COMPREPLY[@]}; complete -p bertscope"
    call = ["bash", "-i", "-c", asked]
    done = subprocess.run(call, cwd=place.folder, env=place.environment, capture_output=True, text=True)
    assert {*done.stdout.splitlines()[0].split()} == {"patterns", "patch"}, done.stderr
    assert "-F _bertscope bertscope" in done.stdout
