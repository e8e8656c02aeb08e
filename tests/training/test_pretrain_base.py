"""A pre-training that goes on from a model: it begins as that model, reads as it does, and learns what is new."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForMaskedLM

from bertscope.core.errors import UserError
from bertscope.core.number import Number
from bertscope.models.load import load
from bertscope.training.pretrain.consequence import consequences
from bertscope.training.pretrain.question import PretrainConfig, pretrain
from families import tiny_model
from planted_text import write_text
from pocket_facts import POSITIONS
from short_training import same, stop_in_epoch

SHAPE = PretrainConfig(layers=1, heads=2, units=32, positions=32, length=16, held_out=0.1, dropout=0.0)
GOING_ON = PretrainConfig(length=16, steps=4, batch_tokens=256, held_out=0.1, dropout=0.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "topics.txt")


@pytest.fixture(scope="module")
def base(path):
    """It knows which words go together."""
    config = replace(SHAPE, length=32, steps=280, batch_tokens=512, learning_rate=1e-2, warmup=0.06, held_out=0.25)
    return pretrain([path], config=config).encoder


def said(encoder, text: str) -> torch.Tensor:
    coded = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
    with torch.no_grad():
        found = encoder.model(**coded)
    return (found.logits if "logits" in found else found.prediction_logits).cpu()


def test_before_any_step_it_says_what_the_base_says(path, base, tmp_path):
    """Also where it has more positions than the base, of texts that the base can read."""
    config = replace(GOING_ON, positions=80, batch_tokens=320, keep="even", checkpoints=2)
    made = pretrain([path], start=base, config=config, out=tmp_path / "model")
    first, line = load(tmp_path / "model/checkpoint-0"), path.read_text().splitlines()[0][:60]
    assert torch.equal(said(first, line), said(base, line))
    assert made.result["before"].low > made.result["chance"].value + 0.1, "and guesses what it learnt"
    assert (made.encoder.max_length, base.max_length) == (80, 32)
    assert said(first, " ".join([line] * 20)[:400]).shape[1] > 33, "longer texts are read, too"
    before, after = (one.model.bert.embeddings.position_embeddings.weight.cpu() for one in (base, first))
    assert torch.equal(after[:32], before) and torch.equal(after[32:63], before[1:]) and len(after) == 80
    assert torch.equal(after[63:], before[1:18])
    assert made.encoder.tokenizer.get_vocab() == base.tokenizer.get_vocab()
    assert not same(made.encoder, first)


def test_how_the_base_was_last_used_changes_nothing(path):
    """Its tokenizer may still cut and pad texts."""
    made = []
    for longest in (8, 128):
        pocket = load("pocket")
        pocket.tokenizer(
            ["a text of some length, as it may be", "one"], truncation=True, max_length=longest, padding=True
        )
        made.append(pretrain([path], start=pocket, config=replace(GOING_ON, long_share=0.0, steps=1)))
    cut, whole = ([note for note in one.result.notes if "pieces" in note] for one in made)
    assert cut == whole and same(*(one.encoder for one in made))


def test_it_is_compared_with_what_it_knew_before():
    bars = {"accuracy": (0.50, 0.45, 0.55), "before": (0.30, 0.25, 0.35), "chance": (0.1, None, None)}
    asked = pretrain.result(headline=[Number(key, *bars[key]) for key in bars])
    for before, told in (((0.3, 0.25, 0.35), "learnt something about these texts"), ((0.48, 0.4, 0.5), "is open"),
                         ((0.7, 0.6, 0.8), "knows less about these texts than before")):  # fmt: skip
        numbers = [replace(one, value=before[0], low=before[1], high=before[2]) if one.key == "before" else one
                   for one in asked.headline]  # fmt: skip
        (found,) = consequences(replace(asked, headline=numbers))
        assert told in found.text and "guesses 50" in found.text


def test_what_is_new_in_a_text_is_learnt(path, tmp_path):
    """That words go together, which are drawn at random in the text that was learnt from before. The base stays as
    it was."""
    noise = write_text(tmp_path / "noise.txt", on_topic=False)
    novice = pretrain([noise], config=replace(SHAPE, steps=20, batch_tokens=256)).encoder
    kept = {name: weight.clone() for name, weight in novice.model.state_dict().items()}
    config = replace(GOING_ON, length=32, steps=280, batch_tokens=512, learning_rate=1e-2, held_out=0.25)
    made = pretrain([path], start=novice, config=config)
    assert made.result["held_out_loss"].value < made.result.tables["curve"]["held_out_loss"].iloc[0] - 0.2
    assert made.result["accuracy"].low > made.result["before"].high
    assert all(torch.equal(weight, kept[name]) for name, weight in novice.model.state_dict().items())
    origin = made.encoder.record.origin
    assert origin.base.is_same(novice.record) and origin.recipe["units"] == 32


@pytest.mark.parametrize("next_sentence", [False, True])
def test_what_tells_whether_a_part_follows_is_taken_over_or_drawn(path, next_sentence):
    pocket = load("pocket")
    config = replace(GOING_ON, long_share=0.0, steps=1, learning_rate=1e-9, next_sentence=next_sentence, length=32)
    model = pretrain([path], start=pocket, config=config).encoder.model
    assert hasattr(model.cls, "seq_relationship") is next_sentence
    parts = model.bert.embeddings.token_type_embeddings.weight
    assert not torch.equal(parts[0], parts[1]), "as the base reads them"
    if next_sentence:
        torch.testing.assert_close(model.cls.seq_relationship.weight, pocket.model.cls.seq_relationship.weight)


def test_one_that_never_asked_what_follows_can_begin_to(path, base):
    assert not hasattr(base.model.cls, "seq_relationship")
    made = pretrain([path], start=base, config=replace(GOING_ON, next_sentence=True, length=32))
    assert 0 <= made.result["next_sentence"].value <= 1 and made.result["before"].value > 0.2


def test_a_stopped_one_goes_on_and_from_the_same_base_alone(path, base, tmp_path, monkeypatch):
    whole = pretrain([path], start=base, config=GOING_ON, out=tmp_path / "whole")
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 3)
        with pytest.raises(KeyboardInterrupt):
            pretrain([path], start=base, config=GOING_ON, out=tmp_path / "killed")
    with pytest.raises(UserError, match="checkpoint of another training"):
        pretrain([path], start=whole.encoder, config=GOING_ON, out=tmp_path / "killed")
    assert same(pretrain([path], start=base, config=GOING_ON, out=tmp_path / "killed").encoder, whole.encoder)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"layers": 2}, "layers is 2, and the base's is 1; leave it out with --start"),
        ({"units": 64}, "units is 64, and the base's is 32"),
        ({"positions": 16, "long_share": 0.0}, "positions is 16, and the base's is 32"),
        ({"cased": True}, "cased was asked for, and the base reads capitals as small letters"),
        ({"length": 64, "batch_tokens": 512}, "length is 64, positions 32; rows can't be longer"),
    ],
)
def test_another_shape_is_refused(path, base, settings, why):
    with pytest.raises(UserError, match=why):
        pretrain([path], start=base, config=replace(GOING_ON, **settings))


def test_the_base_own_shape_may_be_said(path, base):
    assert pretrain([path], start=base, config=replace(GOING_ON, layers=1, units=32, heads=2)).encoder.n_layers == 1


def test_vocabulary_and_shape_are_taken_without_weights(path, base):
    """It begins with how frequent pieces are alone, and learns as one that was always drawn."""
    made = pretrain([path], start=base, config=replace(GOING_ON, init="random", positions=48, batch_tokens=768))
    before, chance = made.result["before"], made.result["chance"]
    assert before.low <= chance.value <= before.high + 0.05 and before.value < 0.15
    assert made.encoder.tokenizer.get_vocab() == base.tokenizer.get_vocab() and made.encoder.max_length == 48
    origin = made.encoder.record.origin
    assert origin.base is None and origin.recipe["learning_rate"] == pytest.approx(0.3 / 32, rel=0.01)
    weights = [one.model.bert.embeddings.word_embeddings.weight.cpu() for one in (made.encoder, base)]
    assert abs(torch.corrcoef(torch.stack([one.flatten() for one in weights]))[0, 1]) < 0.1
    parts = made.encoder.model.bert.embeddings.token_type_embeddings.weight
    assert torch.equal(parts[0], parts[1]), "no row had a second part"


def test_drawn_without_a_start_is_refused(path):
    with pytest.raises(UserError, match="init is random, and without --start weights are drawn anyway"):
        pretrain([path], config=replace(SHAPE, init="random", steps=2))


def test_who_cannot_go_on_is_refused(path, tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(UserError, match="there is no text to learn from"):
        pretrain([tmp_path / "empty.txt"], start="pocket", config=replace(GOING_ON, long_share=0.0, length=32))
    other = load(tiny_model("roberta", AutoModelForMaskedLM), tokenizer=load("pocket").tokenizer)
    with pytest.raises(UserError, match=r"can't go on from .*: it is a roberta"):
        pretrain([path], start=other, config=GOING_ON)


def test_the_command_takes_a_base(path, command, tmp_path):
    more = POSITIONS + 32
    flags = ("--length=32", "--steps=2", f"--batch-tokens={more}", "--held-out=0.1", f"--positions={more}")
    code, out, err = command("pretrain", path, "--start", "pocket", *flags, "--out", "mine", "--store", "store")
    assert code == 0, err
    made, pocket = load(tmp_path / "mine"), load("pocket")
    assert "pocket" in out and made.max_length == more
    assert made.tokenizer.get_vocab() == pocket.tokenizer.get_vocab() and made.record.first.is_same(pocket.record)
