"""The scripts that are run by themselves, on another machine: they complete, and print what they promise."""

from __future__ import annotations

import pytest

from benchmarks import gpu_profiles, workers
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
