"""The ledger over results that the questions really give, of tiny models: no record reads what isn't there."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

import bertscope
from bertscope.analyses.change.question import ChangeConfig
from bertscope.analyses.features.question import FeaturesConfig
from bertscope.analyses.patterns.question import PatternsConfig
from bertscope.analyses.probe.question import ProbeConfig
from bertscope.analyses.redundancy.question import RedundancyConfig
from bertscope.analyses.relations.question import RelationsConfig
from bertscope.analyses.structure.question import StructureConfig
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import data_root, read_examples
from bertscope.data.read import task_root
from bertscope.experiments.bias import question as bias
from bertscope.experiments.contrast import question as contrast
from bertscope.experiments.contrast.question import ContrastConfig
from bertscope.experiments.freeze import question as freeze
from bertscope.experiments.lottery import question as lottery
from bertscope.experiments.scratch import question as scratch
from bertscope.experiments.truncate import question as truncate
from bertscope.models.source import model_root
from bertscope.study.claims.measure import judged, statements
from bertscope.study.claims.question import told as told_questions
from bertscope.study.claims.records import CLAIMS
from bertscope.study.runner import run_steps
from quick_configs import QUICK_ABLATE, QUICK_LOTTERY
from toy import task_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pair(_tiny):
    """A model, and what stands for the same model fine-tuned."""
    before = replace(copy.deepcopy(_tiny), name="tiny")
    after = replace(copy.deepcopy(_tiny), name="my-run", base=before.record)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in after.model.parameters():
            weight += 0.02 * torch.randn_like(weight)
    return before, after


@pytest.fixture(scope="module")
def corpus():
    return read_examples("demo/corpus", limit=80)


@pytest.fixture(scope="module")
def analysed(pair, corpus) -> list[Result]:
    before, after = pair
    task = task_of(replace(corpus, label=np.arange(len(corpus)) % 2, marks={}, words=None), after)
    quick = {"repeats": 100}
    probes = ProbeConfig(targets=("pos", "relation"), probes=("linear",), words=300)
    return [
        bertscope.patterns([before, after], corpus, PatternsConfig(**quick)),
        bertscope.features([before, after], corpus, FeaturesConfig(**quick)),
        bertscope.change(before, after, corpus, ChangeConfig(**quick)),
        bertscope.relations([before], corpus, RelationsConfig(**quick)),
        bertscope.redundancy(after, task, RedundancyConfig(together=("head:1.1", "head:2.2"), pairs=2, **quick)),
        bertscope.ablate(after, task, QUICK_ABLATE),
        bertscope.similarity([before, after], corpus, against=corpus.take(np.arange(40))),
        bertscope.structure([before, after], corpus, StructureConfig(ranks=(4,), epochs=1, **quick)),
        bertscope.probe([before, after], corpus, probes),
        bertscope.geometry([before, after], corpus),
    ]


@pytest.fixture(scope="module")
def trained(tmp_path_factory, pair) -> list[Result]:
    folder = tmp_path_factory.mktemp("trained")
    generator = np.random.default_rng(0)
    words = ("the", "old", "house", "was", "by", "a", "long", "road", "in", "winter")
    texts = [" ".join(generator.choice(words, 6)) for _ in range(90)]
    labelled = [f"{text} {'good' if row % 2 else 'bad'},{row % 2}" for row, text in enumerate(texts)]
    scored = [f"{text},{other},{row % 9 / 2}" for row, (text, other) in enumerate(pairwise(texts))]
    (folder / "rows.csv").write_text("\n".join(["text,label", *labelled]) + "\n")
    (folder / "sts.csv").write_text("\n".join(["text,text_pair,score", *scored]) + "\n")
    (folder / "texts.txt").write_text("\n".join(f"{text}." for text in texts))
    base, task = model_root(pair[0].save(folder / "tiny")), task_root(folder / "rows.csv")
    store = Store(folder / "store")
    config = replace(QUICK_LOTTERY, epochs=1, patterns=True)
    measured = ContrastConfig(sts=str(folder / "sts.csv"), corpus=str(folder / "texts.txt"), batch_size=8)
    steps = [
        lottery.plan(base, task, config),
        scratch.plan(base, task, scratch.ScratchConfig(seeds=(0, 1), epochs=1)),
        truncate.plan(base, task, truncate.TruncateConfig(remove=("1",), epochs=1)),
        freeze.plan(base, task, freeze.FreezeConfig(sets=("2",), epochs=1, words=50)),
        bias.plan(base, task, bias.BiasConfig(words=("winter",), epochs=1)),
        contrast.plan(base, data_root(folder / "texts.txt"), measured),
    ]
    run_steps(steps, store)
    return [store.result(step) for step in steps]


def checked(results: list[Result], untested: set[str]) -> pd.DataFrame:
    """The ledger's rows that were tested; only those claims that are named have none."""
    table, unread = judged(results)
    assert unread == []
    asked = {claim.id for claim in CLAIMS if claim.question in {result.question for result in results}}
    assert asked & set(table.loc[table["verdict"] == "not_tested", "claim"]) == untested
    told, unsaid = statements(results)
    assert unsaid == [] and set(told["question"]) == set(told_questions()) & {result.question for result in results}
    assert not told["sentence"].str.contains("nan|None", regex=True).any()
    tested = table[table["verdict"] != "not_tested"]
    assert (tested["low"].isna() | (tested["low"] <= tested["high"])).all()
    return tested


def test_every_record_about_a_model_finds_what_it_reads(analysed):
    # There is no parser among them, and nothing high-level was probed.
    tested = checked(analysed, untested={"parsing-moves-deeper", "high-level-on-top"})
    # A random model gains by no layer and knows no trees that it could keep; what the other was trained on isn't
    # recorded, so that no corpus is its task's.
    open_by_design = {"low-level-below", "trees-are-kept", "elsewhere-moves-less"}
    assert set(tested.loc[tested["low"].isna(), "claim"]) == open_by_design


def test_every_record_about_trainings_finds_what_it_reads(trained):
    tested = checked(trained, untested={"super-survivors-are-few"})  # which takes four seeds
    assert set(tested.loc[tested["claim"] != "without-top-layer-faster", "verdict"]) == {"underpowered"}  # few seeds
