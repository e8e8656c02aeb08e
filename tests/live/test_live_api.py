"""What the API says of itself, what it takes, and what it gives."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import pytest

pytest.importorskip("fastapi")  # an extra

from bertscope.core.errors import UserError
from bertscope.live.app import _OPERATIONS
from bertscope.live.assets import PAGE, REPORT, assets
from fake_explorer import FakeExplorer
from live_door import LOOK, door

NAMES = [operation.name for operation in _OPERATIONS]
HALF = "a text has half of a letter in it (a lone surrogate); type it anew"
READ = {"text": "a text"}
BODIES = {
    "rows": {"search": "a", "order": "file", "first": 0, "count": 3}, "look": LOOK, "explain": LOOK,
    "compare": {"readings": [READ, READ]}, "patch": {"reading": READ, "other": READ}, "head": {"layer": 1, "head": 1},
    "python": LOOK, "maps": LOOK,
}  # fmt: skip


@pytest.fixture(scope="module")
def fake():
    return FakeExplorer()


@pytest.fixture(scope="module")
def opened(fake):
    with door(fake) as one:
        yield one


@pytest.fixture(scope="module")
def document(opened):
    return opened.client.get("/api/openapi.json").json()


@pytest.mark.parametrize("name", NAMES)
def test_each_operation_asks_the_explorers_method_of_its_name(opened, fake, name):
    answer = opened.post(name, BODIES[name])
    assert answer.status_code == 200 and fake.calls[-1].split()[0] == name
    assert answer.headers["content-type"] == "application/json"


def test_what_is_left_out_is_as_messages_say(opened):
    assert opened.post("rows", {}).status_code == 200
    assert opened.post("compare", {"readings": [READ] * 3}).json()["moved"][2][1] is None


def test_python_is_a_string_and_maps_are_numbers(opened):
    assert opened.post("python").json() == "bertscope.load('a text')"
    saved = opened.post("maps", {"reading": {"text": "wörter", "pair": "b"}}).json()
    assert (saved["text"], saved["pair"], saved["tokens"]) == ("wörter", "b", ["[CLS]", "a", "[SEP]"])
    (one,) = saved["models"]
    assert one["name"] == "fake" and one["layers"][1][0][2] == [0.333333] * 3


def test_every_operation_is_documented_with_its_refusals(document):
    asked = document["paths"]
    assert set(asked) == {"/api/about", *(f"/api/{name}" for name in NAMES)}
    for path, methods in asked.items():
        for method, one in methods.items():
            assert one["summary"] and one["security"] and one["operationId"] == path.rpartition("/")[2]
            refused = {status for status in one["responses"] if status != "200"}
            assert refused == {"400", "401", "403", "429", "500"} | (
                {"408", "409", "413", "415", "422", "503"} if method == "post" else set()
            )
            for status in refused:
                schema = one["responses"][status]["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Refused"}
    (scheme,) = document["components"]["securitySchemes"].values()
    assert scheme == {"type": "apiKey", "in": "header", "name": "x-bertscope-token"}


def test_fields_are_described_by_their_docstrings(document):
    off = document["components"]["schemas"]["Change"]["properties"]["off"]
    assert off["description"].startswith("Parts that are switched off")


def test_there_is_no_page_of_documentation_that_needs_the_network(opened):
    for path in ("/docs", "/redoc", "/openapi.json", "/api/docs"):
        assert opened.client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("look", {}, "reading: Field required"),
        ("look", {"reading": {"text": 3}}, "reading.text: Input should be a valid string"),
        ("look", {"reading": READ, "changes": [{"mode": "none"}]},
         "changes.0.mode: Input should be 'zero', 'uniform' or 'mean'"),
        ("look", {"reading": READ, "change": []}, "change: Unexpected keyword argument"),
        ("look", {"reading": {"text": "\ud800"}}, HALF),
        ("look", {"reading": READ, "changes": [{"off": ["\ud800"]}]}, HALF),
        ("head", {"layer": 10**30, "head": 1}, "a number is larger than anything here"),
        ("head", {"layer": 9, "head": 1}, "there is no layer 9"),
        ("head", [], "Input should be a dictionary or an instance of AskHead"),
    ],
)  # fmt: skip
def test_what_cant_be_asked_is_refused_in_one_line(opened, name, body, said):
    answer = opened.post(name, body)
    assert (answer.status_code, answer.json()) == (422, {"error": said})


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 422), (b"", 422), (b'{"reading": {"text": "\xff"}}', 400), (b'{"layer": ' + b"9" * 5000 + b"}", 400),
     (b'{"layer": NaN, "head": Infinity}', 422), (b'{"layer": 1e999, "head": 1}', 422), (b"\x00", 400)],
)  # fmt: skip
def test_what_isnt_json_is_refused(opened, body, status):
    answer = opened.client.post("/api/head", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status and "\n" not in answer.json()["error"]
    assert opened.bugs == []


@pytest.mark.parametrize("headers", [{"X_Bertscope_Client": "a b"}, {"X_Bertscope_Client": "x" * 65},
                                     {"X_Bertscope_Sequence": "-1"}, {"X_Bertscope_Sequence": "one"}])  # fmt: skip
def test_who_asks_says_it_in_a_way_that_can_be_kept(opened, headers):
    assert opened.post("look", **headers).status_code == 422


def test_other_methods_are_told_which_there_are(opened):
    answer = opened.client.get("/api/look")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert opened.client.head("/").status_code == 200
    assert opened.client.post("/", json={}).status_code == 405


def test_the_page_and_the_reports_drawing_code_are_served():
    files = assets()
    drawing = (REPORT / "scripts/attention").glob("*.js")
    scripts = {f"/static/report/scripts/attention/{path.name}" for path in drawing}
    own = {f"/static/{path.relative_to(PAGE).as_posix()}" for path in PAGE.rglob("*.js")}
    assert scripts | own | {"/", "/static/report/scripts/base.js", "/static/report/attention.css"} <= set(files)
    assert not [path for path in files if path.endswith((".py", ".j2"))]
    assert files["/static/report/scripts/base.js"].type == "text/javascript; charset=utf-8"


def test_whatever_the_page_and_its_modules_name_is_served():
    files, wanted = assets(), set()
    for address, file in files.items():
        text = file.body.decode()
        wanted |= {urljoin(address, one) for one in re.findall(r'(?:src|href)="([^"#:]+)"', text) if address == "/"}
        wanted |= {urljoin(address, one) for one in re.findall(r'^import [^;]*?"([^"]+)";', text, re.M)}
    assert len(wanted) > 10 and wanted <= set(files)


def test_a_page_that_isnt_there_is_said(tmp_path):
    with pytest.raises(UserError, match="install bertscope anew"):
        assets(page=tmp_path)
