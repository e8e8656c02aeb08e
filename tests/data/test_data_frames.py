"""FrameNet: words from characters, links, the filter of Dark Secrets, and files that are not to be trusted."""

from __future__ import annotations

import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples, Link
from bertscope.data.frames import read_frames, select_frames
from bertscope.data.relations import read_relations
from corpora import FRAMENET, laid_out, packed, with_shared
from framenet_files import EVERY, FILES, FRAME, FULL, PLAIN, SPACE, TEXT, UNIT


@pytest.fixture(params=["folder", "inner folder", "zip"])
def source(request, tmp_path):
    def make(files=FILES):
        if request.param == "zip":
            return packed(tmp_path / "fn.zip", files)
        folder = laid_out(tmp_path / "fn", files)
        return folder / "fndata-1.7" if request.param == "inner folder" else folder

    return make


def test_words_links_and_what_is_counted(source):
    notes: list[str] = []
    read = read_frames(source(), **EVERY, notes=notes)
    words = ("Yesterday", "Anna's", "aunt", "did", "n't", "give", "it", "all", "away", ".")
    assert read.ids == ("a__b:11", "a__b:13", "lu1:20")
    assert read.words == (words, words, ("Oh", ",", "it", "ended", "(", "well", ")", "."))
    assert read.links == (
        (
            Link("Time", (0,), (5, 8), "Giving", core=False),
            Link("Donor", (1, 2), (5, 8), "Giving", core=True),
            Link("Theme", (6, 7), (5, 8), "Giving", core=False),
        ),
        (Link("Ego", (1,), (2,), "Kinship", core=False),),
        (Link("Donor", (0,), (3,), "Giving", core=True),),
    )
    assert notes == [
        "3 sentences; words from the part-of-speech layer, in 2 split at spaces and punctuation",
        "5 annotation sets: 1 met before, 1 without elements, 0 with spans outside the sentence; 3 are left",
        "2 different sentences in them",
    ]


def test_the_filter_of_dark_secrets(source):
    notes: list[str] = []
    read = read_frames(source(), notes=notes)
    assert read.ids == ("lu1:20",)
    assert notes[2:] == [
        "3 annotation sets with at most 12 words",
        "2 annotation sets with at most 1 run(s) of words as target",
        "2 annotation sets with at most 3 words in each element",
        "1 annotation sets with no element within 2 positions of the target",
        "1 annotation sets with at least 1 core element(s)",
        "1 different sentences in them",
    ]
    assert read_relations(source()).ids == read.ids
    assert read_frames(source(), **EVERY, limit=2).ids == ("a__b:11", "a__b:13")


def one(count=12, source=(0,), target=(5,), core=True) -> Examples:
    """One annotation set."""
    words = tuple("abcdefghijklmnop"[:count])
    return Examples(
        ids=("0",), text=(" ".join(words),), words=(words,), links=((Link("E", source, target, "F", core),),)
    )


@pytest.mark.parametrize(
    ("given", "kept", "switch"),
    [
        ({}, True, None),
        ({"count": 13}, False, "max_words"),
        ({"target": (5, 6)}, True, None),
        ({"target": (5, 7)}, False, "max_targets"),
        ({"source": (0, 1, 2)}, True, None),
        ({"source": (0, 1, 2, 3), "target": (9,)}, False, "max_element_words"),
        ({"source": (2,)}, True, None),
        ({"source": (3,)}, False, "gap"),
        ({"source": (7,)}, False, "gap"),
        ({"source": (8,)}, True, None),
        ({"source": (5,)}, False, "gap"),
        ({"core": False}, False, "min_core"),
    ],
)
def test_each_condition_and_its_switch(given, kept, switch):
    assert len(select_frames(one(**given))) == kept
    if switch:
        assert len(select_frames(one(**given), **{switch: None})) == 1


def test_only_frames_can_be_selected():
    with pytest.raises(UserError, match="these examples have no frames"):
        select_frames(Examples(ids=("0",), text=("a",)))


LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
FETCH = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def declaring(what: str) -> str:
    return FULL.replace("<fullText", f"{what}<fullText", 1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (declaring(LAUGHS).replace(">Yesterday", ">&b;", 1), "declares a document type"),
        (declaring(FETCH), "declares a document type"),
        (declaring(LAUGHS).replace("UTF-8", "UTF-16").encode("utf-16"), "not valid UTF-8"),
        (declaring(LAUGHS.replace("<", "+ADw-")).replace("UTF-8", "UTF-7"), "not well-formed XML"),
        (FULL[:-9], "not well-formed XML"),
        (FULL.replace(">Yesterday", ">&undeclared;", 1), "not well-formed XML"),
        ("", "not well-formed XML"),
        (FULL.encode().replace(b"Yesterday", b"\xff"), "not valid UTF-8"),
        (FULL.replace(f"<text>{TEXT}</text>", ""), "a sentence has no text"),
    ],
)  # fmt: skip
def test_untrusted_files_are_refused_by_name(source, content, said):
    files = FILES | {"fndata-1.7/fulltext/a__b.xml": content}
    with pytest.raises(UserError, match=r"fulltext/a__b\.xml") as caught:
        read_frames(source(files), **EVERY)
    assert said in str(caught.value) and str(caught.value).isprintable()


@pytest.mark.parametrize("wrong", ['start="9000"', 'start="-1"', 'start="x"', f'start="{"9" * 5000}"'])
def test_spans_outside_the_sentence_are_left_out_and_counted(tmp_path, wrong):
    files = FILES | {"fndata-1.7/lu/lu1.xml": UNIT.replace(f'start="{PLAIN.index("ended")}"', wrong)}
    notes: list[str] = []
    assert len(read_frames(packed(tmp_path / "fn.zip", files), **EVERY, notes=notes)) == 2
    assert "1 with spans outside the sentence" in notes[1]


def test_an_overlapping_layer_is_not_used(tmp_path):
    overlapping = FULL.replace(
        '<layer rank="1" name="PENN">', '<layer rank="1" name="PENN"><label start="0" end="11" name="x"/>'
    )
    read = read_frames(packed(tmp_path / "fn.zip", FILES | {"fndata-1.7/fulltext/a__b.xml": overlapping}), **EVERY)
    assert read.words[0][:5] == ("Yesterday", "Anna", "'", "s", "aunt")


def test_what_isnt_framenet(tmp_path):
    for files in ({"frame/a.xml": FRAME}, {"lu/a.xml": UNIT}, {"a.txt": ""}):
        with pytest.raises(UserError, match="has no frame folder beside fulltext or lu"):
            read_frames(packed(tmp_path / "x.zip", files))
    with pytest.raises(UserError, match=r"no file .*gone\.zip; check the path"):
        read_frames(tmp_path / "gone.zip")
    empty = {"frame/a.xml": FRAME, "lu/a.xml": f"<lexUnit {SPACE}/>"}
    with pytest.raises(UserError, match="has no annotation set with a target and an element"):
        read_frames(packed(tmp_path / "x.zip", empty))


@with_shared
@pytest.mark.slow
def test_the_part_of_framenet_at_hand():
    notes: list[str] = []
    read = read_frames(FRAMENET, notes=notes)
    assert len(read) == len(set(read.ids)) == 94 and len(set(read.text)) == 90
    assert notes == [
        "16,295 sentences; words from the part-of-speech layer, in 22 split at spaces and punctuation",
        "34,289 annotation sets: 84 met before, 1,814 without elements, 0 with spans outside the sentence; "
        "32,391 are left",
        "2,970 annotation sets with at most 12 words",
        "2,966 annotation sets with at most 1 run(s) of words as target",
        "2,204 annotation sets with at most 3 words in each element",
        "96 annotation sets with no element within 2 positions of the target",
        "94 annotation sets with at least 1 core element(s)",
        "90 different sentences in them",
    ]
    row = read.ids.index("ANC__110CYL067:2024891")
    assert read.words[row] == ("Because", "people", "want", "to", "work", ".")
    assert read.links[row] == (Link("Employee", (1,), (4,), "Being_employed", core=True),)
