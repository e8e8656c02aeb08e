"""The live server's application behind its door, in this process and without a socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient

from bertscope.live.app import application
from bertscope.live.assets import Asset
from bertscope.live.desk import Desk
from bertscope.live.guard import Allowed, Guard
from bertscope.live.rates import Rates

TOKEN = "a-token"
HEADERS = {"X-Bertscope-Token": TOKEN}
FILES = {
    "/": Asset(b"<!doctype html>", "text/html; charset=utf-8", '"1"'),
    "/static/main.js": Asset(b"export {};", "text/javascript; charset=utf-8", '"2"'),
}
LOOK = {"reading": {"text": "a text"}}


@dataclass
class Door:
    """`client` asks as the page does: with the token, under a name that is served."""

    app: Guard
    client: TestClient
    bugs: list[BaseException] = field(default_factory=list)

    def post(self, name: str, body: Any = None, **headers: str) -> Any:
        """Headers by their names, with `_` for `-`."""
        named = {"Content-Type": "application/json"} | {key.replace("_", "-"): one for key, one in headers.items()}
        return self.client.post(f"/api/{name}", content=json.dumps(LOOK if body is None else body), headers=named)


@contextmanager
def door(explorer: Any, rates: Rates | None = None, **allowed: Any) -> Iterator[Door]:
    desk, bugs = Desk(), []
    app = Guard(
        application(explorer, desk, FILES), Allowed(TOKEN, **({"bytes": 20_000} | allowed)),
        rates=rates or Rates(per_client=1e6, per_address=1e6), asked=lambda _: nullcontext(),
        tell_bug=lambda error, during: bugs.append(error),
    )  # fmt: skip
    try:
        yield Door(app, TestClient(app, base_url="http://127.0.0.1:8000", headers=HEADERS), bugs)
    finally:
        assert desk.close()
