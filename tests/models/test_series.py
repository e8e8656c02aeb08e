"""What names a series of checkpoints, and what can't be one."""

from __future__ import annotations

import json
import shutil

import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.planning import series_in
from bertscope.core.series import Series
from bertscope.models.known_base import model_root
from bertscope.models.series import as_series, series
from small_model_folders import edit, small_folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A training's folder with three checkpoints, whose steps sort otherwise as words."""
    folder = tmp_path_factory.mktemp("run")
    for step in (5, 40, 100):
        small_folder(folder / f"checkpoint-{step}")
    return folder


@pytest.fixture
def run(kept, tmp_path):
    return shutil.copytree(kept, tmp_path / "run")


def names(found: Series) -> list[str]:
    return [str(one).rpartition("/")[2] for one in found]


def test_a_pattern_a_folder_and_a_list_are_the_same_series(run):
    (run / "checkpoint-7").mkdir()  # nothing was kept there
    listed = [run / "checkpoint-100", str(run / "checkpoint-5"), run / "checkpoint-40"]
    for given in (f"{run}/checkpoint-*", str(run), run, ",".join(map(str, listed))):
        found = as_series(given)
        assert found.steps == (5, 40, 100) and names(found) == ["checkpoint-5", "checkpoint-40", "checkpoint-100"]
    assert series(listed).steps == series(f"{run}/*").steps == (5, 40, 100)
    assert bertscope.series(found) is found and "steps 5 to 100" in repr(found)


def test_what_names_a_model_is_none(run, tmp_path):
    shutil.copy(run / "checkpoint-5" / "config.json", run / "config.json")  # the last model lies beside them
    for given in (run, run / "checkpoint-5", "pocket", "bert-base-uncased", tmp_path, object(), 3):
        assert as_series(given) is None
    assert series(str(run)).steps == (5, 40, 100), "who asks for a series gets it"
    assert series_in("result", f"{run}/checkpoint-*") is None


def test_steps_are_read_off_what_the_trainer_wrote(run):
    for name, step in (("checkpoint-5", 12), ("checkpoint-100", 7)):
        (run / name).rename(run / f"kept at {step}")
        (run / f"kept at {step}" / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    assert series([run / "kept at 12", run / "checkpoint-40", run / "kept at 7"]).steps == (7, 12, 40)


def test_the_first_of_a_list_may_be_what_the_training_began_with(run):
    assert series(["pocket", f"{run}/checkpoint-*"]).steps == (0, 5, 40, 100)
    assert series({7: "pocket", 3: "other"}).checkpoints == ("other", "pocket")


def test_several_trainings_are_told_apart_by_their_folders(run, tmp_path):
    shutil.copytree(run, tmp_path / "again")
    for given in (f"{tmp_path}/*/checkpoint-*", f"{run},{tmp_path}/again", f"{tmp_path}/*/*"):
        found = as_series(given)
        assert found.steps == (5, 40, 100) and sorted(found.trainings) == ["again", "run"] and len([*found]) == 6
        one, other = found.each()
        assert (one.steps, one.trainings) == ((5, 40, 100), ()) and "3 checkpoints of each of 2 train" in repr(found)
        assert {str(each).split("/")[-2] for each in one} | {str(each).split("/")[-2] for each in other} == {
            "again",
            "run",
        }
    both = series(["pocket", run, tmp_path / "again"])
    assert [(one.steps, one.checkpoints[0]) for one in both.each()] == [((0, 5, 40, 100), "pocket")] * 2
    shutil.rmtree(tmp_path / "again" / "checkpoint-40")
    with pytest.raises(UserError, match=r"with the same steps \(step 40 is in one of them alone\); name"):
        series(f"{tmp_path}/*/checkpoint-*")
    (tmp_path / "again" / "checkpoint-100").rename(tmp_path / "again" / "checkpoint-41")
    (tmp_path / "again" / "checkpoint-5").rename(tmp_path / "again" / "checkpoint-6")
    with pytest.raises(UserError, match="aren't trainings with the same steps"):
        series(f"{tmp_path}/*/checkpoint-*")  # no step of theirs is the same: not one training for that


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{run}/nothing-*", "no checkpoint matches"),
        ("{run}/checkpoint-5*", "names only {run}/checkpoint-5: a series has two"),
        (["{run}/checkpoint-5", "pocket"], "pocket doesn't say at which step"),
        (["{run}/checkpoint-5", "{run}/other/checkpoint-5"], "are both of step 5: a series is one training"),
        ({-1: "pocket", 2: "pocket"}, "step -1 is no step"),
        ({True: "pocket", 2: "pocket"}, "step True is no step"),
        (3, "can't make a series of int"),
        ([], "names none"),
    ],
)
def test_what_is_no_series_is_refused(run, given, said):
    shutil.copytree(run / "checkpoint-5", run / "other" / "checkpoint-5")

    def filled(one):
        return one.format(run=run) if isinstance(one, str) else one

    given = [filled(one) for one in given] if isinstance(given, list) else filled(given)
    with pytest.raises(UserError) as error:
        series(given)
    assert said.format(run=run) in str(error.value) and "\n" not in str(error.value)


def refused(run) -> str:
    with pytest.raises(UserError) as error:
        as_series(str(run)).rooted(model_root)
    return str(error.value)


def test_other_shapes_are_refused(run):
    shutil.rmtree(run / "checkpoint-40")
    small_folder(run / "checkpoint-40", intermediate_size=16)
    assert "intermediate_size is 12 here and 16 there" in refused(run)


def test_what_older_files_leave_unsaid_is_no_other_shape(run):
    edit(run / "checkpoint-40" / "config.json", position_embedding_type="absolute")
    assert as_series(str(run)).rooted(model_root).steps == (5, 40, 100)
    edit(run / "checkpoint-100" / "config.json", hidden_act="relu")
    assert "hidden_act is gelu here and relu there" in refused(run)


def test_other_tokenizers_are_refused(run):
    path = run / "checkpoint-100" / "tokenizer.json"
    whole = json.loads(path.read_text())
    whole["model"]["vocab"]["bad"], whole["model"]["vocab"]["good"] = 7, 8
    path.write_text(json.dumps(whole))
    assert "they have different tokenizers" in refused(run)
    whole["model"]["vocab"]["bad"], whole["model"]["vocab"]["good"] = 8, 7
    path.write_text(json.dumps(whole | {"truncation": None}))
    assert as_series(str(run)).rooted(model_root).steps == (5, 40, 100), "settings of the last call are nothing"


def test_a_truncated_checkpoint_is_refused(run):
    path = run / "checkpoint-40" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert str(run / "checkpoint-40") in refused(run)
