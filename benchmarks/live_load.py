"""A live page under load: the server as a process of its own, as a user starts it, and clients who know what it
should say."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.models.encoder import Encoder

CLIENTS = 20
A_SECOND = 15
"""What a client asks at most: 20 are allowed, and 400 of all, and a small model would answer more."""
TOLERANCE = 1e-5
"""Of probabilities."""
WORDS = "the old man never said that he liked the long winter by the sea , but his house was good and warm"


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
    return " ".join(chosen.choice(WORDS.split(), words))
