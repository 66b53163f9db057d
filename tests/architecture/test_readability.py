"""Nothing in the code stops a newcomer: no dead names, missing references or crowded
directories."""

from __future__ import annotations

import pytest

from tests.architecture import figures, findings, references
from tests.architecture.sources import DOCUMENTS, SOURCES

pytestmark = pytest.mark.once

MAX_ENTRIES = 15
# These directories may have so many entries, and no more. docs/decisions/0060 gives the reasons for
# two of them.
CROWDED = {
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


def test_no_directory_is_too_full() -> None:
    crowded = {
        folder: entries
        for folder, entries in figures.entries_by_directory().items()
        if entries > CROWDED.get(folder, MAX_ENTRIES)
    }

    assert crowded == {}
