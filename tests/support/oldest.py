"""The oldest versions that pyproject.toml allows, in lines that `pip install -c FILE` takes.

docs/install.md has a table of them, and what was run with them when.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doc_pages import HERE

EXTRAS = ("live", "deploy", "cluster")
"""Those that are for users."""


def oldest() -> Iterator[tuple[str, str]]:
    """Each package that is needed or can be, and the version from which on it is allowed."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (line for extra in EXTRAS for line in project["optional-dependencies"][extra])
    for requirement in map(Requirement, (*project["dependencies"], *extras)):
        (bound,) = (one.version for one in requirement.specifier if one.operator == ">=")
        yield canonicalize_name(requirement.name), bound


if __name__ == "__main__":
    for name, version in oldest():
        print(f"{name}=={version}")
