"""Pre-training: it learns what can be learnt and nothing else, goes on after a kill, and keeps what it is told to."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import torch

from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.store import Store
from bertscope.data.documents import is_held_out, open_documents
from bertscope.models.load import load
from bertscope.study.file import read_study
from bertscope.training.packed_text import packed_text
from bertscope.training.pretrain.question import PretrainConfig, pretrain
from device import one_by_one
from planted_text import write_text
from recorders import Again, capturing
from short_training import same, stop_in_epoch

TINY = PretrainConfig(
    layers=1, heads=2, units=32, positions=32, length=16, steps=12, batch_tokens=256, held_out=0.1,
    dropout=0.0,
)  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "topics.txt")


def curve(result) -> pd.DataFrame:
    return result.tables["curve"].drop(columns="seconds")


def test_what_a_text_teaches_is_learnt_and_nothing_else_is(tmp_path, text):
    """A document's words tell which others are in it. Where they don't, no guess is better than their entropy."""
    noise = write_text(tmp_path / "noise.txt", on_topic=False)
    config = replace(TINY, steps=280, batch_tokens=512, length=32, learning_rate=1e-2, warmup=0.06, held_out=0.25)
    learnt, nothing = (pretrain([path], config=config).result for path in (text, noise))
    of_words = 0.8  # of what is masked, the rest being full stops and numbers; each is one of 24
    assert nothing["held_out_loss"].value > of_words * math.log(24) > learnt["held_out_loss"].value + 0.2
    assert learnt["accuracy"].low > nothing["accuracy"].value >= nothing["chance"].value - 0.05
    assert learnt["accuracy"].n == learnt["before"].n >= 100


def test_it_begins_with_how_frequent_pieces_are(tmp_path, text):
    """Which a deep model would learn by becoming blind to everything else."""
    made = pretrain([text], config=replace(TINY, keep="even", checkpoints=2, steps=2), out=tmp_path / "model")
    first = load(tmp_path / "model/checkpoint-0")
    lines = [line for lines in open_documents(text) if not is_held_out(lines, 0.1) for line in lines]
    pieces = Counter(chain(*first.tokenizer(lines, add_special_tokens=False)["input_ids"]))
    shares = first.model.cls.predictions.bias.detach().exp()
    assert float(shares.sum()) == pytest.approx(1)
    frequent, other = (one for one, _ in pieces.most_common(2))
    assert float(shares[frequent] / shares[other]) == pytest.approx((pieces[frequent] + 1) / (pieces[other] + 1))
    assert made.result["before"].value == made.result["chance"].value


def test_a_stopped_training_goes_on_to_the_same_curve_and_weights(tmp_path, text, monkeypatch):
    config = replace(TINY, keep="even", checkpoints=3, dropout=0.1)
    whole = pretrain([text], config=config, out=tmp_path / "whole")
    for epoch in (3, 9):
        with monkeypatch.context() as killing:
            stop_in_epoch(killing, epoch)
            with pytest.raises(KeyboardInterrupt):
                pretrain([text], config=config, out=tmp_path / "killed")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == [
        "killed.checkpoint", "killed.checkpoint-0", "killed.checkpoint-6", "killed.text", "whole",
    ]  # fmt: skip
    before = (tmp_path / "killed.text/train.bin").stat().st_mtime_ns
    with monkeypatch.context() as watching:
        watching.setattr("bertscope.training.packed_text.learn_vocabulary", None)  # it isn't learnt again
        again = pretrain([text], config=config, out=tmp_path / "killed")
    assert before and same(again.encoder, whole.encoder)
    pd.testing.assert_frame_equal(curve(again.result), curve(whole.result))
    pd.testing.assert_frame_equal(again.result.tables["steps"], whole.result.tables["steps"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"], "nothing else is left"
    for name in ("checkpoint-0", "checkpoint-6", "checkpoint-12"):
        assert same(*(load(tmp_path / one / name) for one in ("killed", "whole")))


def test_checkpoints_are_models_from_the_first_weights_to_the_last(tmp_path, text):
    made = pretrain([text], config=replace(TINY, keep="log", checkpoints=4, half=True), out=tmp_path / "model")
    found = sorted((tmp_path / "model").glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    assert [path.name for path in found] == ["checkpoint-0", "checkpoint-1", "checkpoint-12"]  # two fall on step 1
    first, _, last = map(load, found)
    assert same(last, made.encoder) and same(last, load(tmp_path / "model")) and not same(first, last)
    assert "step 12" in last.name and last.record.origin.by == "pretrain" and not last.record.is_random
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert config["dtype"] == "float16" and config["hidden_dropout_prob"] == 0.1
    torch.manual_seed(TINY.seed)
    drawn = type(first.model)(first.model.config)
    wanted = drawn.bert.encoder.layer[0].intermediate.dense.weight
    assert torch.equal(first.model.bert.encoder.layer[0].intermediate.dense.weight.cpu(), wanted.half().float())


@pytest.mark.parametrize("next_sentence", [False, True])
def test_a_second_part_is_read_as_the_first_where_none_was_learnt_from(tmp_path, text, next_sentence):
    config = replace(TINY, keep="even", checkpoints=3, next_sentence=next_sentence)
    pretrain([text], config=config, out=tmp_path / "model")
    for folder in (tmp_path / "model", *(tmp_path / "model").glob("checkpoint-*")):
        parts = load(folder).model.bert.embeddings.token_type_embeddings.weight
        assert torch.equal(parts[0], parts[1]) is not next_sentence


@one_by_one
def test_recorded_steps_are_those_one_by_one(text, monkeypatch):
    config = replace(TINY, length=32, positions=64, next_sentence=True, short_share=0.3, long_share=0.3)
    plain = pretrain([text], config=config)
    recorder = capturing(monkeypatch, Again())
    again = pretrain([text], config=config)
    assert recorder.recorded == 3, "one for each length"
    assert curve(again.result)["loss"].iloc[1:].to_numpy() == pytest.approx(
        curve(plain.result)["loss"].iloc[1:].to_numpy(), rel=2e-3
    )


def test_answers_are_stored_and_written_out_by_the_command(text, command, tmp_path):
    flags = [f"--{name}={value}" for name, value in (
        ("layers", 1), ("units", 32), ("positions", 32), ("length", 16), ("steps", 4),
        ("batch-tokens", 256), ("held-out", 0.1),
    )]  # fmt: skip
    code, out, err = command("pretrain", text, *flags, "--out", "model", "--store", "store")
    assert code == 0, err
    assert "masked pieces of held-out text" in out and load(tmp_path / "model").max_length == 32
    (stored,) = Store(tmp_path / "store").finished()
    assert sorted(path.name for path in stored.folder.iterdir() if path.is_dir()) == ["model", "result"]
    code, again, _ = command("pretrain", text, *flags, "--store", "store", "--json")
    assert code == 0 and json.loads(again)["question"] == "pretrain"
    code, *told = command("report", "build", "--store", "store", "--out", "page.html")
    after = re.search(r"What to do next: (.*)", "".join(told))[1]
    assert code == 0 and "MODEL" in after and "--on DATA" in after, "neither lies where a command would find it"


def _error(text, **settings) -> str:
    with pytest.raises(UserError) as refused:
        pretrain([text], config=replace(TINY, **settings))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_cant_be_learnt_from_is_refused(tmp_path, text):
    (tmp_path / "empty.txt").write_text("\n\n")
    assert "there is no text to learn from" in _error(tmp_path / "empty.txt")
    (tmp_path / "binary.txt").write_bytes(b"GIF89a\x00\x00")
    assert "it is no text" in _error(tmp_path / "binary.txt")
    assert "not enough for a step of 65,536 tokens" in _error(text, batch_tokens=65_536)
    assert "gives a vocabulary of" in _error(text, vocabulary=5000) and "--vocabulary" in _error(
        text, vocabulary=5000
    )
    assert "too little text is held out" in _error(text, held_out=1e-9)
    assert "give out=" in _error(text, keep="log")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"heads": 5}, "32 units don't divide into 5 heads"), ({"batch_tokens": 100}, "give a multiple of 32"),
        ({"length": 64}, "rows can't be longer"), ({"mask_rate": 1.0}, "mask-rate is 1.0"),
        ({"minutes": 2.0}, "give one of them"), ({"steps": None, "minutes": 0.0}, "minutes is 0.0"),
        ({"checkpoints": 1}, "checkpoints is 1"), ({"long_share": 1.0}, "long-share is 1.0"),
        ({"length": 32, "positions": 64, "long_share": 0.8}, "short-share is 0.25 and long-share 0.8; together"),
    ],
)  # fmt: skip
def test_settings_that_cant_be_are_refused(settings, said):
    with pytest.raises(UserError, match=said):
        replace(TINY, **settings)


def test_folders_of_others_stay(tmp_path, text):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="holds things that bertscope didn't write"):
        pretrain([text], config=TINY, out=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_full_disk_is_said(tmp_path, text, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bertscope.training.packed_text._write", full)
    with pytest.raises(FullDiskError, match="cannot write"):
        pretrain([text], config=TINY, out=tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_packed_text_is_the_texts_pieces(tmp_path, text):
    documents = open_documents(text)
    found = packed_text([documents], tmp_path / "text", "one", vocabulary=None, usual=64, cased=False, held_out=0.2,
                        longest=32, resume=True)  # fmt: skip
    separated = [
        [*found.tokenizer(" ".join(lines)).input_ids[1:-1], found.tokenizer.sep_token_id] for lines in documents
    ]
    assert isinstance(found.train, np.memmap) and found.train.dtype == np.uint16
    both = sorted([*found.train.tolist(), *found.held_out.tolist()])
    assert both == sorted(piece for one in separated for piece in one)
    assert found.counts.documents + found.counts.held_out_documents == len(separated)
    assert (
        found.train.tolist()[: len(separated[0])] in separated
        or found.held_out.tolist()[: len(separated[0])] in separated
    )
    assert len(found.train) == found.counts.pieces and len(found.held_out) == found.counts.held_out_pieces


def test_a_study_names_texts_by_their_paths(tmp_path, text):
    path = tmp_path / "study.yaml"
    path.write_text(f"base: pocket\nquestions:\n  - pretrain: {{of: [{text}, {text}], steps: 3}}\n")
    (step,) = read_study(path).steps
    assert list(step.inputs) == ["texts.0", "texts.1"] and step.config["steps"] == 3
    path.write_text("base: pocket\nquestions:\n  - pretrain\n")
    with pytest.raises(UserError, match="line 3: say of which files"):
        _ = read_study(path).steps


def test_a_training_that_came_to_nothing_says_so(text):
    """Twelve layers collapse with a rate that one bears."""
    result = pretrain([text], config=replace(TINY, layers=12, steps=20, learning_rate=5e-2, warmup=0.0)).result
    assert result.notes[0].startswith("after 20 steps it guesses no better than always the most frequent piece; give")


@pytest.mark.parametrize(
    ("given", "rate", "warmup"),
    [
        ({"layers": 12, "units": 768, "heads": 12, "steps": 100_000}, 3.9e-4, 0.1),
        ({"layers": 1, "steps": 1000}, 9.4e-3, 0.3),
        ({"layers": 6, "units": 256, "heads": 8, "steps": 2000}, 1.2e-3, 0.15),
        ({"steps": None, "minutes": 5.0, "learning_rate": 0.2, "warmup": 0.0}, 0.2, 0.0),
        ({"steps": None, "minutes": 5.0}, 9.4e-3, 0.1),
    ],
)  # fmt: skip
def test_what_isnt_given_goes_by_size(given, rate, warmup):
    settled = replace(TINY, **given).settled(100_000)
    assert (settled.learning_rate, settled.warmup) == (rate, pytest.approx(warmup))
    assert (replace(TINY, batch_tokens=None).settled(10**8).batch_tokens, settled.heads) == (131_072, settled.n_heads)
