"""Models that rest in their files, and come back as they were."""

from __future__ import annotations

import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.stage import Stage
from checkpoints import drifting
from device import DEVICE


@pytest.fixture
def encoders(tiny, tmp_path):
    drifting(tiny, tmp_path, steps=(1, 2, 3))
    return [load(str(tmp_path / f"checkpoint-{step}"), device=DEVICE) for step in (1, 2, 3)]


def held(encoder) -> int:
    """Bytes of weights."""
    return sum(weight.numel() * weight.element_size() for weight in encoder.model.parameters())


def test_who_rests_has_no_weights_and_comes_back_as_it_was(encoders, texts, tmp_path):
    before = [(one.fingerprint, one.record, one.predict(texts).logits) for one in encoders]
    stage = Stage(tmp_path)
    stage.rest(encoders)
    assert [held(one) for one in encoders] == [0, 0, 0]
    for turn in ([0], [2], [0, 1], [1, 2], [1]):
        with stage.on([encoders[place] for place in turn]):
            for place in turn:
                print, record, outputs = before[place]
                assert encoders[place].fingerprint == print and encoders[place].record == record
                assert (encoders[place].predict(texts).logits == outputs).all()
        assert [held(one) for one in encoders] == [0, 0, 0]


def test_two_share_the_memory_of_two(encoders, tmp_path):
    stage = Stage(tmp_path)
    stage.rest(encoders)
    places = set()
    for one, other in ((0, 1), (0, 2), (1, 2), (2, 0)):
        with stage.on([encoders[one], encoders[other]]):
            here = [{weight.data_ptr() for weight in encoders[at].model.parameters()} for at in (one, other)]
            assert not here[0] & here[1]
            places |= here[0] | here[1]
    assert len(places) == 2 * len(list(encoders[0].model.parameters()))


def test_who_is_on_already_is_not_read_again(encoders, monkeypatch, tmp_path):
    from bertscope.models import stage as module

    read = []
    real = module._fill
    monkeypatch.setattr(module, "_fill", lambda slot, one: read.append(one.encoder.name) or real(slot, one))
    stage = Stage(tmp_path)
    stage.rest(encoders)
    first, second, third = encoders
    for other in (second, third):
        with stage.on([first, other]):
            pass
    assert len(read) == 3


def test_what_is_not_as_its_files_are_stays_in_memory(encoders, tiny, tmp_path):
    with torch.no_grad():
        next(encoders[1].model.parameters()).add_(1)
    stage = Stage(tmp_path)
    stage.rest([*encoders, tiny])
    assert held(encoders[0]) == 0 and held(encoders[1]) > 0 and held(tiny) > 0
    before = encoders[1].fingerprint
    with stage.on([encoders[1], tiny]):
        assert encoders[1].fingerprint == before


def test_half_precision_comes_back_as_it_was_opened(tiny, tmp_path):
    folder = tiny.save(tmp_path / "half")
    tiny.model.half().save_pretrained(folder)
    (folder / "seal.json").unlink()
    one = load(str(folder), device=DEVICE)
    before, stage = one.fingerprint, Stage(tmp_path)
    stage.rest([one])
    assert held(one) == 0
    with stage.on([one]):
        assert one.fingerprint == before


def test_files_that_changed_meanwhile_are_refused(encoders, tiny, tmp_path):
    stage = Stage(tmp_path)
    stage.rest(encoders)
    tiny.model.classifier.bias.data.add_(1)
    tiny.save(tmp_path / "checkpoint-2")
    with stage.on([encoders[0]]):
        pass
    with pytest.raises(UserError, match="has changed since this run was planned"), stage.on([encoders[1]]):
        pass
