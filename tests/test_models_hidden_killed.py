"""The store of hidden states in a process of its own: killed and continued, and flat in memory."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

# A process of its own: a tiny model, as many sentences as asked for.
SCRIPT = """
import random, resource, sys, torch
from transformers import BertConfig, BertModel
from bertscope.core.examples import Examples
from bertscope.models.hidden import hidden
from bertscope.models.load import load

folder, (count, window, size) = sys.argv[1], map(int, sys.argv[2:])
torch.set_num_threads(1)
torch.manual_seed(7)
shape = dict(hidden_size=size, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48)
config = BertConfig(vocab_size=8192, **shape)
encoder = load(BertModel(config).eval(), tokenizer=load("pocket", device="cpu").tokenizer)
draw = random.Random(3)
vocabulary = "the a unbelievable mother never said that road was long and closed in winter kindness".split()
words = tuple(tuple(draw.choices(vocabulary, k=draw.randrange(0, 14))) for _ in range(count))
examples = Examples(tuple(map(str, range(count))), tuple(map(" ".join, words)), words=words)
print("ready", flush=True)
hidden(encoder, examples, store=folder, window=window, tokens=256)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
"""


def start(folder, count, window, size=24):
    command = [sys.executable, "-c", SCRIPT, str(folder), *map(str, (count, window, size))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_bit_equal(tmp_path):
    undisturbed = start(tmp_path / "whole", 600, 20)
    began = time.monotonic()
    assert undisturbed.wait() == 0
    took = time.monotonic() - began
    draw, place, done = random.Random(11), tmp_path / "killed", [0]
    for _ in range(4):
        process = start(place, 600, 20)
        time.sleep(draw.uniform(0.05, 0.35) * took)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (place / "progress.json").exists():
            done.append(json.loads((place / "progress.json").read_text())["examples"])
    assert done == sorted(done) and any(0 < count < 600 for count in done)
    assert start(place, 600, 20).wait() == 0
    for path in (tmp_path / "whole").iterdir():
        assert path.read_bytes() == (place / path.name).read_bytes(), path.name


def test_memory_is_flat(tmp_path):
    def peak(count):
        output, _ = start(tmp_path / str(count), count, 512, 96).communicate()
        return 1024 * int(output), (tmp_path / str(count) / "vectors.npy").stat().st_size

    (small, less), (large, more) = peak(2_000), peak(20_000)
    print(f"peak {small / 1e6:.0f} MB for {less / 1e6:.0f} MB of vectors, {large / 1e6:.0f} for {more / 1e6:.0f}")
    assert large < 1.1 * small
    assert large - small < (more - less) / 4
