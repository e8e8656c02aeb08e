"""What is installed, to the file: constraints.txt (versions) and the files in lock/ (versions and SHA-256).

`make lock` writes them anew. A version is changed in constraints.txt by hand; what it needs beside it is added there,
and what nothing needs any more leaves. Hashes are the package index's, so this needs a network.
"""

from __future__ import annotations

import html
import itertools
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions, requires
from io import BytesIO
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

HERE = Path(__file__).resolve().parents[2]
CONSTRAINTS, LOCKS = HERE / "constraints.txt", HERE / "lock"
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")

INSTALLED = {(canonicalize_name(one.metadata["Name"]), one.version) for one in distributions()}

CPU_BUILDS = {
    "torch==2.13.0": ["6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"],
}
"""torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl of download.pytorch.org; the package index lacks it. Where
pip is shown it (`--find-links`), it is what `==2.13.0` takes, and gigabytes of CUDA libraries stay away."""

EDITABLE = "editables"
"""What hatchling imports to install a checkout in place, and asks for only when it does."""

_ABOUT = {
    "torch": "torch: the package index's builds, and a CPU build, which is taken where it is at hand",
    "cuda": "The CUDA libraries that the package index's torch for Linux needs",
    "run": "What else bertscope needs to run, and to be installed from a checkout",
    "test": "What else tests, lint, deploy and cluster need",
    "docs": "What builds the documentation's site, all of it: it has an environment of its own",
}
_HEAD = "# {about}.\n# Written by `make lock`; Python {pythons} on Linux (glibc) and macOS (arm64).\n"
_PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
_GLIBC = range(40, 4, -1)
_LINUX_TAGS = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}


@dataclass(frozen=True)
class Machine:
    """Where it is installed: for what markers say of it and which wheels it takes."""

    python: tuple[int, int]
    system: str
    processor: str

    @property
    def markers(self) -> dict[str, str]:
        version = ".".join(map(str, self.python))
        return {
            "python_version": version, "python_full_version": f"{version}.0", "implementation_name": "cpython",
            "implementation_version": f"{version}.0", "platform_python_implementation": "CPython",
            "platform_system": self.system, "sys_platform": self.system.lower(), "platform_machine": self.processor,
            "os_name": "posix", "platform_release": "", "platform_version": "",
        }  # fmt: skip

    @property
    def tags(self) -> list[Tag]:
        """Of wheels that it takes, the best first."""
        if self.system == "Darwin":
            platforms = list(mac_platforms((15, 0), self.processor))
        else:
            names = ([f"manylinux_2_{minor}", _LINUX_TAGS.get(minor, "")] for minor in _GLIBC)
            platforms = [f"{name}_{self.processor}" for name in itertools.chain(*names) if name]
        interpreter = "cp{}{}".format(*self.python)
        return [
            *cpython_tags(self.python, platforms=platforms),
            *compatible_tags(self.python, interpreter, platforms),
        ]


MACHINES = [
    Machine(python, *kind)
    for python in _PYTHONS
    for kind in (("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64"))
]


@dataclass(frozen=True)
class Wheel:
    url: str
    sha256: str
    version: Version
    tags: frozenset[Tag]


def project() -> tuple[list[Requirement], list[Requirement]]:
    """What pyproject.toml asks for at run time, with the live page and what builds it, and for extras but `docs`."""
    parsed = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    optional = parsed["project"]["optional-dependencies"]
    run = [*parsed["project"]["dependencies"], *optional["live"], *parsed["build-system"]["requires"], EDITABLE]
    extras = itertools.chain(*(lines for extra, lines in optional.items() if extra != "docs"))
    return [*map(Requirement, run)], [*map(Requirement, extras)]


def for_docs() -> list[Requirement]:
    """What pyproject.toml asks for to build the documentation's site."""
    parsed = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
    return [*map(Requirement, parsed["project"]["optional-dependencies"]["docs"])]


def pinned() -> dict[str, str]:
    """Names as constraints.txt spells them, and versions."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line and not line.startswith("#"))


def locked(which: str) -> dict[str, tuple[str, list[str]]]:
    """Of a file in lock/: versions and hashes, by names."""
    logical = (LOCKS / f"{which}.txt").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = {}
    for line in logical:
        if line and not line.startswith("#"):
            pin, *hashes = line.split()
            name, version = pin.split("==")
            found[canonicalize_name(name)] = (version, [one.removeprefix("--hash=sha256:") for one in hashes])
    return found


def closure(
    wanted: Iterable[Requirement], needs: Callable[[Requirement], Iterable[str]], markers: Mapping[str, str]
) -> dict[str, list[Requirement]]:
    """All that these lead to where markers are such, by names, with every requirement that asks for it."""
    found: dict[str, list[Requirement]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(one, "") for one in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({**markers, "extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found.setdefault(name, []).append(requirement)
        for own in ("", *requirement.extras):
            if (name, own) not in seen:
                seen.add((name, own))
                waiting += ((Requirement(line), own) for line in needs(requirement))
    return found


@cache
def wheels(name: str) -> tuple[Wheel, ...]:
    """Every wheel that the index has of a package; only wheels: what has to be built runs code that nobody pinned."""
    page = _fetch(f"{INDEX}/{canonicalize_name(name)}/").decode("utf-8")
    found = []
    for href, file in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+\.whl)</a>', page):
        url, _, digest = html.unescape(href).partition("#sha256=")
        with suppress(InvalidWheelFilename):  # some releases of long ago have names that pip takes no more
            _, version, _, tags = parse_wheel_filename(file)
            found.append(Wheel(url, digest, version, tags))
    return tuple(found)


def wheel_for(machine: Machine, name: str, version: str) -> Wheel | None:
    """The one that pip takes there."""
    own = [wheel for wheel in wheels(name) if wheel.version == Version(version)]
    for tag in machine.tags:
        for wheel in own:
            if tag in wheel.tags:
                return wheel
    return None


@cache
def metadata_of(wheel: Wheel) -> Message:
    """What it says of itself. Not every index keeps that beside the wheel."""
    try:
        text = _fetch(f"{wheel.url}.metadata").decode("utf-8")
    except HTTPError:
        whole = _fetch(wheel.url)
        assert sha256(whole).hexdigest() == wheel.sha256, f"{wheel.url} isn't what the index says it is"
        with ZipFile(BytesIO(whole)) as archive:
            (inside,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            text = archive.read(inside).decode("utf-8")
    return message_from_string(text)


def newest(name: str, wanted: SpecifierSet) -> str:
    return str(max(wanted.filter({wheel.version for wheel in wheels(name)})))


class Pins:
    """Versions by names, those of constraints.txt first; what is asked for and has none gets one."""

    def __init__(self) -> None:
        self.spelling = {canonicalize_name(name): name for name in pinned()}
        self.by_hand = {canonicalize_name(name): version for name, version in pinned().items()}
        self.versions = dict(self.by_hand)

    def needs(self, machine: Machine, *, cuda: bool) -> Callable[[Requirement], list[str]]:
        """What a requirement leads to there. torch's CPU build asks for the same, less the lines for Linux alone."""

        def of(requirement: Requirement) -> list[str]:
            name = canonicalize_name(requirement.name)
            version = self.versions.setdefault(name, newest(name, requirement.specifier))
            wheel = wheel_for(machine, name, version)
            assert wheel, f"{name} {version} has no wheel for {machine}"
            # What is installed says the same as the index, and at once.
            here = (name, version) in INSTALLED
            lines = (requires(name) if here else metadata_of(wheel).get_all("Requires-Dist")) or []
            return [line for line in lines if cuda or name != "torch" or "platform_system" not in line]

        return of

    def mend(self, found: Mapping[str, list[Requirement]]) -> bool:
        """Give what got a version here one that suits all who ask for it; whether any had to change."""
        changed = False
        for name, asking in found.items():
            wanted = SpecifierSet(",".join(str(one.specifier) for one in asking if one.specifier))
            if not wanted.contains(self.versions[name]):
                assert name not in self.by_hand, f"{name}=={self.versions[name]}, but {', '.join(map(str, asking))}"
                self.versions[name], changed = newest(name, wanted), True
        return changed

    def entry(self, name: str) -> str:
        """Of a lock: every file that pip may take on one of the machines."""
        pin = f"{self.spelling.get(name, name)}=={self.versions[name]}"
        supported = {tag for machine in MACHINES for tag in machine.tags}
        usable = [
            wheel.sha256
            for wheel in wheels(name)
            if wheel.version == Version(self.versions[name]) and wheel.tags & supported
        ]
        hashes = sorted({*usable, *CPU_BUILDS.get(pin, ())})
        return " \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in hashes)])


def main() -> None:
    pins, (run, extras) = Pins(), project()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(wheels, pins.versions))  # the index's pages, which take the time
    names: dict[str, set[str]] = {}
    settled = False
    while not settled:
        names, settled = {which: set() for which in _ABOUT}, True
        for machine in MACHINES:
            lean, whole = pins.needs(machine, cuda=False), pins.needs(machine, cuda=True)
            names["run"] |= closure(run, lean, machine.markers).keys()
            names["test"] |= closure([*run, *extras], lean, machine.markers).keys()
            names["cuda"] |= closure(run, whole, machine.markers).keys()
            names["docs"] |= closure(for_docs(), lean, machine.markers).keys()
            settled &= not pins.mend(closure([*run, *extras, *for_docs()], whole, machine.markers))
    assert f"torch=={pins.versions['torch']}" in CPU_BUILDS, "lock.py names no CPU build of this torch"
    everything = sorted(set().union(*names.values()))
    names |= {which: names[which] - names["run"] for which in ("test", "cuda")}
    names |= {"torch": {"torch"}, "run": names["run"] - {"torch"}}
    pythons = ", ".join(".".join(map(str, python)) for python in _PYTHONS)
    for which, own in names.items():
        head = _HEAD.format(about=_ABOUT[which], pythons=pythons)
        entries = [pins.entry(name) for name in sorted(own)]
        (LOCKS / f"{which}.txt").write_text("\n".join([head, *entries, ""]), encoding="utf-8")
    head = [line for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    lines = [f"{pins.spelling.get(name, name)}=={pins.versions[name]}" for name in everything]
    CONSTRAINTS.write_text("\n".join([*head, *lines, ""]), encoding="utf-8")


def _fetch(url: str) -> bytes:
    with urlopen(url, timeout=180) as answer:
        return answer.read()


if __name__ == "__main__":
    main()
