"""The package: what is in the wheel, whose it is, that it is built to the same bytes, and that it works by itself."""

from __future__ import annotations

import hashlib
import re
import shutil
import tomllib
from email import message_from_string
from fnmatch import fnmatchcase
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

from bertscope import __version__
from built_wheel import build
from lock import HERE
from shared_data import DATA, needs_data

SOURCES = HERE / "src"
MOST = 25_000_000
"""Bytes of the wheel."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build(HERE, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def held(wheel) -> dict[str, bytes]:
    """The package's files by their names, without what the builder writes."""
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.startswith(f"bertscope-{__version__}.dist-info/")]
        return {name: archive.read(name) for name in names}


def sources() -> dict[str, Path]:
    found = (path for path in (SOURCES / "bertscope").rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(SOURCES).as_posix(): path for path in found}


def test_it_holds_the_sources_and_nothing_else(held):
    assert held.keys() == sources().keys()
    assert all(name.startswith("bertscope/") for name in held), "no tests, no docs"


def test_it_is_small(wheel):
    assert 10_000_000 < wheel.stat().st_size < MOST, "pocket is in it, and not much beside it"


def test_it_holds_what_is_opened_by_name(held):
    """Pocket, the classifiers of shapes, the demo and the templates and scripts of both pages."""
    for name in (
        "models/pocket/model.safetensors", "models/pocket/tokenizer.json", "analyses/shapes/classifiers.safetensors",
        "study/ready/demo.yaml", "report/page.html.j2", "report/scripts/start.js", "live/page/index.html", "py.typed",
    ):  # fmt: skip
        assert f"bertscope/{name}" in held


@needs_data
def test_it_holds_none_of_the_real_data(held):
    sizes = {len(content) for content in held.values() if content}
    real = (path for folder in (DATA, DATA.with_name("text")) for path in folder.rglob("*") if path.is_file())
    alike = [path for path in real if path.stat().st_size in sizes]
    digests = {hashlib.sha256(content).digest() for content in held.values() if content}
    assert not [path for path in alike if hashlib.sha256(path.read_bytes()).digest() in digests]


def covers(notice: str) -> list[str]:
    """The files that NOTICE says something of: the names before the colon of each line of its list."""
    entries = re.findall(r"^- ((?:bertscope/[^\s,:]+,?\s+)*bertscope/[^\s,:]+):", notice, re.MULTILINE)
    return [name for entry in entries for name in re.split(r",\s+", entry)]


def test_notice_says_whose_every_file_is(held):
    notice = (HERE / "NOTICE").read_text(encoding="utf-8")
    named = covers(notice)
    assert len(named) >= 10 and "bertscope/models/pocket/*" in named
    assert [name for name in held if not any(fnmatchcase(name, one) for one in named)] == []
    assert [one for one in named if not any(fnmatchcase(name, one) for name in held)] == [], "names what isn't there"
    strange = "bertscope/data/words.csv"  # what somebody might add
    assert not any(fnmatchcase(strange, one) for one in named)


def test_the_models_card_says_what_it_was_made_of(held):
    card = held["bertscope/models/pocket/README.md"].decode("utf-8")
    _, head, text = card.split("---\n", 2)
    assert yaml.safe_load(head)["license"] == "apache-2.0"
    assert "| trained on |" in text and "| licence | Apache-2.0" in text


def test_its_metadata_are_the_projects(wheel):
    with ZipFile(wheel) as archive:
        inside = f"bertscope-{__version__}.dist-info"
        metadata = message_from_string(archive.read(f"{inside}/METADATA").decode("utf-8"))
        assert "bertscope = bertscope.cli.main:main" in archive.read(f"{inside}/entry_points.txt").decode("utf-8")
        for name in ("LICENSE", "NOTICE"):
            assert archive.read(f"{inside}/licenses/{name}") == (HERE / name).read_bytes()
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["License-Expression"] == "Apache-2.0" and metadata["Requires-Python"] == ">=3.11"
    assert metadata.get_all("Provides-Extra") == sorted(project["optional-dependencies"])
    assert metadata["Version"] == project["version"] == __version__


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((HERE / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert (citation["title"], citation["version"], citation["license"]) == ("bertscope", __version__, "Apache-2.0")
    assert citation["message"] and all(author.get("name") for author in citation["authors"])


def test_another_folder_builds_the_same_bytes(wheel, tmp_path):
    """Other times, other modes, another place on the disk, by way of a source archive's files alone."""
    again = tmp_path / "elsewhere"
    for name, path in sources().items():
        target = again / "src" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o600)
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copyfile(HERE / name, again / name)
    other = build(again, tmp_path / "dist")
    assert other.name == wheel.name
    assert hashlib.sha256(other.read_bytes()).hexdigest() == hashlib.sha256(wheel.read_bytes()).hexdigest()
