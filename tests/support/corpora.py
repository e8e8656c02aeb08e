"""Where the real corpora are, and small ones made up for the tests."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("BERTSCOPE_SHARED", Path(__file__).parents[3] / "shared")) / "data"
EWT = SHARED / "UD_English-EWT"
NLTK = SHARED / "nltk"
FRAMENET = SHARED / "framenet-1.5-part.zip"
with_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data isn't here")


def conllu(*rows: str, comments: str = "") -> str:
    """A sentence from rows of `form upos head deprel [misc]`, numbered, or whole rows with tabs, as they are."""
    lines = comments.splitlines()
    number = 0
    for row in rows:
        if "\t" not in row:
            number += 1
            form, pos, head, relation, *misc = row.split()
            row = "\t".join([str(number), form, "_", pos, "_", "_", head, relation, "_", *(misc or ["_"])])
        lines.append(row)
    return "\n".join(lines) + "\n\n"


def packed(path: Path, files: dict[str, str | bytes]) -> Path:
    """A zip of these files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def laid_out(folder: Path, files: dict[str, str | bytes]) -> Path:
    """A folder of these files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
