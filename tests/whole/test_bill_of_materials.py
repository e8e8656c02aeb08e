"""lock/sbom.json names what lock/ installs and what the package holds, each with its licence."""

from __future__ import annotations

import json
from email import message_from_string

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bill_of_materials import BILL, LOCKED, UNSAID, bill, licences, of_installed, package, project
from lock import locked


@pytest.fixture(scope="module")
def kept():
    return json.loads(BILL.read_text(encoding="utf-8"))


def test_it_names_what_is_locked_and_nothing_else(kept):
    wanted = {(name, version) for file in LOCKED for name, (version, _) in locked(file).items()}
    assert {(one["name"], one["version"]) for one in kept["components"]} == wanted, "run: make lock"


def test_it_knows_the_weights_that_the_package_holds(kept):
    assert kept["metadata"]["component"] == package(), "run: python tests/support/bill_of_materials.py"
    assert [one["name"] for one in package()["components"]] == ["pocket", "classifiers"]


def test_every_component_has_a_licence(kept):
    unsaid = [one["name"] for one in kept["components"] if one["licenses"] == [{"license": {"name": UNSAID}}]]
    assert all(one["licenses"] for one in kept["components"]) and unsaid == ["cuda-toolkit"]  # a list of others alone


def test_what_is_installed_says_the_same(kept):
    """Of what isn't (CUDA libraries) the bill stands for itself: a test asks no network."""
    said = {one["ref"]: one["dependsOn"] for one in kept["dependencies"]}
    licence = {one["name"]: one["licenses"] for one in kept["components"]}

    def metadata(name, version):
        return of_installed(name, version) or message_from_string("")

    here = bill(metadata)
    installed = [one for one in here["components"] if of_installed(one["name"], one["version"])]
    assert len(installed) > 60
    graph = {one["ref"]: one["dependsOn"] for one in here["dependencies"]}
    for one in installed:
        assert licence[one["name"]] == one["licenses"] and said[one["bom-ref"]] == graph[one["bom-ref"]], one["name"]
    direct = {canonicalize_name(Requirement(line).name) for line in project()["dependencies"]}
    assert {ref.split("/")[1].split("@")[0] for ref in said["bertscope"]} == direct


def test_scopes(kept):
    scope = {one["name"]: one["scope"] for one in kept["components"]}
    assert [scope[name] for name in ("torch", "transformers", "uvicorn")] == ["required"] * 3
    assert [scope[name] for name in ("onnxruntime", "dask", "nvidia-cublas")] == ["optional"] * 3
    assert [scope[name] for name in ("pytest", "ruff")] == ["excluded"] * 2


def test_every_reference_is_to_a_component(kept):
    refs = {one["bom-ref"] for one in kept["components"]} | {"bertscope"}
    assert {one["ref"] for one in kept["dependencies"]} == refs
    assert {ref for one in kept["dependencies"] for ref in one["dependsOn"]} <= refs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("License-Expression: MIT OR Apache-2.0\nLicense: else", [{"expression": "MIT OR Apache-2.0"}]),
        ("License: a line\nClassifier: License :: OSI Approved :: MIT", [{"license": {"name": "MIT"}}]),
        ("License: a line\nClassifier: License :: OSI Approved", [{"license": {"name": "a line"}}]),
        ("Name: silent", [{"license": {"name": UNSAID}}]),
    ],
)
def test_licences_as_packages_say_them(text, expected):
    assert licences(message_from_string(text)) == expected
