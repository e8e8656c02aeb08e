"""The tasks that are known by name: one small declaration each.

Labels stand in the order of the hub's integers, so that a model fine-tuned elsewhere answers in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.errors import UserError, did_you_mean
from bertscope.data.bad_rows import BLANK_TEXT, NO_AGREEMENT, WRONG_FIELDS
from bertscope.data.columns import Columns
from bertscope.data.metrics import MetricName
from bertscope.data.table import Form

SplitName = Literal["train", "dev", "test"]
LayoutForm = Form | Literal["squad", "aligned"]
VERSION = 1
"""Raise it whenever a declaration changes what is read: stored results are identified by it."""


@dataclass(frozen=True)
class Layout:
    """One way in which a task's files lie in its folder. A split may have several files, read one after the other."""

    columns: Columns
    train: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    """Only where it has labels: a test file without them is never read."""
    form: LayoutForm | None = None
    """What the files are, where their extension doesn't say. `aligned`: a split's files are its columns."""
    header: tuple[str, ...] = ()
    """The columns, where the files don't name them."""
    extra: bool = False
    """Whether rows may have more fields than the header."""

    def files(self, split: SplitName) -> tuple[str, ...]:
        return {"train": self.train, "dev": self.dev, "test": self.test}[split]


@dataclass(frozen=True)
class Hub:
    """Where the Hugging Face hub has a task."""

    id: str
    config: str | None
    columns: Columns
    dev: str = "validation"
    test: str | None = None
    """Only where it has labels."""
    train: str | None = "train"
    version: int = VERSION
    """Of what is read from there, which no digest of files tells."""

    def split(self, split: SplitName) -> str | None:
        return {"train": self.train, "dev": self.dev, "test": self.test}[split]


@dataclass(frozen=True)
class Declared:
    """A task as its authors publish it."""

    name: str
    folders: tuple[str, ...]
    """What its folder is called."""
    layouts: tuple[Layout, ...]
    labels: tuple[str, ...]
    """The classes in order; none for scores and answers."""
    cite: str
    kind: Literal["classification", "regression", "several", "answers"] = "classification"
    metric: MetricName = "accuracy"
    hub: Hub | None = None
    drops: tuple[str, ...] = ()
    """Reasons for which rows are left out, and counted, without being asked to: the published files have such."""
    unlabelled: tuple[str, ...] = ()
    """What stands for a label where annotators didn't agree."""
    several: str = ""
    """What stands between the labels of a text that can have several, in its files."""
    evaluation_only: str = ""
    """Why nothing is to be trained on it."""

    @property
    def pair(self) -> bool:
        """Whether it is about two texts."""
        return self.layouts[0].columns.pair is not None


_SENTENCES = Columns("sentence1", "sentence2", "label")
_JSONL = Layout(_SENTENCES, ("train.jsonl",), ("dev.jsonl",))
_GLUE = "Wang et al. 2019, GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding"
_COLA = ("source", "label", "star", "sentence")
_WNLI = ("index", "sentence1", "sentence2", "label")
_STSB = ("genre", "filename", "year", "old_index", "score", "sentence1", "sentence2")
_PAIR_AND_LABEL = ("sentence1", "sentence2", "label")
_MSR = Columns("#1 String", "#2 String", "Quality")
_EMOTIONS = (
    "admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire",
    "disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy",
    "love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral",
)  # fmt: skip


def _tsv(columns: Columns, dev: str = "dev.tsv", header: tuple[str, ...] = ()) -> Layout:
    return Layout(columns, ("train.tsv",), (dev,), header=header)


def _each(columns: Columns, *files: str, form: LayoutForm | None = None, header: tuple[str, ...] = ()) -> Layout:
    """A layout in which the names of a split's files differ from the others' by the split's name."""
    train, dev, test = (tuple(file.format(split) for file in files) for split in ("train", "dev", "test"))
    return Layout(columns, train, dev, test, form, header)


def _glue(config: str, text: str, pair: str | None = None, dev: str = "validation") -> Hub:
    return Hub("nyu-mll/glue", config, Columns(text, pair, "label"), dev)


def _mnli(name: str, kind: str, *more: Layout) -> Declared:
    return Declared(
        name, ("MNLI",),
        (_tsv(Columns("sentence1", "sentence2", "gold_label"), f"dev_{kind}.tsv"), *more),
        ("entailment", "neutral", "contradiction"), f"Williams et al. 2018 (MultiNLI); {_GLUE}",
        hub=_glue("mnli", "premise", "hypothesis", f"validation_{kind}"),
    )  # fmt: skip


_ALL = (
    Declared(
        "glue/cola", ("CoLA",),
        (
            _tsv(Columns("sentence", None, "label"), header=_COLA),
            Layout(Columns("sentence", None, "label"), ("in_domain_train.tsv",),
                   ("in_domain_dev.tsv", "out_of_domain_dev.tsv"), header=_COLA),
        ),
        ("unacceptable", "acceptable"), f"Warstadt et al. 2019, Neural Network Acceptability Judgments; {_GLUE}",
        metric="matthews", hub=_glue("cola", "sentence"),
    ),
    Declared(
        "glue/sst2", ("SST-2",),
        (Layout(Columns("sentence", None, "label"), ("train.tsv",), ("dev.tsv",), ("test-labeled.tsv",)),),
        ("negative", "positive"), f"Socher et al. 2013, Recursive Deep Models (SST); {_GLUE}",
        hub=_glue("sst2", "sentence"),
    ),
    Declared(
        "glue/mrpc", ("MRPC",),
        (
            _tsv(_MSR),
            Layout(_MSR, ("msr_paraphrase_train.txt",), test=("msr_paraphrase_test.txt",), form="tsv"),
        ),
        ("not_equivalent", "equivalent"), f"Dolan and Brockett 2005 (MSR Paraphrase Corpus); {_GLUE}",
        hub=_glue("mrpc", "sentence1", "sentence2"),
    ),
    Declared(
        "glue/stsb", ("STS-B",),
        (
            _tsv(Columns("sentence1", "sentence2", "score")),
            Layout(Columns("sentence1", "sentence2", "score"), ("sts-train.csv",), ("sts-dev.csv",),
                   ("sts-test.csv",), form="tsv", header=_STSB, extra=True),
        ),
        (), f"Cer et al. 2017, SemEval-2017 Task 1; {_GLUE}",
        kind="regression", metric="pearson", hub=_glue("stsb", "sentence1", "sentence2"),
    ),
    Declared(
        "glue/qqp", ("QQP",), (_tsv(Columns("question1", "question2", "is_duplicate")), _JSONL),
        ("not_duplicate", "duplicate"), f"Iyer et al. 2017 (Quora Question Pairs); {_GLUE}",
        hub=_glue("qqp", "question1", "question2"),
        drops=(BLANK_TEXT, WRONG_FIELDS),
    ),
    _mnli("glue/mnli", "matched", _JSONL),
    _mnli("glue/mnli-mm", "mismatched"),
    Declared(
        "glue/qnli", ("QNLI",), (_tsv(Columns("question", "sentence", "label")), _JSONL),
        ("entailment", "not_entailment"), f"Rajpurkar et al. 2016 (SQuAD), as sentence pairs; {_GLUE}",
        hub=_glue("qnli", "question", "sentence"),
    ),
    Declared(
        "glue/rte", ("RTE",), (_tsv(_SENTENCES),),
        ("entailment", "not_entailment"), f"Dagan et al. 2005 and the RTE challenges after it; {_GLUE}",
        hub=_glue("rte", "sentence1", "sentence2"),
    ),
    Declared(
        "glue/wnli", ("WNLI",),
        (
            Layout(_SENTENCES, ("train.tsv", "val.tsv"), ("dev.tsv",), header=_WNLI),
            _tsv(_SENTENCES, header=_WNLI),
        ),
        ("not_entailment", "entailment"), f"Levesque et al. 2012 (Winograd schemas); {_GLUE}",
        hub=_glue("wnli", "sentence1", "sentence2"),
    ),
    Declared(
        "snli", ("snli", "snli_1.0"),
        (
            _each(Columns("sentence1", "sentence2", "gold_label"), "snli_1.0_{}.jsonl"),
            _each(Columns("sentence1", "sentence2", "gold_label"), "snli_1.0_{}.txt", form="tsv"),
            _each(_SENTENCES, "s1.{}", "s2.{}", "labels.{}", form="aligned", header=_PAIR_AND_LABEL),
            _JSONL,
        ),
        ("entailment", "neutral", "contradiction"),
        "Bowman et al. 2015, A large annotated corpus for learning natural language inference",
        hub=Hub("stanfordnlp/snli", None, Columns("premise", "hypothesis", "label"), test="test", version=2),
        unlabelled=("-", "-1"), drops=(BLANK_TEXT, NO_AGREEMENT),
    ),
    Declared(
        "webmd", ("webmd",), (Layout(Columns("Reviews", None, "Satisfaction"), ("webmd.csv",)),),
        ("1", "2", "3", "4", "5"), "WebMD Drug Reviews (Kaggle), as in the CS4650 project", drops=(BLANK_TEXT,),
    ),
    Declared(
        "goemotions", ("goemotions",),
        (_each(Columns("text", None, "labels"), "{}.tsv", header=("text", "labels", "id")),),
        _EMOTIONS,
        "Demszky et al. 2020, GoEmotions: A Dataset of Fine-Grained Emotions",
        kind="several", metric="micro_f1", several=",",
        hub=Hub("google-research-datasets/go_emotions", "simplified", Columns("text", None, "labels"), test="test"),
    ),
    Declared(
        "hans", ("hans",),
        (
            Layout(Columns("sentence1", "sentence2", "gold_label"), dev=("heuristics_evaluation_set.txt",),
                   form="tsv"),
            Layout(_SENTENCES, dev=("hans_ketm.txt",), form="tsv", header=_PAIR_AND_LABEL),
        ),
        ("entailment", "non-entailment"), "McCoy et al. 2019, Right for the Wrong Reasons",
        hub=Hub("jhu-cogsci/hans", None, Columns("premise", "hypothesis", "label"), train=None),
        evaluation_only="it measures what a model trained on other data has learned",
    ),
    Declared(
        "squad", ("squad",),
        tuple(Layout(Columns("question", "context", "answers"), (f"train-{version}.json",), (f"dev-{version}.json",),
                     form="squad") for version in ("v1.1", "v2.0")),
        (), "Rajpurkar et al. 2016 and 2018 (SQuAD)", kind="answers", metric="token_f1",
        hub=Hub("rajpurkar/squad", None, Columns("question", "context", "answers")),
    ),
)  # fmt: skip

TASKS = {task.name: task for task in _ALL}


def _key(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


_BY_KEY = {_key(task.name): task for task in _ALL}


def declared(name: str) -> Declared | None:
    """The task of that name; upper and lower case and hyphens don't matter."""
    return _BY_KEY.get(_key(name))


def refuse_unknown(name: str) -> None:
    """Refuse a name that can only be meant for one of these tasks."""
    if name.casefold().startswith("glue/"):
        raise UserError(f"no task {name!r}; {did_you_mean(name.casefold(), TASKS)}")
