"""Nothing in the code stops a newcomer: no dead names, missing references or crowded
directories."""

from __future__ import annotations

import re

import pytest

from tests.architecture import figures, findings, references
from tests.architecture.sources import DOCUMENTS, SOURCES, name

pytestmark = pytest.mark.once

MAX_ENTRIES = 15
# These directories may have so many entries, and no more. docs/decisions/0060 and 0090 give the
# reasons for three of them.
CROWDED = {
    "accounts": 16,
    "inbox": 23,
    "relay": 17,
    "relay/tasks": 16,
    "wake": 31,
}


def test_the_sources_are_found() -> None:
    assert len(SOURCES) > 300
    assert len(DOCUMENTS) > 20


def test_every_named_document_heading_module_and_function_exists() -> None:
    assert references.undefined_references() == []


def test_every_name_is_used() -> None:
    assert findings.dead_names() == []


def test_every_sentence_is_plain_english() -> None:
    assert findings.dialect_words(findings.readable_files()) == []


def test_every_item_of_a_list_begins_a_line() -> None:
    """Wrapped as one paragraph, three dozen items used to follow others in the middle of a line."""
    inside_a_line = re.compile(r"""^(?!\s*\|).*[.!?]["*`]* (?:-|\d\.)(?: [A-Z*`"]|$)""")

    joined = [
        f"{name(path)}:{number}"
        for path in DOCUMENTS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if inside_a_line.match(line)
    ]

    assert joined == []


def test_no_directory_is_too_full() -> None:
    crowded = {
        folder: entries
        for folder, entries in figures.entries_by_directory().items()
        if entries > CROWDED.get(folder, MAX_ENTRIES)
    }

    assert crowded == {}
