"""The software bill of materials, lock/sbom.json (CycloneDX 1.6): what the package holds, and what is beside it.

`make lock` writes it anew, and so does `python tests/support/bill_of_materials.py`. Versions are lock/'s; licences
and who needs whom are the packages' own metadata; of what isn't installed (CUDA libraries) the index is asked.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from email.message import Message
from hashlib import sha256
from importlib.metadata import distribution
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lock import HERE, INSTALLED, LOCKS, MACHINES, closure, locked, metadata_of, wheel_for

BILL = LOCKS / "sbom.json"
LOCKED = ("torch", "run", "cuda", "test")
WEIGHTS = {
    "pocket": ("models/pocket/model.safetensors", "A small BERT, pre-trained for this project (its README.md)."),
    "classifiers": ("analyses/shapes/classifiers.safetensors", "Small nets that tell shapes of attention apart."),
}
"""What the package holds that is no source."""

UNSAID = "the package doesn't say"

_MACHINE = MACHINES[0]
"""For what markers say of who needs whom: the oldest Python, on Linux."""
_PACKAGE = HERE / "src" / "bertscope"


def project() -> dict[str, Any]:
    return tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bill(metadata: Callable[[str, str], Message]) -> dict[str, Any]:
    """All of it, with the metadata of each package's version as this function gives them."""
    which = {name: file for file in LOCKED for name in locked(file)}
    versions = {name: locked(file)[name][0] for name, file in which.items()}
    about = {name: metadata(name, version) for name, version in versions.items()}

    def needs(requirement: Requirement) -> list[str]:
        return about[canonicalize_name(requirement.name)].get_all("Requires-Dist") or []

    def needed_by(*lines: str) -> list[str]:
        """All that these lead to, of what is locked."""
        return [name for name in closure(map(Requirement, lines), needs, _MACHINE.markers) if name in which]

    optional = project()["optional-dependencies"]
    extras = {*needed_by(*optional["deploy"], *optional["cluster"]), *locked("cuda")}

    def scope(name: str) -> str:
        return "required" if which[name] in ("torch", "run") else "optional" if name in extras else "excluded"

    def direct(lines: list[str]) -> list[str]:
        wanted = (one for one in map(Requirement, lines) if not one.marker or one.marker.evaluate(_ENVIRONMENT))
        return sorted({purl(name) for one in wanted if (name := canonicalize_name(one.name)) in which})

    def purl(name: str) -> str:
        return f"pkg:pypi/{name}@{versions[name]}"

    components = [
        {
            "type": "library", "bom-ref": purl(name), "name": name, "version": versions[name], "scope": scope(name),
            "licenses": licences(about[name]), "purl": purl(name),
            "properties": [{"name": "bertscope:hashes", "value": f"lock/{which[name]}.txt"}],
        }
        for name in sorted(which)
    ]  # fmt: skip
    own = {"ref": "bertscope", "dependsOn": direct(project()["dependencies"])}
    graph = [{"ref": purl(name), "dependsOn": direct(needs(Requirement(name)))} for name in sorted(which)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": package()},
        "components": components,
        "dependencies": [own, *graph],
    }  # fmt: skip


_ENVIRONMENT = {**_MACHINE.markers, "extra": ""}


def package() -> dict[str, Any]:
    """bertscope itself, with the weights that are in it."""
    licence = [{"license": {"id": project()["license"]}}]
    weights = [
        {
            "type": "machine-learning-model", "bom-ref": f"bertscope/{name}", "name": name, "description": text,
            "hashes": [{"alg": "SHA-256", "content": sha256((_PACKAGE / path).read_bytes()).hexdigest()}],
            "licenses": licence, "properties": [{"name": "bertscope:file", "value": f"bertscope/{path}"}],
        }
        for name, (path, text) in WEIGHTS.items()
    ]  # fmt: skip
    return {
        "type": "application", "bom-ref": "bertscope", "name": "bertscope", "version": project()["version"],
        "description": project()["description"], "licenses": licence, "components": weights,
    }  # fmt: skip


def licences(about: Message) -> list[dict[str, Any]]:
    """As a package says it: by an expression, else by classifiers, else in a line of its own."""
    if expression := about.get("License-Expression"):
        return [{"expression": expression}]
    all_of_them = about.get_all("Classifier") or ()
    classifiers = [line.split(" :: ")[-1] for line in all_of_them if line.startswith("License ::")]
    own = (about.get("License") or "").strip().splitlines()
    names = [name for name in classifiers if name != "OSI Approved"] or own[:1] or [UNSAID]
    return [{"license": {"name": name}} for name in names]


def of_installed(name: str, version: str) -> Message | None:
    return distribution(name).metadata if (name, version) in INSTALLED else None  # type: ignore[return-value]


def _metadata(name: str, version: str) -> Message:
    if found := of_installed(name, version):
        return found
    machine = next(machine for machine in MACHINES if wheel_for(machine, name, version))
    wheel = wheel_for(machine, name, version)
    assert wheel
    return metadata_of(wheel)


def main() -> None:
    BILL.write_text(json.dumps(bill(_metadata), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
