"""Nothing in the code stops a newcomer: no dead names, missing references or crowded
directories."""

from __future__ import annotations

import pytest

from tests.architecture import figures, findings
from tests.architecture.sources import DOCUMENTS, SOURCES

pytestmark = pytest.mark.once


def test_there_is_something_to_look_at() -> None:
    assert len(SOURCES) > 300
    assert len(DOCUMENTS) > 20


def test_every_document_heading_and_module_that_is_named_exists() -> None:
    assert findings.undefined_references() == []


def test_every_name_is_used() -> None:
    assert findings.dead_names() == []


def test_every_sentence_is_plain_english() -> None:
    assert findings.dialect_words(findings.readable_files()) == []


def test_no_directory_is_a_drawer() -> None:
    crowded = {
        folder: modules
        for folder, modules in figures.modules_by_directory().items()
        if modules > figures.MODULES_AT_MOST
    }

    assert crowded == {}
