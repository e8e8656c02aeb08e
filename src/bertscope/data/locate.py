"""From what a user names to the files that hold it. Reads a line of each at most, so that planning can use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import digest_files, digest_text
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import Columns
from bertscope.data.json_files import parse_json
from bertscope.data.known import Known
from bertscope.data.splits import Own
from bertscope.data.squad import read_squad
from bertscope.data.table import EXTENSIONS, PACKINGS, Table
from bertscope.data.table_files import read_aligned, read_table
from bertscope.data.tasks import TASKS, VERSION, Declared, Layout, SplitName

_VALIDATION_FILES = ("dev", "validation")
_TEST_FILES = ("test-labeled", "test")
_SPLITS: tuple[SplitName, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class OnDisk(Known):
    """The files of a task that is known by name."""

    layout: Layout
    path: Path
    """Its folder, or the one file that was asked for."""
    files: Mapping[SplitName, tuple[Path, ...]]

    @property
    def source(self) -> str:
        return f"{self.task.name}@{self.path.absolute()}"

    @property
    def there(self) -> tuple[SplitName, ...]:
        return tuple(self.files)

    @property
    def columns(self) -> Columns:
        return self.layout.columns

    @property
    def has_glue_dev(self) -> bool:
        # As lines of JSON there are only samples.
        return super().has_glue_dev and self.files["dev"][0].suffix != ".jsonl"

    def identity(self) -> str:
        used = [path for split in self.roles().there for path in self.files[split]]
        return digest_text(f"{self.task.name}-{VERSION}:{digest_files(used)}")

    def tables(self, split: SplitName, bad: BadRows) -> list[Table]:
        layout, paths = self.layout, self.files[split]
        if layout.form == "aligned":
            return [read_aligned(paths, bad, header=layout.header, name=split)]
        assert layout.form != "squad"
        return [
            read_table(path, bad, form=layout.form, header=layout.header, extra=layout.extra) for path in paths
        ]  # fmt: skip

    def answers(self, split: SplitName, bad: BadRows) -> Examples:
        return read_squad(self.files[split][0], bad)

    def called(self, split: SplitName) -> str:
        return split if self.layout.form == "aligned" else " + ".join(path.name for path in self.files[split])


def find_in(task: Declared, root: Path) -> OnDisk:
    """The task's files under `root`: in its own folder there, or in `root` itself."""
    if root.is_file() and (found := recognise(root)) and found.task is task:
        return found
    if not root.is_dir():
        raise UserError(f"no folder {root}; --root is the folder that holds {task.folders[0]}")
    for folder in _candidates(task, root):
        for found in _layouts(task, folder):
            return found
    wanted = " and ".join(name for split in _SPLITS[:2] for name in task.layouts[0].files(split))
    raise UserError(
        f"{root} doesn't hold {task.name}; --root is the folder that holds {task.folders[0]} with {wanted}"
    )


def recognise(path: Path) -> OnDisk | None:
    """The task that a folder, or a file in one, holds: if its name and files are those of a task known by name."""
    folder = path if path.is_dir() else path.parent
    for task in TASKS.values():
        for found in _layouts(task, folder) if _fits(task, folder) else ():
            if path.is_dir() and _first_line_fits(found):
                return found
            for split, paths in found.files.items():
                alone = OnDisk(task, found.layout, path, {split: (path,)})
                if path in paths and found.layout.form != "aligned" and _first_line_fits(alone):
                    return alone
    return None


def plain_files(path: Path) -> Own[Path]:
    """The one file, or what a folder has: train, and dev or test, or both."""
    if path.is_dir():
        train = _named(path, ("train",))
        alike = [found.name for name in _VALIDATION_FILES if (found := _found(path, (name,)))]
        if len(alike) > 1:
            raise UserError(f"{path} has both {alike[0]} and {alike[1]}; remove one")
        both = [_found(path, stems) for stems in (_VALIDATION_FILES, _TEST_FILES)]
        if all(both):
            return Own(train, *both)
        return Own(train, None, both[0] or both[1] or _named(path, (*_VALIDATION_FILES, *_TEST_FILES)))
    if not path.exists():
        raise UserError(
            f"no file or folder {path}; give a .csv or .tsv file, or .jsonl or .parquet, "
            "a folder with train and dev, a task such as glue/rte, or demo/sentiment"
        )
    if not path.is_file():
        raise UserError(f"{path} is not a plain file; give the file itself")
    return Own(path)


def _candidates(task: Declared, root: Path) -> Iterator[Path]:
    yield from (folder for folder in sorted(root.iterdir()) if folder.is_dir() and _fits(task, folder))
    # One folder of GLUE looks much like another: only its name tells.
    if "/" not in task.name or _fits(task, root):
        yield root


def _fits(task: Declared, folder: Path) -> bool:
    return folder.absolute().name.casefold() in (name.casefold() for name in task.folders)


def _layouts(task: Declared, folder: Path) -> list[OnDisk]:
    """The layouts that the folder has files of, those with the most splits first."""
    found = []
    for layout in task.layouts:
        files: dict[SplitName, tuple[Path, ...]] = {}
        for split in _SPLITS:
            paths = tuple(folder / name for name in layout.files(split))
            if paths and all(path.is_file() for path in paths):
                files[split] = paths
        if files:
            found.append(OnDisk(task, layout, folder, files))
    return sorted(found, key=lambda one: -len(one.files))


def _first_line_fits(found: OnDisk) -> bool:
    """Whether the first file begins as the declaration says; what can't be read is left to the reader to refuse."""
    layout, path = found.layout, next(iter(found.files.values()))[0]
    if layout.form in ("squad", "aligned"):
        return True
    try:
        with path.open(encoding="utf-8-sig") as stream:
            line = stream.readline(100_000).rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        return True
    form = layout.form or EXTENSIONS[path.suffix]
    if form == "jsonl":
        parsed = parse_json(line)
        names = list(parsed) if isinstance(parsed, dict) else []
    else:
        names = line.split("\t" if form == "tsv" else ",")
    if layout.header:
        return len(names) == len(layout.header) or (layout.extra and len(names) > len(layout.header))
    return {layout.columns.text, layout.columns.pair, layout.columns.label} - {None} <= set(names)


def _named(folder: Path, stems: tuple[str, ...]) -> Path:
    """The folder's file of the first of these names that it has."""
    if found := _found(folder, stems):
        return found
    wanted = ", ".join(stems) + (" file" if len(stems) == 1 else " or the like")
    raise UserError(
        f"{folder} has no {wanted} (.csv or .tsv), .jsonl or .parquet; add it, "
        "or give one file's path to have it split"
    )


def _found(folder: Path, stems: tuple[str, ...]) -> Path | None:
    for stem in stems:
        names = (f"{stem}{extension}{packing}" for extension in EXTENSIONS for packing in ("", *PACKINGS))
        found = [path for name in names if (path := folder / name).is_file()]
        if len(found) > 1:
            raise UserError(f"{folder} has both {found[0].name} and {found[1].name}; remove one")
        if found:
            return found[0]
    return None
