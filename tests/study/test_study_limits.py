"""Study files that are none, are too large, or ask for more than anybody could run: one line with its place."""

from __future__ import annotations

import os
import time

import pytest

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.experiments.freeze.question import FreezeConfig
from bertscope.study.file import read_study

BASE = "model: pocket\ntasks: demo/sentiment\n"
ASKED = "questions: [ablate]\n"


def refused(text, tmp_path, *sets) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    began = time.perf_counter()
    with pytest.raises(UserError) as caught:
        read_study(path, sets)
    said = str(caught.value)
    assert said.isprintable() and len(said) < 600 and time.perf_counter() - began < 30
    return said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("!!int abc", "'abc' can't be read as a whole number"),
        ("!!int ''", "'' can't be read as a whole number"),
        ("!!float x", "'x' can't be read as a number"),
        ("!!bool maybe", "'maybe' can't be read as true or false"),
        ("!!timestamp 2001-12-14", "the tag 'tag:yaml.org,2002:timestamp' isn't read here; leave it out"),
        ("!!binary aGk=", "isn't read here"),
        ("!!python/name:os.system x", "isn't read here"),
        ("!mine x", "the tag '!mine' isn't read here"),
        ("!!set {a}", "isn't read here"),
        ("9" * 5000, "can't be read as a whole number"),
        ("9" * 4000, "a seed is larger than 2**63 - 1"),
        ("2001-12-14", "it must be a whole number"),
        ("[" * 5000, "too deep"),
    ],
)
def test_values_that_are_no_values(tmp_path, value, said):
    found = refused(f"{BASE}seeds: {value}\n{ASKED}", tmp_path)
    assert said in found and "mine.yaml, line" in found


def test_laughter_by_the_billion(tmp_path):
    lines = ["a: &a [lol, lol]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert "line 2: an alias: write the value out" in refused("\n".join(lines), tmp_path)


def test_numbers_as_long_as_no_setting(tmp_path):
    assert "learning_rate is inf" in refused(f"{BASE}training: {{learning_rate: {'9' * 4000}}}\n{ASKED}", tmp_path)


def test_whole_numbers_that_no_generator_takes(tmp_path):
    said = refused(f"{BASE}questions:\n  - ablate: {{seed: {2**63}}}\n", tmp_path)
    assert "line 4: seed is larger than 2**63 - 1; give a smaller number" in said


def test_files_that_are_too_large_or_none(tmp_path):
    assert "has over 262,144 bytes" in refused("# " + "x" * (1 << 18), tmp_path)
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    gone = tmp_path / "gone.yaml"
    gone.symlink_to(tmp_path / "nowhere")
    for source, said in (
        (pipe, "is a pipe, not a plain file"),
        ("/dev/zero", "is a device, not a plain file"),
        (loop, "Too many levels of symbolic links; mend the link"),
        (gone, "which isn't there; mend it"),
        ("x" * 300, "File name too long; check the path"),
        (tmp_path, "no study"),
    ):
        with pytest.raises(UserError) as caught:
            read_study(source)
        assert said in str(caught.value)


def test_seeds_by_the_hundred_thousand(tmp_path):
    listed = ", ".join(map(str, range(30_000)))
    said = refused(f"{BASE}seeds: [{listed}]\nquestions: [scratch]\n", tmp_path)
    assert "line 3" in said and "30,000 seeds, each of which is a training; give 1,000 at most" in said
    with pytest.raises(UserError, match="100,000 seeds"):
        FreezeConfig(seeds=tuple(range(100_000)))
    with pytest.raises(UserError, match=r"a seed is larger than 2\*\*63 - 1"):
        FreezeConfig(seeds=(2**63,))


def test_steps_without_number(tmp_path, monkeypatch):
    values = ", ".join(map(str, range(1, 200)))
    sweep = f"{{repeats: [{values}], permutations: [{values}], seed: [{values}]}}"
    swept = f"{BASE}questions:\n  - ablate:\n      sweep: {sweep}\n"
    assert "line 5: the sweep makes 7,880,599 steps, over the limit of 10,000; ask for less" in refused(
        swept, tmp_path
    )
    asked = f"questions:\n  - ablate: {{of: mine, sweep: {{seed: [{values}]}}}}\n"
    models = f"{BASE}models:\n  mine: {{seed: [{values}]}}\n{asked}"
    assert "line 6: ablate makes 39,601 steps, over the limit of 10,000" in refused(models, tmp_path)
    monkeypatch.setattr(limits, "MOST_STEPS", 3)
    many = f"{BASE}questions:\n  - ablate: {{sweep: {{seed: [0, 1]}}}}\n  - importance: {{sweep: {{seed: [0, 1]}}}}\n"
    assert "line 5: the study, with this question, makes 4 steps" in refused(many, tmp_path)
