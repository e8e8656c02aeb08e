"""How much of a file is read, and how much is planned: bounds that no honest input meets, and what a message names.

A file may be damaged, made to do harm, or not what it seems: a pipe, a device, a few bytes that unpack to a disk
full. Whatever is read has one of these bounds, and what is beyond is refused with it. They are generous: the largest
corpora that people fine-tune on have 3.6 million rows and 1.6 GB.
"""

from __future__ import annotations

from bertscope.core.errors import UserError

MOST_ROWS = 5_000_000
"""Rows or lines of a source that are held in memory at once; with `--limit` more may be there."""
MOST_SENTENCES = 500_000
"""Sentences with annotation that are held at once: even those of one word take over a kilobyte each. The largest
treebank of Universal Dependencies has 190,000."""
MOST_HELD = 1 << 31
"""Bytes, as they are in the source, of the texts that are held in memory at once; as Python has them, about twice
that."""
LARGEST_WHOLE = 1 << 28
"""Bytes of a file that can only be read whole: one in a folder or zip, SQuAD's JSON. SQuAD has 42 MB."""
LONGEST_LINE = 1 << 20
"""Bytes that a line of a corpus, or the lines of one sentence, may have."""
LONGEST_TEXT = 1_000_000
"""Characters; what is longer is no text for an encoder, but a file that isn't what it seems."""
LONGEST_ROW = 10 * LONGEST_TEXT
"""Characters that a line of a table, or a row of several lines, may have."""
MOST_COLUMNS = 1_000
MOST_BROKEN_QUOTES = 100
"""Going on after a quote that is never closed means reading the same lines again: not without end."""
MOST_FILES = 200_000
"""Files of a folder or zip. FrameNet has 15,000; a folder may be a whole disk."""
UNPACKED_FREELY = 1 << 26
"""Bytes to which anything may unpack: a few equal lines pack to nothing."""
MOST_TIMES_UNPACKED = 1_000
"""How many times its packed size anything larger may unpack to. Text is 3 to 10 times as large, tables of parses 20
times, a machine's log of its heartbeat 190 times; deflate can make it 1,030 times, xz 7,000 times."""
LINES_UNPACKED_FREELY = 2 * MOST_ROWS
MOST_LINES_PER_PACKED_BYTE = 20
"""How many lines more than those anything may unpack to: each takes its time, also a blank one, which isn't held. The
heartbeat's log has 4."""
LARGEST_STUDY = 1 << 18
"""Bytes of a study file: YAML is read slowly, this much in some seconds. The largest ready one has 3,000."""
LARGEST_LABELS = 1 << 26
"""Bytes of a file of labelled maps: a person's lifetime of them."""
MOST_SEEDS = 1_000
"""Trainings that differ by their seed alone."""
MOST_STEPS = 10_000
"""Steps that a study may have: each is planned, hashed and shown."""
LARGEST_NUMBER = 2**63 - 1
"""What every generator takes for a seed, and every array for a size."""


def mebibytes(size: int) -> str:
    """A size for a message."""
    return f"{size >> 20:,} MiB" if size >= 1 << 20 else f"{size:,} bytes"


def in_bytes(size: int) -> str:
    """What a disk or a GPU has or needs, as their makers count.

    >>> in_bytes(70_300_000_000), in_bytes(3_500_000), in_bytes(812)
    ('70.3 GB', '3.5 MB', '812 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size:,} bytes"


def refuse_many_steps(count: int, what: str) -> None:
    """Refuse a plan that nobody could run, or even list."""
    if count > MOST_STEPS:
        raise UserError(f"{what} makes {count:,} steps, over the limit of {MOST_STEPS:,}; ask for less at a time")
