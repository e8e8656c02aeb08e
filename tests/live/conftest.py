"""A server that has an explorer of ours behind it, and one who asks it."""

from __future__ import annotations

import pytest


@pytest.fixture
def fake():
    from fake_explorer import FakeExplorer

    one = FakeExplorer()
    yield one
    one.go.set()


@pytest.fixture
def server(fake):
    from live_client import served  # it needs an extra

    with served(fake) as one:
        yield one


@pytest.fixture
def client(server):
    from live_client import LiveClient

    one = LiveClient(server.url)
    yield one
    one.close()
