"""Whatever is sent, the API answers as its OpenAPI document says, and never with a bug: fuzzed by schemathesis."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("fastapi")  # an extra
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bertscope.live.app import _OPERATIONS
from fake_explorer import FakeExplorer
from live_door import HEADERS, door

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
SERVED = {"Host": "127.0.0.1", **HEADERS}
PATHS = ["/api/about", *(f"/api/{operation.name}" for operation in _OPERATIONS)]
MODES = list(schemathesis.GenerationMode)


@pytest.fixture(scope="module")
def opened():
    with door(FakeExplorer()) as one:
        yield one


def fuzz(opened, path: str, examples: int, headers: dict[str, str] = SERVED) -> Counter[int]:
    """Send that many requests of either kind, such as the document describes and others; how often what was said."""
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", opened.app, headers=SERVED)
    operation = schema[path]["GET" if path == "/api/about" else "POST"]
    said: Counter[int] = Counter()
    for mode in MODES:

        @settings(
            max_examples=examples, deadline=None, derandomize=True, database=None,
            phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def sent(case):
            answer = case.call_and_validate(headers=headers, checks=CHECKS)
            said[answer.status_code] += 1

        sent()
    return said


@pytest.mark.parametrize("path", PATHS)
def test_it_answers_as_it_says(opened, path):
    said = fuzz(opened, path, 12)
    assert opened.bugs == [] and not [status for status in said if status >= 500]
    assert said[200] or path == "/api/head"  # of which no number that is made up exists
