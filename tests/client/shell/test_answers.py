"""`wake answers` prints the answers, and where the next call goes on."""

from __future__ import annotations

import json

import pytest

from tests.client.shell.test_deliveries import wake
from tests.client.test_sdk import APPROVED, ID, Server, ok


def test_answers_end_with_the_next_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    page = {"deliveries": [APPROVED], "total": 1, "has_more": False, "next_since": "2026"}

    assert wake(Server(ok(page)), "answers") == 0

    assert capsys.readouterr().out == f"{ID} approved\nnext_since 2026\n"


def test_each_answer_is_a_line_with_its_words_and_its_edit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    redirected = {
        **APPROVED,
        "status": "redirected",
        "feedback": "Take\nA. \u202e",
        "edited_content": {"choice": "A"},
    }
    page = {"deliveries": [redirected], "total": 1, "has_more": False, "next_since": "2026"}

    assert wake(Server(ok(page)), "answers") == 0

    printed = capsys.readouterr().out
    assert printed == f'{ID} redirected Take A. ⟨U+202E⟩ {{"choice": "A"}}\nnext_since 2026\n'


@pytest.mark.parametrize(
    ("words", "next_since", "printed"),
    [
        ([], None, "No answers yet.\n"),
        (["--since", "2026"], "2026", "No answers since 2026.\nnext_since 2026\n"),
    ],
)
def test_no_answers_are_said_in_words(
    words: list[str], next_since: str | None, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`wake answers` used to print only the word `next_since`."""
    page = {"deliveries": [], "total": 0, "has_more": False, "next_since": next_since}

    assert wake(Server(ok(page)), "answers", *words) == 0
    assert capsys.readouterr().out == printed

    assert wake(Server(ok(page)), "answers", *words, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"answers": [], "next_since": next_since}
