"""No page, mail or message has a sentence that a person has to read twice."""

from __future__ import annotations

import pytest

from tests.architecture import shapes
from tests.architecture.sources import (
    CHECK,
    CLIENT,
    DOCUMENTS,
    OTHER_CODE,
    SOURCES,
    TEMPLATES,
    TESTS,
)

pytestmark = pytest.mark.once

CLIENT_SOURCES = sorted([*CLIENT.rglob("*.py"), *CHECK.rglob("*.py")])
SCRIPTS = [path for path in OTHER_CODE if path.suffix == ".js"]
# The changelog describes earlier versions in their words.
READ_DOCUMENTS = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
# Only the example in STYLE.md is left. Never raise the numbers.
MAX_IN_CODE = 0
MAX_IN_DOCUMENTS = 1


@pytest.mark.parametrize(
    "sentence",
    [
        "What the key may still do: `limit` at once.",
        "Who asks is told.",
        "Of one that is gone, the name stays.",
        "One that nothing can be done with is refused.",
        "Those who were missing can no longer answer.",
        "Returns 0 for a text that is none.",
        "It is said to be so, and it is said twice.",
        "The first one. What waits is in the inbox.",
    ],
)
def test_a_shape_is_found(sentence: str) -> None:
    assert shapes.shapes_in(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Who answers this?",
        "What",
        "The page of one agent.",
        "Offers three choices. Each says what follows.",
        "One in ten still goes to people.",
    ],
)
def test_a_plain_sentence_passes(sentence: str) -> None:
    assert shapes.shapes_in(sentence) == []


def test_pages_and_mails_have_no_such_sentence() -> None:
    assert shapes.in_templates(TEMPLATES) == []


def test_messages_and_commands_have_no_such_sentence() -> None:
    assert shapes.in_strings([*SOURCES, *CLIENT_SOURCES]) == []
    assert shapes.in_scripts(SCRIPTS) == []


def test_comments_and_docstrings_have_ever_fewer() -> None:
    sentences = shapes.in_comments_and_docstrings([*SOURCES, *CLIENT_SOURCES, *TESTS])

    assert len(sentences) <= MAX_IN_CODE, "\n".join(sentences)


def test_documents_have_ever_fewer() -> None:
    sentences = shapes.in_documents(READ_DOCUMENTS)

    assert len(sentences) <= MAX_IN_DOCUMENTS, "\n".join(sentences)
