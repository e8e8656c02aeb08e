"""Shared fixtures: pocket, a tiny random BERT and one that has learned a toy task, each test's own copy; a planted
clock; the command line, with a table and a model to name in it."""

from __future__ import annotations

import copy
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

# Tensors here are tiny: a second thread costs more than it brings. Set before anything imports torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from device import DEVICE  # isort: skip (it hides a GPU that no test asked for)

import numpy as np
import pytest

from bertscope.core.examples import Examples
from pocket_facts import PIECES
from six_sentences import SENTENCES

# What is imported while tests are gathered stays to the end: to look for garbage among it, again and again, was some
# 7% of what tests cost. What a test leaves is looked for as ever.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_wait_for_the_disk():
    """Thousands of files are written here, and none has to outlive a power cut: of `fsync` it is left that the file
    must be open. Processes that tests start have the real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture
def texts() -> Examples:
    ids = tuple(str(row) for row in range(len(SENTENCES)))
    return Examples(ids=ids, text=SENTENCES, label=np.array([1, 0, 0, 1, 1, 0]))


@pytest.fixture(scope="session")
def many() -> Examples:
    """Enough texts to resample."""
    generator = np.random.default_rng(3)
    words = np.array(["good", "bad", "old", "house", "was", "never", "by", "a", "long", "road", "said", "it", "him"])
    text = tuple(" ".join(generator.choice(words, generator.integers(1, 14))) for _ in range(60))
    return Examples(tuple(f"row {row}" for row in range(60)), text, label=np.arange(60) % 2)


@pytest.fixture(scope="session")
def _pocket():
    from bertscope.models.load import load

    yield from _left_alone(load("pocket", device=DEVICE))


def _left_alone(encoder):
    """Give it to all tests, and see at the end that none has changed it: another may have failed for that alone."""
    before = encoder.fingerprint, encoder.model.config._attn_implementation, encoder.model.training
    yield encoder
    after = encoder.fingerprint, encoder.model.config._attn_implementation, encoder.model.training
    assert after == before, "a test has changed a model that all tests share: let it take a copy"


@pytest.fixture(scope="session")
def _tiny(_pocket):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from bertscope.models.load import load

    config = BertConfig(
        vocab_size=PIECES, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, num_labels=2, initializer_range=0.3,
    )  # fmt: skip
    torch.manual_seed(7)
    yield from _left_alone(load(BertForSequenceClassification(config).eval().to(DEVICE), tokenizer=_pocket.tokenizer))


@pytest.fixture
def pocket(_pocket):
    return copy.deepcopy(_pocket)


@pytest.fixture
def tiny(_tiny):
    """3 layers, 4 heads, random weights large enough that every part matters."""
    return copy.deepcopy(_tiny)


@pytest.fixture(scope="session")
def toy_task():
    import toy

    return toy.task()


@pytest.fixture(scope="session")
def _toy_model(toy_task, _pocket):
    import toy

    yield from _left_alone(toy.learned(toy_task, _pocket.tokenizer))


@pytest.fixture
def toy_model(_toy_model):
    """4 layers, 4 heads, trained on `toy_task`."""
    return _toy_model.cut([])


@pytest.fixture
def clock(monkeypatch):
    """`shrink` reads this one."""
    from planted_clock import planted_clock

    return planted_clock(monkeypatch)


@pytest.fixture
def csv(tmp_path) -> Path:
    """A table of texts with labels."""
    from toy import write_reviews

    return write_reviews(tmp_path / "reviews.csv", 60)


@pytest.fixture
def model(tmp_path, tiny) -> Path:
    """The folder of `tiny`."""
    return tiny.save(tmp_path / "tiny")


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> Callable:
    """Run `bertscope` in an empty folder: exit code, standard output, standard error."""
    pytest.importorskip("cyclopts")  # not on the bare GPU machine
    from bertscope.cli import main as cli

    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bertscope", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def padded(texts) -> Callable:
    """The texts as one padded batch for an encoder."""

    def make(encoder):
        return encoder.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(encoder.device)

    return make
