"""Where things are written: only to what is missing or ours, in one step, whoever writes beside us."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from bertscope.core import files, folders, scratch
from bertscope.core.errors import UserError
from bertscope.core.files import check_file, write_text
from bertscope.core.folders import check_folder, whole_folder
from bertscope.core.store import Store
from bertscope.study.runner import run_steps
from sums import register, step

LONG = "n" * 255


def put(target: Path, text: str = "text", kind: str = "toy") -> None:
    with whole_folder(target, kind) as folder:
        (folder / "a.txt").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def special(tmp_path):
    """What isn't a file or a folder, by the word for it."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        before = Path.cwd()
        os.chdir(tmp_path)  # the path of a socket is short
        listening.bind("socket")
        os.chdir(before)
        yield {"pipe": tmp_path / "pipe", "socket": tmp_path / "socket", "device": Path("/dev/null")}


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_and_no_folder_is_refused_before_any_work(special, kind, tmp_path):
    (tmp_path / "link").symlink_to(special[kind])
    before = special[kind].stat()
    for path in (special[kind], tmp_path / "link"):
        with pytest.raises(UserError, match=f"cannot write .*: it is a {kind}, not a folder; choose another place"):
            check_folder(path, "toy")
        with pytest.raises(UserError, match=f"it is a {kind}, not a folder"):
            put(path)
        for write in (lambda path: check_file(path, "mark"), lambda path: write_text(path, "text")):
            with pytest.raises(UserError, match=f"it is a {kind}, not a file"):
                write(path)
    assert special[kind].stat().st_ino == before.st_ino and special[kind].stat().st_mode == before.st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    for text in ("one", "two"):
        put(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink() and (tmp_path / "disk" / "a.txt").read_text() == text
    (tmp_path / "page").write_text("old")
    (tmp_path / "to page").symlink_to("page")
    write_text(tmp_path / "to page", "new")
    assert (tmp_path / "to page").is_symlink() and (tmp_path / "page").read_text() == "new"


def test_links_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for write in (put, lambda path: write_text(path, "x"), lambda path: check_file(path, "m")):
        with pytest.raises(UserError, match=r"dangling is a link to .*gone, which isn't there; mend it"):
            write(tmp_path / "dangling")
        with pytest.raises(UserError, match="loop: its links lead in a circle"):
            write(tmp_path / "loop")
    assert names(tmp_path) == ["dangling", "loop"]


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    put(tmp_path / LONG)
    put(tmp_path / LONG, "again")
    write_text(tmp_path / LONG.upper(), "text")
    assert names(tmp_path) == [LONG.upper(), LONG] and (tmp_path / LONG / "a.txt").read_text() == "again"
    for write in (put, lambda path: write_text(path, "x"), lambda path: check_file(path, "m")):
        with pytest.raises(UserError, match="the name is too long; choose a shorter one"):
            write(tmp_path / f"{LONG}n")


def test_only_what_is_as_we_wrote_it_is_replaced(tmp_path):
    target = tmp_path / "t"
    put(target)
    put(target, "two")
    for change, said in {
        lambda: (target / "a.txt").write_text("own"): r"it isn't as bertscope wrote it \(a.txt was changed\)",
        lambda: (target / "notes.md").write_text("x"): "it holds notes.md, which bertscope didn't write",
        lambda: (target / "sub").mkdir(): "it holds sub, which bertscope didn't write",
        lambda: (target / "seal.json").unlink(): "it holds things that bertscope didn't write",
    }.items():
        shutil.rmtree(target)
        put(target, "two")
        change()
        before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
        for write in (check_folder, lambda target, kind: put(target)):
            with pytest.raises(UserError, match=f"cannot write .*: {said}; choose an empty or new folder"):
                write(target, "toy")
        assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before
    shutil.rmtree(target)
    put(target)
    with pytest.raises(UserError, match=r"it is another thing of bertscope's \(toy, not model\)"):
        put(target, kind="model")


def test_what_is_put_there_meanwhile_is_not_lost(tmp_path):
    with pytest.raises(UserError, match="holds things that"), whole_folder(tmp_path / "t", "toy"):
        (tmp_path / "t").mkdir()
        (tmp_path / "t" / "mine").write_text("x")
    assert (tmp_path / "t" / "mine").exists() and names(tmp_path) == ["t"]


def _write_often(target: Path, text: str) -> None:
    for turn in range(40):
        put(target, f"{text} {turn}")


@pytest.mark.alone
def test_two_processes_with_one_place_do_not_harm_each_other(tmp_path):
    spawn = multiprocessing.get_context("fork")
    both = [spawn.Process(target=_write_often, args=(tmp_path / "t", text)) for text in ("one", "two")]
    for one in both:
        one.start()
    for one in both:
        one.join(60)
    assert [one.exitcode for one in both] == [0, 0] and names(tmp_path) == ["t"]
    assert (tmp_path / "t" / "a.txt").read_text() in ("one 39", "two 39")


def test_scratch_names_are_ones_own_and_what_the_dead_left_is_cleared(tmp_path):
    target = tmp_path / "t"

    def die() -> None:
        with whole_folder(target, "toy") as folder:
            (folder / "half").write_text("x")
            os.kill(os.getpid(), signal.SIGKILL)

    with whole_folder(target, "toy") as one, whole_folder(tmp_path / "other", "toy"):
        process = multiprocessing.get_context("fork").Process(target=die)
        process.start()
        process.join(30)
        assert process.exitcode == -signal.SIGKILL and len(scratch.left_beside(target, ".part")) == 2
        (one / "a.txt").write_text("mine")
        put(target, "third")
        assert scratch.left_beside(target, ".part") == [one], "the dead one's is gone, the living one's is not"
    assert (target / "a.txt").read_text() == "mine" and names(tmp_path) == ["other", "t"]


# File systems that can't do everything


@pytest.fixture
def sums(monkeypatch):
    register(monkeypatch)


def failing(number: int, only=lambda *args: True, plain=None):
    def fail(*args, **options):
        if only(*args):
            raise OSError(number, os.strerror(number))
        return plain(*args, **options)

    return fail


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_computed_step_is_not_lost_for_a_missing_fsync(tmp_path, sums, monkeypatch, number):
    monkeypatch.setattr(files.os, "fsync", failing(number))
    run_steps([step()], tmp_path)
    assert Store(tmp_path).has(step())


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EIO, "the disk doesn't answer as it should"),
        (errno.ENOSPC, "the disk is full; free some space and run again"),
        (errno.ESTALE, "the file system was mounted anew; run again"),
    ],
)
def test_other_refusals_of_the_system_are_one_line(tmp_path, sums, monkeypatch, number, said):
    monkeypatch.setattr(files.os, "fsync", failing(number))
    with pytest.raises(UserError, match=said):
        run_steps([step()], tmp_path)
    assert not Store(tmp_path).has(step())


@pytest.mark.parametrize("error", [OSError(errno.ENOLCK, "No locks"), NotImplementedError("FileSystem has no flock")])
def test_a_file_system_without_locks_is_one_line(tmp_path, sums, monkeypatch, error):
    def refuse(self, *args, **options):
        raise error

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    with pytest.raises(UserError, match="its file system has no locks, or none left; choose another place"):
        run_steps([step()], tmp_path)


def test_a_step_is_stored_on_another_disk(tmp_path, sums, monkeypatch):
    """`steps` as a link to another disk, to which nothing can be renamed."""
    plain = Path.rename
    elsewhere = lambda path, target: path.parent.name != target.parent.name  # noqa: E731
    monkeypatch.setattr(Path, "rename", failing(errno.EXDEV, elsewhere, plain))
    run_steps([step()], tmp_path)
    store = Store(tmp_path)
    assert store.has(step()) and store.is_whole(step()) and store.result(step())["total"].value == 5
    assert names(tmp_path / "work") == [] and names(tmp_path / "steps") == [step().id]
    store.delete(store.path(step()))
    assert names(tmp_path / "work") == [] and names(tmp_path / "steps") == []


def test_another_program_that_always_comes_first_is_one_line(tmp_path, monkeypatch):
    put(tmp_path / "t")
    plain = Path.rename
    monkeypatch.setattr(Path, "rename", failing(errno.ENOTEMPTY, lambda one, to: to.name == "t", plain))
    with pytest.raises(UserError, match="another program writes there at the same time; run again"):
        put(tmp_path / "t")


def test_the_old_one_comes_back_where_the_new_one_cannot_be_put(tmp_path, monkeypatch):
    put(tmp_path / "t", "old")
    plain = Path.rename
    monkeypatch.setattr(Path, "rename", failing(errno.EIO, lambda one, to: one.suffix == ".part", plain))
    with pytest.raises(UserError, match="the disk doesn't answer"):
        put(tmp_path / "t", "new")
    assert (tmp_path / "t" / "a.txt").read_text() == "old" and names(tmp_path) == ["t"]


def test_what_was_whole_when_the_renaming_failed_is_put_in_place_by_the_next_run(tmp_path, sums, monkeypatch):
    with monkeypatch.context() as once:
        once.setattr(folders, "move", failing(errno.EIO))
        with pytest.raises(UserError, match="the disk doesn't answer"):
            run_steps([step()], tmp_path)
    monkeypatch.setattr("bertscope.study.execute.perform", lambda *args: pytest.fail("computed again"))
    run_steps([step()], tmp_path)
    assert Store(tmp_path).has(step())
