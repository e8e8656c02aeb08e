"""The way most users come: a table of their own and a classifier that others trained, through the command line.

Each step of the path is a fixture that runs one command, and a test of what it says. A further question joins with
one of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertForSequenceClassification

import bertscope
from bertscope.core.registry import QUESTIONS
from bertscope.core.result import Result
from browsing import NEEDS_CHROMIUM, browser, draw_all, visit  # noqa: F401
from warm_commands import WarmCommands

pytest.importorskip("cyclopts")  # not on the bare GPU machine

VERDICTS = {
    "bad": ("bad", "terrible", "cold", "sad", "wrong"),
    "fair": ("usual", "plain", "small", "quiet", "short"),
    "good": ("good", "wonderful", "warm", "happy", "right"),
}
"""The labels, as the data sorts them, and the words that decide them."""
THEIRS = ("good", "bad", "fair")
"""The labels in the order of the foreign classifier."""
FILLERS = ("the", "food", "was", "room", "and", "river", "old", "train", "house", "winter", "she", "said", "it", "by")
ON = ("--on", "reviews.csv", "--text", "review", "--label", "verdict")


def reviews(rows: int, seed: int) -> pd.DataFrame:
    """Texts with one telling word among others; every thirtieth reader or so has pressed the wrong key."""
    generator = np.random.default_rng(seed)
    verdicts = generator.choice(list(VERDICTS), rows)
    texts = []
    for verdict in verdicts:
        words = list(generator.choice(FILLERS, generator.integers(4, 12)))
        words.insert(int(generator.integers(len(words) + 1)), str(generator.choice(VERDICTS[verdict])))
        texts.append(" ".join(words))
    given = np.where(generator.random(rows) < 1 / 30, generator.choice(list(VERDICTS), rows), verdicts)
    return pd.DataFrame({"number": range(rows), "review": texts, "verdict": given})


def foreign(folder: Path, tokenizer) -> Path:
    """A classifier that plain transformers and torch made. In its second layer attention and MLP add nothing."""
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=32, pad_token_id=tokenizer.pad_token_id, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, id2label=dict(enumerate(THEIRS)),
        label2id={label: number for number, label in enumerate(THEIRS)},
    )  # fmt: skip
    torch.manual_seed(0)
    model = BertForSequenceClassification(config)
    idle = model.bert.encoder.layer[1]
    for linear in (idle.attention.output.dense, idle.output.dense):
        for weights in linear.parameters():
            torch.nn.init.zeros_(weights).requires_grad_(False)
    data = reviews(960, seed=1)
    gold = torch.tensor([THEIRS.index(verdict) for verdict in data["verdict"]])
    coded = tokenizer(data["review"].tolist(), padding=True, return_tensors="pt")
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-3)
    for _ in range(8):
        for rows in torch.randperm(len(data)).split(32):
            loss = model(**{name: values[rows] for name, values in coded.items()}, labels=gold[rows]).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@dataclass(frozen=True)
class Desk:
    """The folder that the commands are run in."""

    folder: Path
    commands: WarmCommands

    def run(self, *words: str) -> str:
        """What a command prints."""
        code, out, err = self.commands.run(*words, folder=self.folder)
        assert code == 0, err
        return out

    def ask(self, *words: str) -> Result:
        """What a question stored."""
        step = json.loads(self.run(*words, "--json"))["id"]
        return Result.load(self.folder / "bertscope-store" / "steps" / step)

    @property
    def task(self) -> bertscope.Task:
        return bertscope.read_task(str(self.folder / "reviews.csv"), text="review", label="verdict")

    def plain_score(self, model: str) -> float:
        """The accuracy on the test rows as transformers alone gives it; labels are matched by name."""
        tokenizer = AutoTokenizer.from_pretrained(self.folder / model)
        classifier = AutoModelForSequenceClassification.from_pretrained(self.folder / model).eval()
        task = self.task
        with torch.inference_mode():
            logits = classifier(**tokenizer(list(task.test.text), padding=True, return_tensors="pt")).logits
        found = [classifier.config.id2label[number] for number in logits.argmax(-1).tolist()]
        gold = [task.labels[number] for number in task.test.label]
        return float(np.mean([one == other for one, other in zip(found, gold, strict=True)]))


@pytest.fixture(scope="module")
def desk(tmp_path_factory, _pocket) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    reviews(600, seed=0).to_csv(folder / "reviews.csv", index=False)
    foreign(folder / "theirs", _pocket.tokenizer)
    with WarmCommands(tmp_path_factory.mktemp("said")) as commands:
        yield Desk(folder, commands)


@pytest.fixture(scope="module")
def tuned(desk) -> Result:
    return desk.ask("finetune", "theirs", *ON, "--epochs", "3", "--learning-rate", "1e-3", "--out", "ours")


@pytest.fixture(scope="module")
def ablated(desk) -> Result:
    return desk.ask("ablate", "theirs", *ON, "--mode", "zero")


@pytest.fixture(scope="module")
def shrunk(desk) -> Result:
    return desk.ask("shrink", "theirs", *ON, "--target", "50%", "--shape", "plain", "--epochs", "1", "--no-onnx",
                    "--out", "small")  # fmt: skip


@pytest.fixture(scope="module")
def page_file(desk, tuned, ablated, shrunk) -> Path:
    desk.run("report", "build", "--title", "Our reviews", "--out", "page.html")
    return desk.folder / "page.html"


def test_the_table_is_read_by_its_columns(desk):
    task = desk.task
    assert task.labels == tuple(VERDICTS) != THEIRS
    assert sum(map(len, (task.train, task.validation, task.test))) == 600 and len(task.test) > 100


def test_finetune_learns_the_labels(desk, tuned):
    assert tuned["after"].value > 0.8 > tuned["chance"].value
    assert desk.plain_score("ours") == pytest.approx(tuned["after"].value)


def test_ablate_scores_as_transformers_does_and_finds_what_is_idle(desk, ablated):
    score = ablated["score"].value
    assert 0.9 < score < 1 and score == pytest.approx(desk.plain_score("theirs"))
    parts = ablated.table.set_index("unit")
    assert (parts.loc[["head:2.1", "head:2.2", "heads:2", "mlp:2"], "effect"] == 0).all()
    assert parts.loc["heads:1", "effect"] < -0.3 and parts.loc["heads:1", "certain"]
    assert ablated["parts_needed"].value >= 1


def test_shrink_keeps_the_score_without_the_idle_layer(desk, shrunk, ablated):
    whole, score = (shrunk.numbers(key="score", arm=arm)[0].value for arm in ("whole", "cut"))
    assert score == pytest.approx(desk.plain_score("small")) and score > ablated["score"].value - 0.03
    assert whole == ablated["score"].value
    assert shrunk["left"].value <= 0.5 and bertscope.load(str(desk.folder / "small")).n_layers == 1


def test_the_page_has_every_answer(page_file):
    page = page_file.read_text(encoding="utf-8")
    assert "<title>Our reviews</title>" in page
    for name in ("finetune", "ablate", "shrink"):
        assert QUESTIONS[name].line.rstrip(".") in page


@NEEDS_CHROMIUM
def test_the_page_opens(visit):  # noqa: F811
    page = visit()
    draw_all(page)
    assert page.locator(".chart:visible").count() > 0
