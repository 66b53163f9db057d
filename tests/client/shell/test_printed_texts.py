"""A terminal prints others' texts whole. Characters that a terminal would act on are named, and no
line can be taken for a line of the command itself."""

from __future__ import annotations

import argparse
import io
import json
import logging
import re
import unicodedata
from contextlib import redirect_stdout
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.process import ignore_signals, type_in
from tests.client.shell.command import VARIABLES, wake
from tests.client.test_sdk import APPROVED, ID, RECEIPT, Server, error, ok
from wake_client import __main__ as program
from wake_client.answers import Answer
from wake_client.errors import KeyNotValid
from wake_client.hook import cli as hook
from wake_client.shell import output, run, watch
from wake_client.shell.deliveries import in_words
from wake_client.visible_text import indented, json_text, shortened, visible, visible_lines

# The texts have a window title, a link, a cleared screen, C1's escape, DEL, an override of the
# direction, blanks that are no spaces, a line separator and a tag.
HOSTILE = [
    *("\x1b]0;approved\x07", "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "\x1b[2J"),
    *("\x9b1m", "\x7f", "\u202e", "\u2066", "\u200b", "\u2800", "\ufffc", "\u2028", "\x85", "\r"),
    *("\U000e0041", "\U00013430", "\ufeff", "\x00", "\x0b", "\x0c", "\ue000", "\u3164"),
]
TEXTS = st.text(st.characters() | st.sampled_from("\x1b\x9b\r\n\t\u202e\u2028\ufe0f❤"), max_size=60)
NAMED = re.compile("⟨U\\+([0-9A-F]{4,6})⟩")


def is_safe(text: str) -> bool:
    """Says whether a terminal only prints these characters, apart from line feeds and tabs."""
    kinds = {unicodedata.category(letter) for letter in text if letter not in "\n\t"}
    return not kinds & {"Cc", "Cf", "Zl", "Zp", "Cs"}


def read(text: str) -> str:
    """Returns the text with the characters in place of their names."""
    return NAMED.sub(lambda match: chr(int(match[1], 16)), text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\u00a0-rf", "rm⟨U+00A0⟩-rf"),
        ("a\u2003b\u1680", "a⟨U+2003⟩b⟨U+1680⟩"),
        ("10\u202f000", "10\u202f000"),
        ("a\u00a0\u00a0b", "a⟨U+00A0⟩⟨U+00A0⟩b"),
        ("a" + "\u0301" * 8, "a" + "\u0301" * 6 + "⟨U+0301⟩" * 2),
        ("e\u0301 e\u0301", "e\u0301 e\u0301"),
        ("\U00016fe4", "⟨U+16FE4⟩"),
    ],
)
def test_blanks_that_are_no_spaces_and_tall_marks_are_named(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(TEXTS)
def test_a_text_is_one_line_that_says_every_character(text: str) -> None:
    shown = visible(text)

    assert is_safe(shown)
    assert not set(shown) & set("\n\t")
    assert read(shown) == read(text)


@given(TEXTS)
def test_lines_of_others_are_set_in(text: str) -> None:
    lines = indented(text).split("\n")

    assert all(line.startswith("  ") for line in lines)
    assert read("\n".join(line[2:] for line in lines)) == read(text)
    assert is_safe("".join(lines))


@given(TEXTS, st.integers(min_value=1, max_value=60))
def test_a_text_is_whole_or_ends_with_a_mark(text: str, longest: int) -> None:
    shown = shortened(text, longest)

    assert len(shown) <= longest
    assert shown == text or (shown[-1] == "…" and text.startswith(shown[:-1]))


VALUES = st.recursive(
    TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)


@given(VALUES)
def test_json_is_the_same_value_without_such_characters(value: Any) -> None:
    text = json_text(value)

    assert json.loads(text) == value
    assert is_safe(text)
    assert "\n" not in text


@given(TEXTS, st.sampled_from(["approved", "rejected", "redirected", "pending"]), TEXTS)
def test_an_answer_has_one_status_and_one_edit(text: str, status: Any, edit: str) -> None:
    answer = Answer(ID, status, feedback=text, edited_content=edit)

    lines = in_words(answer).split("\n")

    own = [line for line in lines if not line.startswith("  ")]
    assert own[0] == status
    assert own[1:2] == [json_text(edit)]
    assert own[2:] == ([f"delivery_id {ID}"] if status == "pending" else [])
    assert is_safe(in_words(answer))


def test_a_heart_keeps_its_colour_and_other_selectors_are_named() -> None:
    assert visible("\u2764\ufe0f") == "\u2764\ufe0f"
    assert visible("a\ufe0f") == "a⟨U+FE0F⟩"


HOSTILE_TEXT = "fine\n".join(HOSTILE) + f"\n{ID} approved"
ANSWER = {**APPROVED, "status": "rejected", "feedback": HOSTILE_TEXT}
WITHDRAWN = {
    "delivery_id": HOSTILE_TEXT,
    "withdrawn_at": "2026-03-07T09:00:00Z",
    "reason": HOSTILE_TEXT,
}
SWEEP = {"deliveries": [ANSWER], "total": 1, "has_more": False, "next_since": HOSTILE_TEXT}


@pytest.mark.parametrize("flags", [[], ["--json"]])
@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["check", ID], [ok(ANSWER)]),
        (["ask", "A", "B"], [ok(RECEIPT, 201), ok(ANSWER)]),
        (["deliver", "update", "A", "B"], [ok({**RECEIPT, "delivery_id": HOSTILE_TEXT}, 201)]),
        (["answers"], [ok(SWEEP)]),
        (["check", ID], [error(401, HOSTILE_TEXT)]),
        (["withdraw", ID], [ok(WITHDRAWN)]),
    ],
)  # fmt: skip
def test_a_command_prints_no_control_character(
    words: list[str], flags: list[str], answers: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    wake(Server(*answers), *words, *flags)

    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert is_safe(text.rstrip("\n"))
        assert not [line for line in text.splitlines() if line == f"{ID} approved"]


def test_the_doctor_prints_one_line_a_check(capsys: pytest.CaptureFixture[str]) -> None:
    other = httpx.MockTransport(lambda request: ok({"protocol": HOSTILE_TEXT}))

    wake(Server(error(403, HOSTILE_TEXT)), "doctor", transport=other)

    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert [line[:10] for line in lines] == ["ok   serve", "FAIL key: "]
    assert is_safe("".join(lines))


@pytest.mark.parametrize("is_json", [False, True])
def test_watch_prints_one_line_an_answer(is_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    watch._print(argparse.Namespace(json=is_json), Answer.read(ANSWER))

    printed = capsys.readouterr().out
    assert is_safe(printed.rstrip("\n"))
    assert len(printed.splitlines()) == 1


def test_run_prints_the_models_words_without_control_characters() -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        run._print(argparse.Namespace(json=False), "", {"result": HOSTILE_TEXT})
        run._print(argparse.Namespace(json=False), HOSTILE_TEXT, {})

    assert is_safe(printed.getvalue())


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> int:
        raise KeyNotValid("unauthorized", HOSTILE_TEXT)

    output.guarded(fail)

    printed = capsys.readouterr().err
    assert len(printed.splitlines()) == 1
    assert is_safe(printed.rstrip("\n"))


def test_the_log_of_the_connector_is_one_line_a_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("wake_client")
    monkeypatch.setattr(logger, "handlers", [])  # the program adds one,
    monkeypatch.setattr(logger, "propagate", True)  # and stops this; both come back afterwards
    program._log_to_stderr()

    logger.info("task %s: %s", "t-1", HOSTILE_TEXT)
    logger.error("task t-1: failed", exc_info=ValueError(HOSTILE_TEXT))

    lines = capsys.readouterr().err.split("\n")
    assert is_safe("".join(lines))
    assert [line for line in lines if line and not line.startswith("  ")] == [
        line for line in lines if " task t-1: " in line
    ]


def test_the_hook_names_them_in_its_reasons(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ignore_signals(monkeypatch)
    type_in("{}", monkeypatch)

    hook.main(["--deferring", f"/nowhere/{HOSTILE_TEXT[:60]}", "--wait", HOSTILE_TEXT], VARIABLES)

    decision = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert is_safe(decision["permissionDecisionReason"])
    assert visible_lines(HOSTILE_TEXT) != HOSTILE_TEXT
