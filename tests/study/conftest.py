"""A study of two questions: its folder, and a store with its answers."""

from __future__ import annotations

import shutil

import pytest

import bertscope
from bertscope.core.store import Store
from short_study import STUDY
from toy import write_reviews


@pytest.fixture(scope="session")
def folder(tmp_path_factory, _tiny):
    """A folder with a model, data and a study."""
    folder = tmp_path_factory.mktemp("study")
    _tiny.save(folder / "tiny")
    write_reviews(folder / "reviews.csv", 60)
    (folder / "mine.yaml").write_text(STUDY)
    return folder


@pytest.fixture(scope="session")
def answered(folder, tmp_path_factory):
    """A store with the study's answers."""
    store = tmp_path_factory.mktemp("answered")
    assert not bertscope.run_study(folder / "mine.yaml", store=store, sets=_here(folder)).failed
    return store


def _here(folder) -> list[str]:
    return [f"model={folder / 'tiny'}", f"tasks={folder / 'reviews.csv'}"]


@pytest.fixture
def stored(answered, tmp_path) -> Store:
    """The study's answers where `run` runs: a step is known by what it rests on, not by where that is."""
    return Store(shutil.copytree(answered, tmp_path / "bertscope-store"))


@pytest.fixture
def run(command, tmp_path, folder):
    """A command in a copy of the folder."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return command
