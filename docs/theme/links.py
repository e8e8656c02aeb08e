"""A hook of mkdocs. Pages of the repository that lie outside of docs/ are pages of the site too; a link to anything
else outside, a source file, is its words alone. Headings have the anchors that GitHub gives them."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changes.md",
    "benchmarks/README.md": "project/speed.md",
    "patterns/README.md": "project/labelled-maps.md",
    "README.md": "index.md",
}
"""Where the site has them."""
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.M)
_LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?!\w+:)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def anchor(heading: str, separator: str = "-") -> str:
    """
    >>> anchor("`study run`, and more")
    'study-run-and-more'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File  # not where the tests look at this file

    for path, uri in OUTSIDE.items():
        if not files.get_file_from_path(uri):
            files.append(File.generated(config, uri, content=(ROOT / path).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    here = {uri: path for path, uri in OUTSIDE.items() if path != "README.md"}
    path = here.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    fences = [fence.span() for fence in _FENCE.finditer(markdown)]

    def relinked(link: re.Match[str]) -> str:
        if any(first <= link.start() < last for first, last in fences):
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link["path"]))
        uri = OUTSIDE.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if uri is None:
            return link["words"]
        there = posixpath.relpath(uri, posixpath.dirname(page.file.src_uri) or ".")
        return f"{link['picture']}[{link['words']}]({there}{link['anchor'] or ''})"

    return _LINK.sub(relinked, markdown)
