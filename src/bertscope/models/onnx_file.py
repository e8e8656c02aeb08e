"""An ONNX file as a model: where it lies, what belongs to it, what identifies it. Loads no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.files import digest_files, digest_text
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.seal import refuse_changed
from bertscope.core.step import Root
from bertscope.models import known_base
from bertscope.models.config_notes import origin_in
from bertscope.models.source import FolderParts, display_name, need_vocabulary, parts_of, written

SUFFIX = ".onnx"
BY = "onnx"
"""What the origin of such a model says: it is its folder's, written as a file."""


def is_onnx(name: Any) -> bool:
    """Whether somebody names an ONNX file, be it there or not."""
    return isinstance(name, str | Path) and Path(name).suffix == SUFFIX and not Path(name).is_dir()


def scorer_root(name: Any, base: str | None = None) -> Root:
    """The root of a plan for whatever answers: a model as everywhere, a file by what it holds and by what lies beside
    it, which says how texts are read and what outputs are called."""
    if not is_onnx(name):
        return known_base.model_root(name, base)
    path = found(name)
    return Root("model", str(path), onnx_digest(path, beside(path)))


def found(name: str | Path) -> Path:
    """The file, absolute."""
    path = Path(name).expanduser()
    if not path.is_file():
        raise UserError(f"no ONNX file {str(name)!r}; bertscope shrink writes model.onnx and model-int8.onnx")
    return path.absolute()


def beside(path: Path) -> FolderParts:
    """The folder that says what the file is: the one it lies in, or, as others write them, the one around that."""
    for folder in (path.parent, path.parent.parent):
        if (folder / "config.json").exists():
            parts = parts_of(folder)
            need_vocabulary(parts.tokenizer)
            parts.refuse_changed()
            refuse_changed(folder, (path.relative_to(folder).as_posix(),))
            return parts
    raise UserError(
        f"{path} lies beside no config.json: nothing says how its texts are read and what its outputs are called; "
        "put it into a folder with the model's config.json and tokenizer.json"
    )


def onnx_digest(path: Path, parts: FolderParts) -> str:
    """Of the file, of the weights that it may have beside it, and of the folder."""
    own = digest_files(sorted(path.parent.glob(f"{path.name}*")))
    return digest_text(f"{own} {parts.digest()}")


def onnx_record(path: Path, parts: FolderParts, task_head: str) -> ModelRecord:
    """What is known of the file: it is its folder's model, in another form."""
    config = parts.config()
    name = display_name(str(parts.folder), config)
    of = ModelRecord(parts.digest(), name, origin_in(config), task_head, source=str(parts.folder))
    return ModelRecord(
        onnx_digest(path, parts), f"{name} ({path.name})", Origin(BY, of), task_head, str(path), written([path])
    )
