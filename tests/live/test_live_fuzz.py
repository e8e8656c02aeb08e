"""Whatever is sent, the API answers as its OpenAPI document says, and never with a bug: fuzzed by schemathesis, and
by asks that are nearly right, which get further."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("fastapi")  # an extra
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bertscope.live.app import _OPERATIONS
from bertscope.live.explorer import Explorer
from fake_explorer import FakeExplorer
from live_door import HEADERS, door

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
SERVED = {"Host": "127.0.0.1", **HEADERS}
PATHS = ["/api/about", *(f"/api/{operation.name}" for operation in _OPERATIONS)]
MODES = list(schemathesis.GenerationMode)
FEW, MANY = 8, 150


@pytest.fixture(scope="module")
def fake():
    with door(FakeExplorer()) as one:
        yield one


@pytest.fixture(scope="module")
def real(_tiny):
    """Two checkpoints of 3 layers and 4 heads, with data."""
    from bertscope.data.read import read_task

    tuned, base = _tiny.cut([]), _tiny.cut([])
    tuned.model.classifier.weight.data *= -1
    with door(Explorer.open(tuned, base, read_task("demo/sentiment", limit=12))) as one:
        yield one


def made(examples: int) -> Any:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def fuzzed(opened, path: str, examples: int) -> Counter[int]:
    """Send that many requests such as the document describes, and as many others; how often what was said."""
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", opened.app, headers=SERVED)
    operation = schema[path]["GET" if path == "/api/about" else "POST"]
    said: Counter[int] = Counter()
    for mode in MODES:

        @made(examples)
        @given(case=operation.as_strategy(generation_mode=mode))
        def sent(case):
            said[case.call_and_validate(headers=SERVED, checks=CHECKS).status_code] += 1

        sent()
    return said


@pytest.mark.parametrize("path", PATHS)
def test_it_answers_as_it_says(fake, path):
    said = fuzzed(fake, path, FEW)
    assert fake.bugs == [] and not [status for status in said if status >= 500]
    assert said[200] or path == "/api/head"  # of which no number that is made up exists


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_a_real_explorer_answers_as_it_says(real, path):
    said = fuzzed(real, path, MANY)
    assert real.bugs == [] and not [status for status in said if status >= 500]


WORD = st.sampled_from(
    ["the", "food", "was", "good", ",", "bad", "old", "[MASK]", "[SEP]", "Ünï", "👍", "\u200b", "\x00", "\n", "x"]
)
WORDS = st.lists(WORD, max_size=12)
TEXT = st.one_of(WORDS.map(" ".join), st.text(max_size=40))
NUMBER = st.integers(-2, 6)
PART = st.one_of(
    st.builds("head:{}.{}".format, NUMBER, NUMBER), st.builds("mlp:{}".format, NUMBER),
    st.builds("layer:{}".format, NUMBER), st.builds("heads:{}".format, NUMBER),
    st.sampled_from(["embeddings", "head:1", "layer:1.5", "head:01.1", "head: 1.1", "HEAD:1.1", "", "layer:²"]),
    st.text(max_size=8),
)  # fmt: skip
READING = st.fixed_dictionaries(
    {"text": TEXT}, optional={"pair": TEXT | st.none(), "choices": st.lists(TEXT, max_size=2)}
)
CHANGES = st.lists(
    st.fixed_dictionaries(
        {}, optional={"off": st.lists(PART, max_size=3), "graft": st.lists(PART, max_size=2),
                      "mode": st.sampled_from(["zero", "uniform", "mean"])},
    ), max_size=3,
)  # fmt: skip
LOOK = st.fixed_dictionaries({"reading": READING}, optional={"changes": CHANGES, "maps": st.booleans()})
NEARLY = {
    "look": LOOK, "python": LOOK, "maps": LOOK,
    "explain": st.fixed_dictionaries(
        {"reading": READING}, optional={"changes": CHANGES, "towards": st.sampled_from(["LABEL_0", "no", ""]),
                                        "method": st.sampled_from(["integrated", "gradient", "leave_out"])},
    ),
    "compare": st.fixed_dictionaries({"readings": st.lists(READING, max_size=11)}, optional={"changes": CHANGES}),
    "patch": st.fixed_dictionaries({"reading": READING, "other": READING}, optional={"model": NUMBER}),
    "rows": st.fixed_dictionaries(
        {}, optional={"search": TEXT, "order": st.sampled_from(["wrong", "unsure", "file"]), "first": NUMBER,
                      "count": st.integers(-2, 300)},
    ),
    "head": st.fixed_dictionaries({"layer": NUMBER, "head": NUMBER}, optional={"model": NUMBER}),
}  # fmt: skip


def nearly_right(opened, name: str, examples: int) -> Counter[int]:
    said: Counter[int] = Counter()

    @made(examples)
    @given(body=NEARLY[name])
    def sent(body):
        answer = opened.post(name, body)
        assert answer.status_code in {200, 422}, json.dumps(body)
        assert answer.status_code == 200 or list(answer.json()) == ["error"]
        assert "\n" not in answer.json()["error"] if answer.status_code == 422 else answer.json() is not None
        said[answer.status_code] += 1

    sent()
    return said


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_nearly_right_is_answered_or_refused(real, name):
    said = nearly_right(real, name, 3 * FEW)
    assert real.bugs == [] and said[422]


@pytest.mark.slow
@pytest.mark.parametrize("name", NEARLY)
def test_so_is_much_of_it(real, name):
    said = nearly_right(real, name, MANY)
    assert real.bugs == [] and said[422]
    assert said[200] or name == "patch"  # whose texts must be alike, and answered otherwise
