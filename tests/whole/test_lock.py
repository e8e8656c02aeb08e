"""What `make` installs is pinned to the file: constraints.txt has the versions of all of it, lock/ the hashes too."""

from __future__ import annotations

import hashlib
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lock import CPU_BUILDS, HERE, closure, for_docs, locked, pinned, project

FILES = ("torch", "cuda", "run", "test")
DOCS = "docs"
"""The lock of another environment, whole: what it shares with the others stands in both."""


def needs(requirement: Requirement) -> list[str]:
    """What is installed says what it needs; what isn't (hatchling, before `make`) is only looked up by its name."""
    try:
        return requires(requirement.name) or []
    except PackageNotFoundError:
        return []


def test_the_locks_and_the_constraints_agree():
    files = [locked(which) for which in FILES]
    together = {name: version for file in files for name, (version, _) in file.items()}
    assert len(together) == sum(map(len, files)), "no package is in two locks of one environment"
    docs = {name: version for name, (version, _) in locked(DOCS).items()}
    assert docs | together == together | docs, "where environments share a package, they have the same version"
    assert docs | together == {canonicalize_name(name): version for name, version in pinned().items()}


def test_every_lock_has_hashes():
    for which in (*FILES, DOCS):
        for name, (_, hashes) in locked(which).items():
            assert hashes and all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes), f"{name} in lock/{which}.txt"


def test_all_that_is_needed_is_locked():
    run, extras = project()
    have = locked("torch").keys() | locked("run").keys()
    here = default_environment()
    cuda = {name for name in closure(run, needs, here) if name in locked("cuda")}  # where torch isn't a CPU build
    assert closure(run, needs, here).keys() - cuda <= have
    assert closure([*run, *extras], needs, here).keys() - cuda <= have | locked("test").keys()


def test_what_nothing_needs_is_not_locked():
    # Of another system or Python there may be a few more here: importlib-metadata, before Python 3.12.
    run, extras = project()
    needed = closure([*run, *extras], needs, default_environment()).keys()
    unseen = {"hatchling", "trove-classifiers", "tomlkit"}  # where hatchling isn't installed
    assert locked("test").keys() <= needed | {"importlib-metadata", "zipp"}
    assert locked("run").keys() <= needed | unseen


def test_what_builds_the_site_is_locked():
    assert {canonicalize_name(one.name) for one in for_docs()} <= locked(DOCS).keys()


def test_the_cpu_build_of_torch_is_locked():
    version, hashes = locked("torch")["torch"]
    assert set(CPU_BUILDS[f"torch=={version}"]) < set(hashes), "and the package index's builds"


def commands(target: str) -> list[str]:
    """The installing commands that make would run, without what follows them on their line."""
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target], cwd=HERE, capture_output=True, text=True, check=True
    )
    return re.findall(r"\S+/pip install [^;>|\n]+", done.stdout)


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_installs_only_what_is_hashed():
    *third_party, own, test = commands(".venv/.tested")
    (docs,) = commands(".venv-docs/.installed")
    assert third_party and own.split()[-2:] == ["-e", "."]
    assert "--no-deps" in own and "--no-build-isolation" in own, "neither brings a package along"
    for command in (*third_party, test, docs):
        words = shlex.split(command)
        assert {"--require-hashes", "--no-deps", "--only-binary=:all:"} <= set(words), command
        assert all(word.startswith("lock/") for flag, word in itertools.pairwise(words) if flag == "-r")


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_another_file_than_the_locked_one_is_refused(tmp_path):
    wheel = _wheel(tmp_path)
    flags = [word for word in shlex.split(commands(".venv/.tested")[-1])[2:] if word.startswith("--")]

    def install(digest: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "lock.txt").write_text(f"lamp==1.0 \\\n    --hash=sha256:{digest}\n", encoding="utf-8")
        call = [sys.executable, "-m", "pip", "install", *flags, "--no-index", "--find-links", str(tmp_path)]
        out = ["--target", str(tmp_path / "out"), "-r", str(tmp_path / "lock.txt")]
        return subprocess.run([*call, *out], capture_output=True, text=True)

    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    refused = install("0" * 64)
    assert refused.returncode != 0 and "DO NOT MATCH THE HASHES" in refused.stderr
    assert not (tmp_path / "out" / "lamp.py").exists()
    assert install(right).returncode == 0 and (tmp_path / "out" / "lamp.py").exists()


def _wheel(folder: Path) -> Path:
    """A package that is nothing but a module."""
    path, info = folder / "lamp-1.0-py3-none-any.whl", "lamp-1.0.dist-info"
    with ZipFile(path, "w") as archive:
        archive.writestr("lamp.py", "light = True\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: lamp\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"lamp.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path
