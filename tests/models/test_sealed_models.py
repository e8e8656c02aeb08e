"""Model folders that we wrote: what was changed in them is told, and never written over."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.seal import FILE, flaw
from bertscope.core.store import Store
from bertscope.data.read import task_root
from bertscope.models.load import load
from bertscope.models.source import model_digest, model_root
from bertscope.study.runner import run_steps
from bertscope.training.finetune.question import finetune
from short_training import QUICK, make_task


def trained_on(folder) -> None:
    """As a training of the user's leaves it, that wrote to the folder with `save_pretrained`: our note survives."""
    path = folder / "model.safetensors"
    save_file({name: tensor + 0.01 for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    assert '"bertscope"' in (folder / "config.json").read_text()


def test_a_saved_model_is_sealed_and_the_seal_is_no_part_of_what_it_is(tiny, tmp_path):
    folder = tiny.save(tmp_path / "m")
    assert not flaw(folder, "model") and set(json.loads((folder / FILE).read_text())["files"]) == {
        path.name for path in folder.iterdir() if path.name != FILE
    }
    before = model_digest(folder)
    (folder / FILE).unlink()
    assert model_digest(folder) == before


def test_a_users_own_training_of_our_model_is_not_written_over(tiny, tmp_path):
    folder = tiny.save(tmp_path / "m")
    trained_on(folder)
    theirs = (folder / "model.safetensors").read_bytes()
    for write in (lambda: tiny.save(folder), lambda: finetune(tiny, make_task(), QUICK, out=folder)):
        with pytest.raises(UserError, match=r"isn't as bertscope wrote it \(model\.safetensors was changed\)"):
            write()
    assert (folder / "model.safetensors").read_bytes() == theirs


def test_a_changed_model_is_refused_until_somebody_says_that_it_is_theirs(tiny, tmp_path):
    folder = tiny.save(tmp_path / "m")
    (folder / "notes.md").write_text("beside it")
    assert load(folder).fingerprint == tiny.fingerprint
    trained_on(folder)
    for use in (lambda: load(folder), lambda: model_root(str(folder))):
        with pytest.raises(UserError, match=r"safetensors was changed; .* delete its seal\.json if the change is"):
            use()
    (folder / FILE).unlink()
    assert load(folder).fingerprint != tiny.fingerprint


@pytest.mark.alone
def test_a_flipped_byte_of_a_stored_model_is_used_for_nothing(tiny, tmp_path):
    """The training is made again, to the same weights, before the question that reads its model."""
    data = tmp_path / "d.csv"
    rows = (f"{'good' if row % 2 else 'bad'} film {row},{row % 2}" for row in range(60))
    data.write_text("text,label\n" + "\n".join(rows))
    base, task = model_root(str(tiny.save(tmp_path / "m"))), task_root(str(data))
    training = find("finetune").step({"base": base, "task": task}, find("finetune").config(epochs=1))
    store = Store(tmp_path / "store")
    run_steps([training], store)
    weights = store.path(training) / "model" / "model.safetensors"
    sound = weights.read_bytes()
    for damaged in (sound[:-1] + bytes([sound[-1] ^ 16]), sound[: len(sound) // 2]):
        weights.write_bytes(damaged)
        asked = find("ablate").step(
            {"model": training, "task": task}, find("ablate").config(repeats=100, permutations=99)
        )
        assert set(run_steps([asked], store).done) == {training.id, asked.id}
        assert weights.read_bytes() == sound and store.is_whole(training)
        store.delete(store.path(asked))
        weights.write_bytes(damaged)
        assert set(run_steps([training], store).done) == {training.id}, "what is asked for is made again itself"
        assert weights.read_bytes() == sound
