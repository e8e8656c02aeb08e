"""The store of hidden states in a process of its own: killed and continued, and flat in memory."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

# A process of its own: a tiny model, and stores of as many sentences as asked for, one after the other.
SCRIPT = """
import random, resource, sys, torch
from pathlib import Path
from transformers import BertConfig, BertModel
from bertscope.core.examples import Examples
from bertscope.models.states import hidden_states
from bertscope.models.load import load

folder, (window, size, *counts) = Path(sys.argv[1]), map(int, sys.argv[2:])
torch.set_num_threads(1)
torch.manual_seed(7)
shape = dict(hidden_size=size, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48)
tokenizer = load("pocket", device="cpu").tokenizer
config = BertConfig(vocab_size=len(tokenizer), **shape)
encoder = load(BertModel(config).eval(), tokenizer=tokenizer)
vocabulary = "the a unbelievable mother never said that road was long and closed in winter kindness".split()
print("ready", flush=True)
for count in counts:
    draw = random.Random(3)
    words = tuple(tuple(draw.choices(vocabulary, k=draw.randrange(0, 14))) for _ in range(count))
    examples = Examples(tuple(map(str, range(count))), tuple(map(" ".join, words)), words=words)
    hidden_states(encoder, examples, store=folder / str(count), window=window, tokens=256)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
"""


def start(folder, *counts, window=20, size=24):
    command = [sys.executable, "-c", SCRIPT, str(folder), *map(str, (window, size, *counts))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
@pytest.mark.alone
def test_killed_at_random_moments_it_ends_bit_equal(tmp_path):
    undisturbed = start(tmp_path / "whole", 600)
    began = time.monotonic()
    assert undisturbed.wait() == 0
    took = time.monotonic() - began
    draw, place, done = random.Random(11), tmp_path / "killed" / "600", [0]
    for _ in range(4):
        process = start(tmp_path / "killed", 600)
        time.sleep(draw.uniform(0.05, 0.35) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (place / "progress.json").exists():
            done.append(json.loads((place / "progress.json").read_text())["examples"])
    assert done == sorted(done) and any(0 < count < 600 for count in done)
    assert start(tmp_path / "killed", 600).wait() == 0
    for path in (tmp_path / "whole" / "600").iterdir():
        assert path.read_bytes() == (place / path.name).read_bytes(), path.name


@pytest.mark.slow
@pytest.mark.alone
def test_memory_is_flat(tmp_path):
    counts = (1_000, 10_000)
    output, _ = start(tmp_path, *counts, window=512, size=96).communicate()
    small, large = (1024 * int(peak) for peak in output.split())
    less, more = ((tmp_path / str(count) / "vectors.npy").stat().st_size for count in counts)
    print(f"peak {small / 1e6:.0f} MB for {less / 1e6:.0f} MB of vectors, {large / 1e6:.0f} for {more / 1e6:.0f}")
    assert large < 1.1 * small
    assert large - small < (more - less) / 4
