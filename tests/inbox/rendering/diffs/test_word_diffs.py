"""The changes of an edit are found for any content and in limited time."""

from __future__ import annotations

import time

import pytest

from inbox.rendering.diffs.step_budget import StepBudget
from inbox.rendering.diffs.word_diffs import Changes, changes, share_changed

HOSTILE = {
    "one long line": ("a" * 20_000, "b" * 20_000),
    "one line, half changed": ("word " * 4_000, "word other " * 2_000),
    "repetitive lines": ("same\nother\n" * 1_000, "other\nsame\nthird\n" * 700),
    "nothing alike": ("\n".join(map(str, range(2_000))), "\n".join(map(str, range(5_000, 7_000)))),
    "many words on two lines": (
        " ".join(map(str, range(60_000))),
        " ".join(map(str, range(1, 60_001))),
    ),
    "many lines": ("\n".join(map(str, range(70_000))), "\n".join(map(str, range(0, 70_000, 2)))),
}


def side(compared: Changes, *kinds: str) -> list[str]:
    return [
        "".join(text for _, text in line.parts) for line in compared.lines if line.kind in kinds
    ]


def test_equal_texts_have_no_changed_lines() -> None:
    assert not changes("the same\n", "the same\n")


def test_changed_lines_and_letters_are_marked() -> None:
    compared = changes("one\ntwo old words\nthree", "one\ntwo new words\nthree")

    assert [(line.kind, line.parts) for line in compared.lines] == [
        ("same", [(False, "one")]),
        ("removed", [(False, "two "), (True, "old"), (False, " words")]),
        ("added", [(False, "two "), (True, "new"), (False, " words")]),
        ("same", [(False, "three")]),
    ]


def test_long_unchanged_parts_are_folded() -> None:
    lines = [f"line {number}" for number in range(40)]

    compared = changes("\n".join(lines), "\n".join([*lines[:20], "new", *lines[20:]]))

    assert [line.kind for line in compared.lines] == [
        "gap",
        *["same"] * 3,
        "added",
        *["same"] * 3,
        "gap",
    ]
    assert side(compared, "gap") == ["17 lines the same", "17 lines the same"]


@pytest.mark.parametrize(("before", "after"), [("", "new\nlines"), ("old\nlines", "")])
def test_an_empty_text_is_compared(before: str, after: str) -> None:
    compared = changes(before, after)

    assert [text for text in side(compared, "removed") if text] == before.split("\n")[
        : 2 * bool(before)
    ]
    assert [text for text in side(compared, "added") if text] == after.split("\n")[
        : 2 * bool(after)
    ]


@pytest.mark.parametrize(("before", "after"), HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_takes_long(before: str, after: str) -> None:
    began = time.process_time()

    compared = changes(before, after)

    assert time.process_time() - began < 5
    assert compared
    assert len(compared.lines) <= 2_000


def test_both_texts_can_be_rebuilt_from_the_comparison() -> None:
    before, after = "a\nb\nc\nd\ne\nf\ng", "a\nB\nc\nd\nx\ne\nf"

    compared = changes(before, after)

    assert side(compared, "same", "removed") == before.split("\n")
    assert side(compared, "same", "added") == after.split("\n")


def test_hidden_characters_are_named() -> None:
    assert side(changes("pay 10", "pay \u202e01"), "added") == ["pay ⟨U+202E⟩01"]


@pytest.mark.parametrize("character", "\r\x0b\x0c\x1e\x85\u2028\u2029")
def test_no_other_character_than_a_line_feed_begins_a_line(character: str) -> None:
    """A line of the new text used to appear as a line of the old text, and was not marked as
    added."""
    name = f"⟨U+{ord(character):04X}⟩"

    compared = changes("pay 10\n", f"pay 10{character}pay 90\n")

    assert side(compared, "removed", "same") == ["pay 10"]
    assert side(compared, "added") == [f"pay 10{name}pay 90"]


@pytest.mark.parametrize(("before", "after"), [("a\r\nb", "a\nb"), ("a\r\n", "a\n"), ("", "\r")])
def test_a_carriage_return_is_part_of_its_line(before: str, after: str) -> None:
    compared = changes(before, after)

    assert [text for text in side(compared, "removed", "added") if "⟨U+000D⟩" in text]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("a", "a\n", ["Only the text after the change ends with a line break"]),
        ("a\n", "b", ["Only the text before the change ends with a line break"]),
        ("", "\n", ["Only the text after the change ends with a line break"]),
        ("a\n", "b\n", []),
        ("", "b\n", []),
    ],
)
def test_a_line_break_at_the_end_of_one_text_is_named(
    before: str, after: str, words: list[str]
) -> None:
    assert side(changes(before, after), "gap") == words


def test_changes_are_marked_by_word_or_else_by_letter() -> None:
    truth, chinese = changes("is true", "is false"), changes("今天很好", "今天不好")

    assert (True, "false") in truth.lines[1].parts
    assert (True, "不") in chinese.lines[1].parts


def test_long_lines_are_replaced_as_a_whole() -> None:
    compared = changes(*HOSTILE["many words on two lines"])

    assert [[changed for changed, _ in line.parts] for line in compared.lines] == [[False], [False]]


def test_texts_of_one_repeated_letter_are_compared_at_once() -> None:
    """diff-match-patch took minutes to look for a half of each text."""
    middle = "!" * 500_000

    share = share_changed(f"x{middle}y", f"z{middle}w", budget=StepBudget())

    assert share == 4 / 1_000_004
