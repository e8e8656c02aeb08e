"""The live page over HTTP: a head of pocket switched off, twenty clients at once, and the page itself in a browser.

The server is a process of its own, started as a user starts it. Every answer of the twenty is compared with what the
library says of the same text with the same parts off.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.live_load import A_SECOND, CLIENTS, Ask, Client, Server, asks_of, load, sentence, serving
from benchmarks.options import Options
from benchmarks.plain import classifier
from bertscope.live.passes import ROOM
from bertscope.models.encoder import Encoder

MOST_MILLISECONDS, MOST_SECONDS, LEAST_ANSWERED, MOST_BYTES, MOST_OPENING = 100, 3.0, 0.95, 500_000, 1.0


@dataclass
class Live:
    title: str
    figures: dict[str, Any]
    claims: list[dict[str, Any]]
    data: str = "pocket with a fresh classifier, made-up sentences of 30 tokens"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [self.title, f"on {self.data}", ""]
        lines += [f"  {name}: {_short(value)}" for name, value in self.figures.items()]
        for claim in self.claims:
            holds = claim["least"] <= claim["measured"] if "least" in claim else claim["measured"] <= claim["most"]
            limit = f"at least {claim['least']:g}" if "least" in claim else f"at most {claim['most']:g}"
            said = f"{claim['what']} {limit}: {_short(claim['measured'])}, {'holds' if holds else 'MISSED'}"
            lines.append(f"  claim: {said}")
        return "\n".join(lines)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_short, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run(options: Options) -> list[Live]:
    encoder = classifier("cpu")
    with tempfile.TemporaryDirectory() as folder, serving(encoder.save(Path(folder) / "model")) as server:
        found = [_switched(server, options), _loaded(server, encoder, options)]
        if chromium := shutil.which("chromium"):
            found.append(_opened(server, chromium, options))
        return found


def _switched(server: Server, options: Options) -> Live:
    """Each time another head of the same text, as one clicks through them."""
    client, text = Client(server.url, "one"), sentence(0)
    heads = [(layer, head) for layer in range(1, 13) for head in range(1, 13)]
    heads = [heads[at] for at in np.random.default_rng(0).permutation(len(heads))[: options.size(144, 4)]]
    client.look(Ask(text, ()))
    before, seconds = server.processor_seconds(), []
    for layer, head in heads:
        status, said, took = client.look(Ask(text, (f"head:{layer}.{head}",)))
        assert status == 200, said
        seconds.append(took)
    used = (server.processor_seconds() - before) / len(heads)
    milliseconds = 1000 * float(np.median(seconds))
    return Live(
        f"{len(heads)} heads switched off one after the other, over HTTP, maps included",
        {"tokens": len(said["seen"][0]["tokens"]), "median ms": milliseconds,
         "95% within ms": 1000 * float(np.quantile(seconds, 0.95)), "processor ms of the server": 1000 * used,
         "load average": os.getloadavg()[0]},
        [{"what": "median ms", "most": MOST_MILLISECONDS, "measured": milliseconds}],
    )  # fmt: skip


def _loaded(server: Server, encoder: Encoder, options: Options) -> Live:
    seconds = options.size(60, 2)
    found = load(server, asks_of(encoder, options.size(60, 2)), seconds)
    grown = found.megabytes[-1] - found.megabytes[0]
    return Live(
        f"{CLIENTS} clients for {seconds} s, each with its own switches, at most {A_SECOND} asks a second of each",
        {"answered": len(found.answered), "busy": found.busy, "wrong": found.wrong, "other": found.other,
         "median s": float(np.median(found.answered)), "95% within s": found.late,
         "processor ms of the server for each": 1000 * found.processor_seconds / len(found.answered),
         "megabytes, by quarters of the time": found.megabytes,
         "load average": os.getloadavg()[0]},
        [{"what": "share answered", "least": LEAST_ANSWERED, "measured": found.share},
         {"what": "95% within s", "most": MOST_SECONDS, "measured": found.late},
         {"what": "wrong answers", "most": 0, "measured": found.wrong},
         {"what": f"megabytes gained ({ROOM // 2**20} are for passes that are kept)", "most": 1.25 * ROOM / 2**20,
          "measured": grown}],
    )  # fmt: skip


def _opened(server: Server, chromium: str, options: Options) -> Live:
    """The page in a new browser each time, until both the answers and all heads are drawn."""
    from playwright.sync_api import sync_playwright

    seconds, sizes = [], dict[str, int]()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(options.size(5, 1)):
            with browser.new_context() as context:
                page = context.new_page()
                page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
                began = time.perf_counter()
                page.goto(server.url)
                page.locator("main[aria-busy=false]").wait_for()
                seconds.append(time.perf_counter() - began)
                page.wait_for_load_state("networkidle")
        browser.close()
    files = sum(size for address, size in sizes.items() if "/api/" not in address)
    return Live(
        "the page in Chromium, from nothing until it is drawn",
        {"median s": float(np.median(seconds)), "bytes of its files": files, "bytes in all": sum(sizes.values()),
         "requests": len(sizes), "load average": os.getloadavg()[0]},
        [{"what": "median s", "most": MOST_OPENING, "measured": float(np.median(seconds))},
         {"what": "bytes in all", "most": MOST_BYTES, "measured": sum(sizes.values())}],
    )  # fmt: skip
