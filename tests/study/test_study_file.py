"""Study files: what they become, and one clear line with its place for every mistake."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path

import pytest

from bertscope.analyses.ablate.question import AblateConfig
from bertscope.analyses.importance.question import ImportanceConfig
from bertscope.analyses.probe.question import ProbeConfig
from bertscope.analyses.redundancy.question import RedundancyConfig
from bertscope.analyses.relations.question import RelationsConfig
from bertscope.analyses.shapes.own_labels import labels_root
from bertscope.core.errors import UserError
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.step import graph
from bertscope.data.corpus import examples_root, read_examples
from bertscope.data.read import task_root
from bertscope.experiments.lottery import question as lottery
from bertscope.experiments.scratch import question as scratch
from bertscope.models.source import model_root
from bertscope.study.file import KEYS, read_study, ready_studies
from bertscope.training.finetune.question import FinetuneConfig
from labelling_maps import labelled, saved
from shared_data import DATA, needs_data

READY = ("course-project", "dark-secrets", "demo", "embeddings", "everything", "lottery")
BASE = "model: pocket\ntasks: demo/sentiment\n"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Read a study from its text; without the ledger, which each of them ends with."""
    monkeypatch.chdir(tmp_path)

    def read(text: str, *sets: str):
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        found = read_study("mine.yaml", sets)
        return replace(found, steps=tuple(step for step in found.steps if step.name != "claims"))

    return read


def tuned(task: str = "demo/sentiment", **settings):
    return find("finetune").step(
        {"base": model_root("pocket"), "task": task_root(task)}, FinetuneConfig(**settings)
    )  # fmt: skip


def ids(steps) -> list[str]:
    return [step.id for step in steps]


def test_questions_become_the_steps_that_one_would_plan_by_hand(study):
    base, task = model_root("pocket"), task_root("demo/sentiment", seed=3)
    reviews, corpus = examples_root("demo/sentiment", seed=3), examples_root("demo/corpus", seed=3)
    compared = scratch.plan(base, task, scratch.ScratchConfig(seeds=(3,), patterns=False, recipe="pocket"))
    model = compared.inputs["tuned.3"]
    both = {"models.0": base, "models.1": model}
    states = [find("states").step({"model": one, "examples": corpus}) for one in (base, model)]
    expected = [
        compared,
        find("patterns").step(both | {"examples": reviews}),
        find("change").step({"before": base, "after": model, "examples": reviews}),
        find("relations").step({"models.0": base, "examples": corpus}, RelationsConfig(null=True)),
        find("redundancy").step({"models.0": model, "data": task}, RedundancyConfig(pairs=3)),
        find("ablate").step({"model": model, "task": task}, AblateConfig(units=("head", "layer"))),
        find("importance").step({"model": model, "task": task}, ImportanceConfig(steps=4, random=2)),
        lottery.plan(base, task, lottery.LotteryConfig(seeds=(3,), patterns=False, recipe="pocket")),
        find("probe").step(
            {"states.0": states[0], "states.1": states[1], "examples": corpus},
            ProbeConfig(targets=("pos", "relation"), probes=("linear",), words=1000),
        ),
    ]
    found = read_study("demo", ["seeds=3", "data_seed=3"])
    assert set(ids(expected)) <= set(ids(found.steps))
    assert found.steps[0] == compared and found.title == "bertscope demo" and not found.notes
    assert sum(step.name == "finetune" for step in graph(found.steps).values()) == 6, "each training is shared"


def test_models_and_tasks_are_a_product_and_tuned_models_keep_to_their_task(study, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    found = study(
        "model: [pocket, ./tiny]\ntasks: [demo/sentiment, demo/entailment]\ncorpus: demo/corpus\n"
        "questions:\n  - ablate\n  - relations: {of: model, on: corpus}\n  - change: {on: corpus}\n"
    )
    ablations = [step for step in found.steps if step.name == "ablate"]
    assert [(step.inputs["model"].inputs["base"].source, step.inputs["task"].source) for step in ablations] == [
        ("pocket", "demo/sentiment"), ("pocket", "demo/entailment"),
        (str(tmp_path / "tiny"), "demo/sentiment"), (str(tmp_path / "tiny"), "demo/entailment"),
    ]  # fmt: skip
    assert all(step.inputs["model"].inputs["task"] == step.inputs["task"] for step in ablations)
    assert [step.name for step in found.steps].count("relations") == 2, (
        "no task is asked for, so none is crossed with"
    )
    changes = [step for step in found.steps if step.name == "change"]
    assert len(changes) == 4
    assert all(step.inputs["after"].inputs["base"] == step.inputs["before"] for step in changes)


def test_sweeps_cross_all_values(study):
    found = study(BASE + "questions:\n  - ablate: {sweep: {mode: [zero, mean], seed: [1, 2, 3]}, repeats: 200}\n")
    assert [(step.config["mode"], step.config["seed"]) for step in found.steps] == [
        ("zero", 1), ("zero", 2), ("zero", 3), ("mean", 1), ("mean", 2), ("mean", 3)
    ]  # fmt: skip
    assert {step.config["repeats"] for step in found.steps} == {200}


def test_seeds_and_training_are_for_every_training(study):
    found = study(
        BASE + "seeds: [4, 5]\ntraining: {epochs: 1, learning_rate: 2e-5}\ncorpus: demo/corpus\n"
        "questions:\n  - scratch\n  - ablate\n  - structure: {on: corpus}\n  - lottery: {seeds: 7, epochs: 2}\n"
        "  - finetune\n  - finetune: {seed: 8}\n"
    )
    compared, ablation, probed, pruned, *trainings = found.steps
    first = tuned(seed=4, epochs=1, learning_rate=2e-5)
    assert compared.config["seeds"] == [4, 5] and compared.inputs["tuned.4"] == first
    assert ablation.inputs["model"] == first and ablation.config["seed"] == 0, "a bootstrap's seed is no training's"
    assert trainings == [first, tuned(seed=8, epochs=1, learning_rate=2e-5)]
    assert probed.config["epochs"] == 40, "a probe's epochs are none of a training's"
    assert pruned.config["seeds"] == [7] and pruned.config["epochs"] == 2 and pruned.config["learning_rate"] == 2e-5


def test_models_of_ones_own(study, tiny, tmp_path):
    tiny.save(tmp_path / "tiny")
    found = study(
        BASE + "models:\n  other: ./tiny\n  short: {base: other, seed: [1, 2], epochs: 1}\n"
        "  twice: {base: tuned, task: else}\ndata: {else: {source: demo/entailment, limit: 50}}\n"
        "questions:\n  - ablate: {of: [short, tuned]}\n  - patterns: {of: [model, twice], on: else}\n"
    )
    one, two, usual, shapes = found.steps
    assert [step.inputs["model"].config["seed"] for step in (one, two, usual)] == [1, 2, 0]
    assert one.inputs["model"].inputs["base"] == model_root(str(tmp_path / "tiny"))
    assert usual.inputs["model"] == tuned()
    again = shapes.inputs["models.1"]
    assert again.inputs["base"] == tuned() and again.inputs["task"] == task_root("demo/entailment", limit=50)
    assert shapes.inputs["examples"] == examples_root("demo/entailment", limit=50)


def test_labels_of_ones_own_are_a_file(study, tiny, tmp_path):
    path = saved(labelled(tiny, read_examples("demo/sentiment"), lambda row, unit: "block"), tmp_path / "mine.jsonl")
    (shapes,) = study(BASE + "questions:\n  - patterns: {of: model, labels: mine.jsonl}\n").steps
    assert shapes.inputs["labels"] == labels_root(path) and "labels" not in shapes.config
    with pytest.raises(UserError, match=r"mine.yaml, line 4.*there is no file nowhere.jsonl"):
        study(BASE + "questions:\n  - patterns: {of: model, labels: nowhere.jsonl}\n")


def test_data_is_read_as_the_file_says(study, tmp_path):
    rows = "\n".join(f"{row},a text {row},{row % 2}" for row in range(60))
    (tmp_path / "mine.csv").write_text(f"n,body,stars\n{rows}\n")
    found = study(
        "model: pocket\nlimit: 30\ndata_seed: 2\n"
        "tasks: [{source: mine.csv, text: body, label: stars, seed: 5}, demo/sentiment]\n"
        "questions:\n  - ablate\n  - patterns: {limit: 10}\n"
    )
    own = {"text": "body", "label": "stars", "seed": 5, "limit": 30}
    assert found.steps[0].inputs["task"] == task_root("mine.csv", **own)
    assert found.steps[1].inputs["task"] == task_root("demo/sentiment", seed=2, limit=30)
    shapes = found.steps[2]
    assert shapes.inputs["examples"] == examples_root("mine.csv", **own | {"limit": 10})
    assert shapes.inputs["models.1"].inputs["task"] == found.steps[0].inputs["task"], "the training has all its rows"


def test_a_folder_for_tasks_known_by_name_is_for_those_alone(study, tmp_path):
    (tmp_path / "glue" / "RTE").mkdir(parents=True)
    for split in ("train", "dev"):
        rows = "\n".join(f"{row}\tthis {row}\tthat {row}\tentailment" for row in range(4))
        (tmp_path / "glue" / "RTE" / f"{split}.tsv").write_text(f"index\tsentence1\tsentence2\tlabel\n{rows}\n")
    found = study("model: pocket\ntasks: [glue/rte, demo/sentiment]\nroot: glue\nquestions: [ablate]\n")
    assert found.steps[0].inputs["task"] == task_root("glue/rte", root="glue")
    assert found.steps[1].inputs["task"] == task_root("demo/sentiment")


def test_answers_that_rest_on_answers(study):
    text = (
        "model: pocket\ntasks: [demo/sentiment, demo/entailment]\nquestions:\n  - lottery: {patterns: false}\n"
        "  - prune\n  - overlap: {of: lottery}\n  - shrink: {pruned: prune, target: 2x}\n"
    )
    found = study(text)
    compared = next(step for step in found.steps if step.name == "overlap")
    lotteries = [step for step in found.steps if step.name == "lottery"]
    assert list(compared.inputs.values()) == lotteries and len(lotteries) == 2
    shrunk = [step for step in found.steps if step.name == "shrink"]
    assert [step.inputs["pruned"].inputs["task"] for step in shrunk] == [step.inputs["task"] for step in shrunk]
    swept = study(text.replace("patterns: false", "patterns: false, sweep: {threshold: [0.8, 0.9]}"))
    compared = [step for step in swept.steps if step.name == "overlap"]
    assert [{one.config["threshold"] for one in step.inputs.values()} for step in compared] == [{0.8}, {0.9}]
    alone = study(text, "tasks=demo/sentiment")
    assert "overlap" not in {step.name for step in alone.steps} and "only one" in alone.notes[0]


def test_what_is_set_counts_as_if_it_were_written(study):
    text = BASE + "questions:\n  - ablate\n  - patterns: {repeats: 100}\n  - patterns: {weighted: true}\n"
    found = study(
        text, "questions.ablate.mode=zero", "questions.patterns.repeats=200", "tasks=[demo/entailment]",
        "seeds=[2,3]", "training.epochs=1", "title=Other",
    )  # fmt: skip
    ablation, plain, weighted = found.steps
    assert ablation.config["mode"] == "zero" and ablation.inputs["model"] == tuned(
        "demo/entailment", epochs=1, seed=2
    )
    assert plain.config["repeats"] == weighted.config["repeats"] == 200 and weighted.config["weighted"]
    assert found.parsed["questions"][0] == {"ablate": {"mode": "zero"}} and found.parsed["training"] == {"epochs": 1}
    fewer = study(text, "questions.patterns=false")
    assert [step.name for step in fewer.steps] == ["ablate"]
    assert [step.name for step in study(text, "questions=[change, {ablate: true}]").steps] == ["change", "ablate"]


def test_what_no_question_is_about_is_noted(study):
    found = study(BASE + "corpus: demo/corpus\nmodels: {spare: {seed: 3}}\nquestions: [ablate]\n")
    assert found.notes == (
        "corpus isn't used: none of the questions asked is about it",
        "spare isn't used: none of the questions asked is about it",
    )  # fmt: skip


def test_ready_studies_ship_and_are_about_something():
    inside = {file.name for file in (resources.files("bertscope.study") / "ready").iterdir()}
    own = {name for name in ready_studies() if not name.startswith("findings-")}  # those have their own tests
    assert inside == {f"{name}.yaml" for name in ready_studies()}
    assert own == {*READY} and all(ready_studies().values())


def test_a_study_ends_with_the_claims_about_all_it_found():
    *asked, last = read_study("demo").steps
    read = {value.id for value in last.inputs.values()}
    assert (
        last.name == "claims" and {step.id for step in asked if step.name in ("patterns", "bias", "truncate")} <= read
    )
    assert read <= set(graph(asked)), "it reads what was asked for anyway"


@pytest.mark.parametrize("name", READY)
def test_ready_studies_have_no_loose_ends(name):
    found = read_study(name)
    assert found.steps and not found.notes
    assert len(set(ids(found.steps))) == len(found.steps)
    if name == "everything":
        own = {"pretrain", "course", "courses", "forgetting"}  # of text, or of checkpoints, that only a user has
        asked = {question for question, entry in QUESTIONS.items() if entry.group} - own
        assert {step.name for step in graph(found.steps).values()} >= asked


@needs_data
def test_ready_studies_run_on_real_data_by_set():
    """A local GLUE folder, a treebank and FrameNet: everything is found, under its own name."""
    tasks = ["glue/rte", "glue/mrpc", "glue/stsb"]
    sets = [f"root={DATA / 'glue'}", f"tasks=[{', '.join(tasks)}]"]
    for name, corpus in (
        ("dark-secrets", "framenet-1.5-part.zip"),
        ("embeddings", "UD_English-EWT/en_ewt-ud-dev.conllu"),
        ("lottery", None),
        ("everything", "UD_English-EWT/en_ewt-ud-dev.conllu"),
    ):
        found = read_study(name, [*sets, *([f"corpus={DATA / corpus}"] if corpus else [])])
        models = [step for step in graph(found.steps).values() if step.name == "finetune"]
        sources = dict.fromkeys(step.inputs["task"].source.partition("@")[0] for step in models)
        assert [source for source in sources if not source.startswith("demo/")] == tasks


def test_planning_loads_neither_torch_nor_what_the_bare_machine_lacks():
    """As on the GPU machine: no cyclopts, no pydantic, no rich."""
    code = (
        "import sys\n"
        "for name in 'cyclopts pydantic rich datasets altair dask conllu'.split(): sys.modules[name] = None\n"
        "from bertscope import read_study\n"
        f"for name in {READY}: [step.id for step in read_study(name).steps]\n"
        "print(sorted({'torch', 'transformers', 'pandas'} & {*sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"


def test_settings_and_the_studys_own_words_do_not_clash():
    for name in QUESTIONS:
        taken = {field.name for field in fields(find(name).config)} & {
            "of",
            "on",
            "limit",
            "sweep",
            *find(name).flags,
        }
        assert not taken, f"{name} has a setting with a name that a study's question uses itself"


def test_every_key_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    for key, meaning in KEYS.items():
        assert f"| `{key}` | {meaning} |" in page
    for name in ready_studies():
        assert f"`{name}`" in page
