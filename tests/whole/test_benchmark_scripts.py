"""The scripts that are run by themselves, on another machine: they complete, and print what they promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import gpu_profiles, pretraining, workers
from benchmarks.options import Options
from bertscope.training.masked_objective import MaskedWords
from bertscope.training.pretrain.beginning import Drawn
from device import on_cpu


@on_cpu
def test_nothing_waits_on_a_cpu(capsys):
    gpu_profiles.main(["--size", "2", "2", "32", "--sentences", "40", "--only", "importance", "states"])
    *_, importance, states = capsys.readouterr().out.splitlines()
    for name, line in (("importance", importance), ("states", states)):
        told, seconds, bare, times, waits = line.split()
        assert told == name and waits == "0"
        assert float(times) == pytest.approx(float(seconds) / float(bare), rel=0.1, abs=0.1)


@pytest.mark.slow
@on_cpu
def test_geometry_probe_and_explain_complete(capsys):
    gpu_profiles.main(["--size", "2", "2", "32", "--sentences", "60", "--only", "geometry", "probe", "explain"])
    found = [line.split()[0] for line in capsys.readouterr().out.splitlines()[-3:]]
    assert found == ["geometry", "probe", "explain"]


@pytest.mark.slow
@pytest.mark.alone
@on_cpu
def test_workers_are_told_with_what_they_read(capsys, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that it is as it was afterwards
    workers.main(["--workers", "1"])
    count, texts, whole, rate, reading, alone = capsys.readouterr().out.splitlines()[-1].split()
    assert (count, texts, alone) == ("1", "2,048", "1.0x")
    assert float(reading.replace(",", "")) >= float(rate.replace(",", "")) > 0 and float(whole) > 0


@on_cpu
def test_the_ceiling_of_pre_training_multiplies_what_a_step_multiplies():
    """Counted by torch: a step also has a pooler and what asks whether parts follow, of each row's first state."""
    config = pretraining._config(Options(quick=True))
    text, _ = pretraining._text(Options(quick=True), config)
    encoder = Drawn().encoder(config.settled(len(text.train)), text, "counted")
    objective = MaskedWords(
        encoder, text, batch_tokens=512, rate=config.mask_rate, whole_words=True, next_sentence=True, dropout=0.0,
        half=False, compiled=False, length=128, seed=0, fingerprint="",
    )  # fmt: skip
    products = pretraining._products(config, len(text.tokenizer), torch.device("cpu"), 1)
    with FlopCounterMode(display=False) as ceiling:
        products()
    with FlopCounterMode(display=False) as step:
        objective.loss(objective.batch(np.arange(4) * 128)).backward()
    first = 3 * 2 * 4 * (32 * 32 + 32 * 2)
    assert step.get_total_flops() == pytest.approx(ceiling.get_total_flops() + first, rel=1e-9)
