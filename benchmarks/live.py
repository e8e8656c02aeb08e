"""The live page over HTTP: a head of pocket switched off, twenty clients at once, and the page itself in a browser.

The server is a process of its own, started as a user starts it. Every answer of the twenty is compared with what the
library says of the same text with the same parts off.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.options import Options
from benchmarks.plain import classifier
from bertscope.live.passes import ROOM
from bertscope.models.encoder import Encoder

CLIENTS = 20
A_SECOND = 15
"""What a client asks at most: 20 are allowed, and 400 of all, and a small model would answer more."""
TOLERANCE = 1e-5
"""Of probabilities."""
WORDS = [
    "the",
    "old",
    "man",
    "never",
    "said",
    "that",
    "he",
    "liked",
    "the",
    "long",
    "winter",
    "by",
    "the",
    "sea",
    ",",
    "but",
    "his",
    "house",
    "was",
    "good",
    "and",
    "warm",
]
MOST_MILLISECONDS, MOST_SECONDS, LEAST_ANSWERED, MOST_BYTES, MOST_OPENING = 100, 3.0, 0.95, 500_000, 1.0


@dataclass(frozen=True)
class Ask:
    text: str
    off: tuple[str, ...]

    def body(self) -> dict[str, Any]:
        return {"reading": {"text": self.text}, "changes": [{"off": list(self.off)}], "maps": True}


@dataclass
class Server:
    """A process that serves a model, as Linux shows it."""

    url: str
    pid: int

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def processor_seconds(self) -> float:
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@dataclass
class Found:
    """What came of the load."""

    answered: list[float] = field(default_factory=list)
    """Seconds of each."""
    busy: int = 0
    wrong: int = 0
    other: list[str] = field(default_factory=list)
    """What else was said: there should be nothing."""
    megabytes: list[float] = field(default_factory=list)
    """At the start, and after each quarter of the time."""
    processor_seconds: float = 0.0
    """Of the server."""

    @property
    def share(self) -> float:
        asked = len(self.answered) + self.busy + len(self.other)
        return len(self.answered) / asked if asked else 0.0

    @property
    def late(self) -> float:
        """The seconds within which 95% were answered."""
        return float(np.quantile(self.answered, 0.95)) if self.answered else float("nan")


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


@contextmanager
def serving(model: Path) -> Iterator[Server]:
    """`bertscope explore MODEL`, in a folder of its own."""
    start = "from bertscope.cli.main import main; main()"
    with tempfile.TemporaryDirectory() as here:
        process = subprocess.Popen(
            [sys.executable, "-c", start, "-q", "explore", str(model), "--no-open"],
            cwd=here,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            if not (url := process.stdout.readline().strip()):
                raise SystemExit("bertscope explore didn't start")
            yield Server(url, process.pid)
            if process.poll() is not None:
                raise SystemExit(f"bertscope explore ended by itself: {process.returncode}")
        finally:
            process.terminate()
            process.wait(10)
            process.stdout.close()  # type: ignore[union-attr]


class Client:
    """One connection."""

    def __init__(self, url: str, name: str = "") -> None:
        address, _, token = url.partition("#token=")
        self._connection = http.client.HTTPConnection(address.split("/")[2], timeout=120)
        self._headers = {"X-Bertscope-Token": token, "X-Bertscope-Client": name, "Content-Type": "application/json"}
        self._asked = 0

    def look(self, ask: Ask) -> tuple[int, Any, float]:
        """The status, what was said, and how many seconds it took."""
        self._asked += 1
        headers = self._headers | {"X-Bertscope-Sequence": str(self._asked)}
        body, began = json.dumps(ask.body()), time.perf_counter()
        self._connection.request("POST", "/api/look", body, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        return answer.status, json.loads(said), time.perf_counter() - began


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
        f"{CLIENTS} clients for {seconds} s, each with its own switches, the next as soon as the last is answered",
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


def asks_of(encoder: Encoder, each: int, clients: int = CLIENTS) -> list[list[tuple[Ask, np.ndarray]]]:
    """What every client asks in turn, with the probabilities that the library gives; no two ask the same."""
    chosen, found = np.random.default_rng(1), []
    for client in range(clients):
        mine = []
        for turn in range(each):
            layer, head = chosen.integers(1, encoder.n_layers + 1), chosen.integers(1, encoder.n_heads + 1)
            mlp = chosen.integers(1, encoder.n_layers + 1)
            ask = Ask(sentence(client * 5 + turn % 5), (f"head:{layer}.{head}", f"mlp:{mlp}"))
            with encoder.gates(off=list(ask.off)):
                logits = encoder.predict([ask.text]).logits[0].astype(float)
            shares = np.exp(logits - logits.max())
            mine.append((ask, shares / shares.sum()))
        found.append(mine)
    return found


def load(server: Server, asks: Sequence[Sequence[tuple[Ask, np.ndarray]]], seconds: float) -> Found:
    """All clients at once, for so long."""
    found, lock, end = Found(megabytes=[server.megabytes()]), threading.Lock(), time.monotonic() + seconds
    before = server.processor_seconds()

    def work(name: str, mine: Sequence[tuple[Ask, np.ndarray]]) -> None:
        client, asked = Client(server.url, name), 0.0
        for ask, expected in itertools.cycle(mine):
            if time.monotonic() > end:
                return
            time.sleep(max(0.0, asked + 1 / A_SECOND - time.monotonic()))
            asked = time.monotonic()
            try:
                status, said, took = client.look(ask)
            except (OSError, http.client.HTTPException, ValueError) as error:
                with lock:
                    found.other.append(repr(error))
                return
            with lock:
                if status == 200:
                    found.answered.append(took)
                    found.wrong += not right(said, expected)
                elif status == 503 and said["error"].startswith("busy"):
                    found.busy += 1
                else:
                    found.other.append(f"{status} {said}")

    threads = [threading.Thread(target=work, args=(f"client-{at}", mine)) for at, mine in enumerate(asks)]
    for one in threads:
        one.start()
    for quarter in range(1, 5):
        time.sleep(max(0.0, end - seconds * (1 - quarter / 4) - time.monotonic()))
        found.megabytes.append(server.megabytes())
    for one in threads:
        one.join()
    found.processor_seconds = server.processor_seconds() - before
    return found


def right(said: Any, expected: np.ndarray) -> bool:
    """Whether every probability is the library's."""
    shares = {one["label"]: one["p"] for one in said["seen"][0]["after"]["shares"]}
    given = np.array([shares[label] for label in sorted(shares)])
    return given.shape == expected.shape and bool(np.abs(given - expected).max() <= TOLERANCE)


def sentence(which: int, words: int = 28) -> str:
    """One of many, of so many words, each a token."""
    chosen = np.random.default_rng(which)
    return " ".join(chosen.choice(WORDS, words))


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
