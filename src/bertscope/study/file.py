"""A study: one YAML file that says which models, which data, which questions. Planning it loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bertscope.core import limits
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.step import Step, graph
from bertscope.data.plain_files import explained
from bertscope.data.table import shown
from bertscope.data.table_files import read_text
from bertscope.study.claims.question import claims_step
from bertscope.study.located_yaml import Located, parse, with_set
from bertscope.study.names import Names
from bertscope.study.questions import Answers, read_questions

KEYS = {
    "title": "What the page is called.",
    "about": "A line or two about the study.",
    "model": "The encoder that is studied, before any training: `pocket`, a folder or a hub id.",
    "base": "What models whose origin isn't recorded were fine-tuned from: a folder, or a hub id.",
    "tasks": "What it is fine-tuned on and asked about.",
    "corpus": "Texts for questions that need no labels: a treebank, FrameNet, plain text.",
    "pairs": "Minimal pairs for questions about such pairs: `demo/minimal`, or a file of them.",
    "seeds": "Seeds of the trainings: experiments use all of them, `tuned` and other single trainings the first.",
    "training": "How every training is done: `recipe`, `epochs`, `learning_rate`.",
    "root": "The folder with the tasks known by name; without it they come from the hub.",
    "limit": "Use at most this many rows of each split of each data set.",
    "data_seed": "Decides how files are split, which rows a limit keeps, and what the demo language says.",
    "models": "Further models under names of your own: a source, or how to fine-tune one.",
    "series": "Checkpoints of a training under a name of your own: a pattern, a training's folder, or a list.",
    "data": "Further data sets under names of your own.",
    "questions": "What is asked, in the order of the list.",
}
"""The keys of a study file, and what they mean."""


@dataclass(frozen=True)
class Study:
    """A study whose every line is checked, and the steps that answer its questions."""

    name: str
    title: str
    about: str
    steps: tuple[Step, ...]
    """One for each answer, in the order of the file, and the ledger of claims about them; the steps they rest on are
    their inputs."""
    notes: tuple[str, ...]
    """What a reader of the file may not expect."""
    parsed: dict[str, Any]
    """The file as it was understood, with what was set."""
    places: Mapping[str, Located]
    """Where it names each model and data set (by the root's id, and by its source) and asks each question (by the id
    of its step)."""

    def __repr__(self) -> str:
        return f"<Study {self.name}: {', '.join(step.name for step in self.steps)}>"


def read_study(source: str | Path, sets: Sequence[str] = ()) -> Study:
    """Read the study in a file, or the ready one of that name, with some of its values set otherwise.

    `sets` are texts such as `model=bert-base-uncased` or `questions.lottery.threshold=0.8`. Whatever is wrong in the
    file, a model or data that isn't there included, is refused here, with its line.
    """
    name, whole = _read(source)
    for words in sets:
        whole = with_set(whole, words)
    if whole.value is None:
        raise whole.wrong("the file is empty; say at least a model, tasks or a corpus, and a list of questions")
    keys = {key: value for key, value in whole.mapping("a study", KEYS).items() if value.value is not None}
    if "questions" not in keys:
        raise whole.wrong("the study asks nothing; give it a list of questions, such as questions: [patterns]")
    title, about = (" ".join(keys[key].word(key).split()) if key in keys else "" for key in ("title", "about"))
    names, notes = Names(keys), list[str]()
    steps: dict[str, Step] = {}
    asked_at: dict[str, Located] = {}
    answers: dict[str, Answers] = {}
    used: set[str] = set()
    for question in read_questions(keys["questions"], names, answers):
        found = list(question.ask())
        with question.located.blamed():
            limits.refuse_many_steps(len(steps) + len(found), "the study, with this question,")
        if not found:
            notes.append(f"{question.question.name} compares several answers, and there is only one: left out")
        answers.setdefault(question.question.name, Answers()).steps.extend(found)
        steps |= {step.id: step for _, step in found}
        asked_at |= {step.id: question.located for _, step in found}
        used |= {axis.partition(".")[0] for chosen, _ in found for axis in chosen}
    if not steps:
        raise keys["questions"].wrong("; ".join(["every question is left out: nothing is asked", *notes]))
    for unused in sorted({*names.models, *names.data} - used - {"tuned"}):
        notes.append(f"{unused} isn't used: none of the questions asked is about it")
    if ledger := claims_step(graph(list(steps.values())).values()):  # what the papers say of all this
        steps[ledger.id] = ledger
    return Study(
        name, title or name, about, tuple(steps.values()), tuple(notes), whole.plain(), names.places | asked_at
    )


def ready_studies() -> dict[str, str]:
    """The studies that come with the package, by name, with what each is about."""
    found = {}
    for file in sorted(_ready().iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            about = parse(file.read_text(encoding="utf-8"), file.name).value["about"]
            found[file.name.removesuffix(".yaml")] = " ".join(about.value.split())
    return found


def _ready() -> Any:
    return resources.files("bertscope.study") / "ready"


def _read(source: str | Path) -> tuple[str, Located]:
    path = Path(source)
    with explained(path):
        there = not path.is_dir() and (path.exists() or path.is_symlink())
    if not there:
        ready = _ready() / f"{source}.yaml"
        if path.suffix or len(path.parts) > 1 or not ready.is_file():
            known = [file.name.removesuffix(".yaml") for file in _ready().iterdir()]
            hint = did_you_mean(path.stem, known)
            raise UserError(f"no study {shown(str(source))}: no file of that name, and none ready; {hint}")
        return str(source), parse(ready.read_text(encoding="utf-8"), ready.name)
    return path.stem, parse(read_text(path, limits.LARGEST_STUDY), str(source))
