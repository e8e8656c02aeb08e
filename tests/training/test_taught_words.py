"""A teacher of words: the same words in its own pieces, what it makes of each, and a pupil that learns it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.data.documents import open_documents
from bertscope.models.load import load
from bertscope.models.new_vocabulary import learn_vocabulary
from bertscope.training import taught_words as module
from bertscope.training.masked_objective import MaskedWords
from bertscope.training.packed_text import PackedText, packed_text
from bertscope.training.pretrain.beginning import Drawn
from bertscope.training.pretrain.question import PretrainConfig, pretrain
from bertscope.training.retold import Retold
from bertscope.training.text_rows import TextRows
from device import DEVICE
from planted_text import write_text
from short_training import stop_in_epoch

TINY = PretrainConfig(
    layers=1, heads=2, units=32, positions=32, length=16, steps=8, batch_tokens=256, held_out=0.1, dropout=0.0
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text") / "topics.txt", documents=60)


@pytest.fixture(scope="module")
def text(path) -> PackedText:
    return packed_text(
        [open_documents(path)], path.parent / "text", "", vocabulary=None, usual=48, cased=False, held_out=0.1,
        longest=64, resume=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def teacher(path):
    """Of the same language, with more pieces than its pupils: its words are fewer of them."""
    return pretrain([path], config=replace(TINY, layers=2, length=32, steps=2, batch_tokens=512)).encoder


def test_the_same_words_in_other_pieces():
    """As the other tokenizer takes the whole text apart, which has never seen some of its letters."""
    line = "Unaffordable straightforwardness, cafe by cafe: 1984's zebras weren't quizzed (twice!) about quizzes."
    reader, other = load("pocket").tokenizer, learn_vocabulary(lambda: [line[:60]], 80, cased=False, longest=64)
    ids = np.array(reader(line, add_special_tokens=False)["input_ids"] + [reader.sep_token_id])
    told = Retold(reader, other)
    pieces, owner = told.pieces(ids)
    read = other(line, add_special_tokens=False)
    assert pieces.tolist() == [*read["input_ids"], other.sep_token_id] and other.unk_token_id in pieces
    assert owner.tolist() == [*read.word_ids(), len(set(read.word_ids()))]
    assert len(ids) > owner[-1] + 1 == told.begins(ids).sum()
    again = told.pieces(np.concatenate([ids, ids]))
    assert again[0].tolist() == [*pieces, *pieces] and (again[1][len(owner) :] - owner[-1] - 1 == owner).all()


def test_what_is_told_of_a_word_is_the_mean_of_its_last_states(text, teacher, tmp_path, monkeypatch):
    """Against the library's pass over each row, word by word; the text is told in several stretches."""
    monkeypatch.setattr(module, "_WINDOW", 700)
    told = module.taught_words(text, teacher, tmp_path, torch.device(DEVICE))
    assert 0 < told.kept <= 1 + 1e-6 and told.vectors.shape == (told.held_out[-1] + 1, 32)
    retold = Retold(text.tokenizer, teacher.tokenizer)
    assert told.train[0] == 0 and (np.diff(told.train) == retold.begins(np.asarray(text.train))[1:]).all()
    states = []
    for ids in (text.train, text.held_out):
        for _, some in module.stretches(ids, retold):
            pieces, owner = retold.pieces(some)
            rows = np.split(
                np.arange(len(pieces)), range(teacher.max_length - 2, len(pieces), teacher.max_length - 2)
            )
            found = []
            for row in rows:
                given = [teacher.tokenizer.cls_token_id, *pieces[row].tolist(), teacher.tokenizer.sep_token_id]
                with torch.no_grad():
                    given = torch.tensor([given], device=teacher.device)
                    found += (
                        teacher.model.base_model(input_ids=given).last_hidden_state[0, 1:-1].cpu().numpy().tolist()
                    )
            states += [np.mean(np.array(found)[owner == word], 0) for word in range(owner[-1] + 1)]
    # All directions are kept of a teacher this small: distances between words are those of its states, scaled.
    some = np.arange(0, len(states), 37)
    between = (np.array(states)[some, None] - np.array(states)[some]).astype(float)
    wanted = (between**2).sum(-1)
    vectors = told.vectors.float().cpu().numpy()[some]
    got = ((vectors[:, None] - vectors) ** 2).sum(-1)
    scale = wanted.sum() / got.sum()
    assert np.allclose(got * scale, wanted, rtol=0.02, atol=0.02 * wanted.mean())
    assert (told.vectors.float() ** 2).sum(1).mean().item() == pytest.approx(1, abs=0.15)


def test_of_more_directions_the_main_ones_are_kept(text, teacher, tmp_path, monkeypatch):
    """Against the singular values of all that the teacher says."""
    device = torch.device(DEVICE)
    whole = module.taught_words(text, teacher, tmp_path, device)
    monkeypatch.setattr(module, "UNITS", 3)
    few = module.taught_words(text, teacher, tmp_path, device)
    learnt = ~np.isin(np.asarray(text.train), text.tokenizer.all_special_ids)
    said = whole.vectors[np.unique(whole.train[learnt])].double().cpu()
    squares = torch.linalg.svdvals(said - said.mean(0)).square()
    assert few.kept == pytest.approx(float(squares[:3].sum() / squares.sum()), abs=1e-3) and 0.1 < few.kept < 0.95
    assert torch.allclose(few.vectors, whole.vectors[:, :3], atol=1e-3), "and they are the same ones, told in order"


@pytest.mark.parametrize(("next_sentence", "usual"), [(False, 32), (True, 32), (True, 64)])
def test_a_row_is_told_of_its_own_words(text, teacher, tmp_path, next_sentence, usual):
    """Wherever its parts are from: all pieces of a word have its number, which says the word."""
    told = module.taught_words(text, teacher, tmp_path, torch.device(DEVICE))
    rows = TextRows(text.tokenizer, next_sentence, usual, 0).of(text.train, np.arange(40) * 29, 32, told.train)
    first = {number: int(piece) for number, piece in reversed(list(zip(told.train, text.train, strict=True)))}
    inside = rows.ids[:, 1:-1].flatten().tolist(), rows.words[:, 1:-1].flatten().tolist()
    begins = Retold(text.tokenizer, teacher.tokenizer).begins(rows.ids.flatten().numpy())
    begins = begins.reshape(40, 32)[:, 1:-1].flatten().tolist()
    checked = [
        first[number] == piece
        for piece, number, here in zip(*inside, begins, strict=True)
        if here and piece != text.tokenizer.sep_token_id
    ]
    assert all(checked) and len(checked) > 500


def test_a_pupil_learns_what_the_teacher_says(path, teacher):
    """Whose states are here of each word alone: they can be told of all words that are shown, five of six or so."""
    config = replace(TINY, steps=150, learning_rate=1e-2, warmup=0.1)
    taught = pretrain([path], teacher=of_words_alone(teacher), config=config).result
    curve = taught.tables["curve"]["taught"]
    assert any("also learnt what" in note and "32 main directions, 100%" in note for note in taught.notes)
    assert -0.5 < curve.iloc[0] <= 0, "it begins by saying 0, the mean of all that is learnt from"
    assert 0.7 < taught["taught"].value == curve.iloc[-1] < 0.97
    assert "taught" not in {number.key for number in pretrain([path], config=TINY).result.headline}


def test_the_size_of_the_states_is_nothing_to_the_teacher(text, teacher, tmp_path):
    """It once was, and the pupil's last states shrank to a tenth of what fine-tuning needs."""
    told = module.taught_words(text, teacher, tmp_path, torch.device(DEVICE))
    encoder = Drawn().encoder(TINY.settled(len(text.train)), text, "text")
    made = MaskedWords(
        encoder, text, batch_tokens=256, rate=0.2, whole_words=True, next_sentence=False, dropout=0.0, half=False,
        compiled=False, length=16, seed=0, fingerprint="", taught=told, teacher_weight=1.0,
    )  # fmt: skip
    with torch.no_grad():
        encoder.model.pupil.weight.normal_()
    states = torch.randn(2, 16, 32, device=DEVICE)
    sizes = torch.tensor(1.0, device=DEVICE, requires_grad=True)
    made._said(sizes * states).square().sum().backward()
    assert sizes.grad.abs() < 1e-4 * made._said(states).square().sum()
    said = made._said(states.repeat(200, 1, 1) + torch.randn(400, 16, 32, device=DEVICE))
    assert said.square().sum(-1).mean().item() == pytest.approx(32, rel=0.2), (
        "weights of size 1 say 1 of each direction"
    )


def test_a_teacher_that_counts_for_nothing_changes_nothing(path, teacher):
    silent = replace(TINY, teacher_weight=0)
    alone, beside = pretrain([path], config=TINY), pretrain([path], teacher=teacher, config=silent)
    for name, weight in alone.encoder.model.state_dict().items():
        assert torch.equal(weight, beside.encoder.model.state_dict()[name]), name
    other = pretrain([path], teacher=teacher, config=TINY).encoder
    assert not torch.equal(other.model.bert.embeddings.word_embeddings.weight,
                           alone.encoder.model.bert.embeddings.word_embeddings.weight)  # fmt: skip


def test_a_stopped_pupil_goes_on_and_nothing_of_the_lessons_is_kept(path, teacher, tmp_path, monkeypatch):
    config = replace(TINY, keep="even", checkpoints=3)
    whole = pretrain([path], teacher=teacher, config=config, out=tmp_path / "whole")
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 4)
        with pytest.raises(KeyboardInterrupt):
            pretrain([path], teacher=teacher, config=config, out=tmp_path / "killed")
    resumed = pretrain([path], teacher=teacher, config=config, out=tmp_path / "killed")
    assert resumed.result["taught"].value == pytest.approx(whole.result["taught"].value, rel=1e-5)
    for folder in ("whole", "killed", "whole/checkpoint-0", "whole/checkpoint-4"):
        assert not [name for name in load(tmp_path / folder).model.state_dict() if "pupil" in name]
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 4)
        with pytest.raises(KeyboardInterrupt):
            pretrain([path], teacher=teacher, config=config, out=tmp_path / "other")
    with pytest.raises(UserError, match="checkpoint of another training"):
        pretrain([path], teacher=of_words_alone(teacher), config=config, out=tmp_path / "other")
    origin = load(tmp_path / "whole").record.origin
    assert teacher.id in origin.recipe["teacher"]


def test_who_cannot_teach_is_refused(path, text, teacher, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10_000, 20_000))
    with pytest.raises(
        UserError, match=r"words takes 256,000 bytes of the GPU's memory, of which 10,000 bytes are free"
    ):
        module._room_for(1000, 128, torch.device("cuda"))
    with pytest.raises(UserError, match="teacher-weight is 0, but there is no teacher"):
        pretrain([path], config=replace(TINY, teacher_weight=0))
    without = copy.deepcopy(teacher.tokenizer)
    without.cls_token = None
    with pytest.raises(UserError, match=r"its tokenizer has no \[CLS\], \[SEP\] or \[UNK\]"):
        pretrain([path], teacher=replace(teacher, tokenizer=without), config=TINY)
    dumb = changed(teacher, at=["bert.encoder.layer.1.output.LayerNorm.weight"])
    with pytest.raises(UserError, match="states of all words are the same"):
        module.taught_words(text, dumb, tmp_path, torch.device("cpu"))


def changed(teacher, at: list[str]):
    """A copy, some of whose weights are 0."""
    model = copy.deepcopy(teacher.model)
    for name in at:
        with torch.no_grad():
            model.get_parameter(name).zero_()
    return replace(teacher, model=model)


def of_words_alone(teacher):
    layers = range(teacher.n_layers)
    attention = [f"bert.encoder.layer.{layer}.attention.output.dense.weight" for layer in layers]
    return changed(teacher, at=["bert.embeddings.position_embeddings.weight", *attention])
