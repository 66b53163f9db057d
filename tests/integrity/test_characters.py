"""A page names every character that a reader cannot see, and marks letters that look like others.

A blank of Braille, a hieroglyph's control or a no-break space in a command used to have no mark,
and a host with a Cyrillic letter had a mark only in links.
"""

from __future__ import annotations

import cProfile
import json
import sys
import unicodedata

import pytest

from inbox.rendering.details import formatted, render
from pages.characters import write_invisible_ranges as ranges
from pages.characters.invisible import reveal, reveal_value
from pages.characters.look_alike_marks import mark_look_alikes
from pages.characters.look_alikes import LATIN_LOOK_ALIKES

pytestmark = pytest.mark.once

KEPT = {" ", "\t", "\n"}
CYRILLIC_A, HOST = "\u0430", "xn--pypal-4ve.com"


def characters(*categories: str) -> list[str]:
    return [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in categories
    ]


@pytest.mark.parametrize("category", ["Cc", "Cf", "Zl", "Zp", "Zs"])
def test_every_character_of_these_categories_is_named(category: str) -> None:
    """Python's Unicode data can be newer or older than the table."""
    drawn = {chr(code) for first, last in ranges.DRAWN_FORMATS for code in range(first, last + 1)}

    for character in characters(category):
        named = f"a⟨U+{ord(character):04X}⟩b"
        assert reveal(f"a{character}b", is_code=True) == (
            f"a{character}b" if character in drawn | KEPT else named
        )


@pytest.mark.parametrize(
    "code", [0x2800, 0xFFFC, 0x13430, 0x1343F, 0x13441, 0x16FE4, 0xFDD0, 0x2065]
)
def test_a_character_without_a_picture_is_named(code: int) -> None:
    assert reveal(f"a{chr(code)}b") == f"a⟨U+{code:04X}⟩b"


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("Default_Ignorable_Code_Point", ranges.DEFAULT_IGNORABLE),
        ("Prepended_Concatenation_Mark", ranges.DRAWN_FORMATS),
        ("Noncharacter_Code_Point", ranges.NONCHARACTERS),
    ],
)
def test_the_facts_are_those_of_unicode(name: str, facts: tuple[tuple[int, int], ...]) -> None:
    regex = pytest.importorskip("regex")

    codes = {code for first, last in facts for code in range(first, last + 1)}
    everything = "".join(map(chr, range(sys.maxunicode + 1)))

    assert codes == set(map(ord, regex.findall(rf"\p{{{name}}}", everything)))


def test_the_table_is_what_its_script_writes() -> None:
    assert ranges.TABLE.read_text() == ranges.table()
    assert ranges.TABLE_OF_CLIENT.read_text() == ranges.table()


@pytest.mark.parametrize(
    "text",
    [
        "Le prix est de 10\u202f000\u00a0€\u00a0: «\u00a0oui\u00a0»\u202f!",
        "z.\u00a0B. am 5.\u00a0Mai, 5\u2009mm",
        "слово\u00a0— слово",
        "\u3000\u3000部署版本\u3000第3\u3000章",
    ],
)
def test_blanks_of_typography_stay_in_prose(text: str) -> None:
    assert reveal(text) == text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rm\u00a0-rf", "rm⟨U+00A0⟩-rf"),
        ("a\u00a0\u00a0b", "a⟨2 U+00A0⟩b"),
        ("a\u00a0\nb", "a⟨U+00A0⟩\nb"),
        ("a\u2003b", "a⟨U+2003⟩b"),
        ("a\u3000b", "a⟨U+3000⟩b"),
        ("部署" + "\u3000" * 30 + "x", "部署⟨30 U+3000⟩x"),
        ("one\rtwo\r\nthree", "one⟨U+000D⟩two\r\nthree"),
        ("a" + "\u0335" * 30, "a⟨30 U+0335⟩"),
        ("e\u0302\u0301", "e\u0302\u0301"),
    ],
)
def test_other_blanks_returns_and_stacks_of_marks_are_named(text: str, named: str) -> None:
    assert reveal(text) == named


@pytest.mark.parametrize("text", ["`a\u00a0b`", "```sh\na\u00a0b\n```", "    a\u00a0b"])
def test_a_no_break_space_in_code_is_named(text: str) -> None:
    assert "a⟨U+00A0⟩b" in formatted(text)
    assert "a\u00a0b" in formatted("a\u00a0b")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (f"visit p{CYRILLIC_A}ypal.com now", f"⟨Latin and Cyrillic letters: {HOST}⟩ now"),
        (f"curl https://p{CYRILLIC_A}ypal.com/x", f"⟨Latin and Cyrillic letters: {HOST}⟩/x"),
        (f"mail me@p{CYRILLIC_A}ypal.com", f"⟨Latin and Cyrillic letters: {HOST}⟩"),
        ("\u0430\u0440\u0440\u04cf\u0435.com", "⟨Cyrillic and Latin letters: xn--80ak6aa92e.com⟩"),
        ("see \u0430\u0440\u0440\u04cf\u0435.com.", "xn--80ak6aa92e.com⟩."),
        ("(\u0430\u0440\u0440\u04cf\u0435.com)", "xn--80ak6aa92e.com⟩)"),
        ("v1.0\u0430bc", "\u0430bc⟨Cyrillic and Latin letters⟩"),
        ("p\u0251ypal.com", "⟨U+0251: xn--pypal-0jc.com⟩"),
        ("rm -rf ./\u0441ache/x", "\u0441ache⟨Cyrillic and Latin letters⟩/x"),
        ("rm -rf ./\u0441\u043e\u0440", "⟨Cyrillic letters⟩"),
        ("--f\u043er\u0441e", "⟨Latin and Cyrillic letters⟩"),
        ("\u0410\u0420\u0406_key", "⟨Cyrillic letters⟩_key"),
        ("\u043e\u0442\u0447e\u0442.txt", "⟨Cyrillic and Latin letters⟩.txt"),
    ],
)
def test_hosts_and_names_of_two_scripts_are_marked(text: str, marked: str) -> None:
    assert marked in reveal(text)
    assert reveal(reveal(text)) == reveal(text)
    assert reveal(text.replace(" ", "⟨…⟩ ")) != text.replace(" ", "⟨…⟩ ")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("clone g\u0131thub.com", "g\u0131thub.com⟨U+0131: xn--gthub-n4a.com⟩"),
        ("curl https://g\u0131thub.com/x", "⟨U+0131: xn--gthub-n4a.com⟩/x"),
        ("rm ./f\u0131les", "f\u0131les⟨U+0131⟩"),
        ("visit p\u1d00ypal.com", "⟨U+1D00: "),
        ("the word p\u1d00ypal", "p\u1d00ypal⟨U+1D00⟩"),
    ],
)
def test_latin_letters_that_look_like_ascii_are_marked(text: str, marked: str) -> None:
    """The table of look-alikes had these letters, but Wake looked only for other scripts."""
    assert marked in reveal(text)


@pytest.mark.parametrize("letter", LATIN_LOOK_ALIKES)
def test_every_known_look_alike_is_marked_inside_a_host(letter: str) -> None:
    assert f"xy{letter}z.com⟨" in reveal(f"see xy{letter}z.com")
    assert f"xy{letter}z.com⟨" in reveal(f"https://xy{letter}z.com/x")


def test_a_word_is_looked_at_once_in_a_text() -> None:
    """A name of 200 kB used to take a second."""
    text = f"p{CYRILLIC_A}ypal.com and p{CYRILLIC_A}ypal " * 50
    calls = cProfile.Profile()

    marked = calls.runcall(mark_look_alikes, text)

    assert marked.count("⟨") == 100
    assert sum(call.callcount for call in calls.getstats() if "scripts" in str(call.code)) < 10


@pytest.mark.parametrize(
    "name", [f"{CYRILLIC_A}mount_due", f"{CYRILLIC_A}mount due", f"p{CYRILLIC_A}y"]
)
def test_a_name_is_marked_once(name: str) -> None:
    rendered = render(json.dumps({name: 1}))

    assert rendered is not None
    assert rendered.html.count("Cyrillic") == 1


@pytest.mark.parametrize(
    "text",
    [
        "Kapı açıldı: Yıldız, ışık, sınır.",  # noqa: RUF001
        "Развёртывание версии ждёт: см. README.md, docs/a.txt и API-ключ; т.е. р/с, ха-ха.",  # noqa: RUF001
        "СМС/email, ОС/Linux, ТВ-box, pushнуть, iOSник, 3D-модель",  # noqa: RUF001
        "Η Μακεδονία, το API και το Linux: 5 μm, 3 kΩ, Δt, αx",  # noqa: RUF001
        "部署版本2.3: Windows版, Tシャツ, münchen.de, straße",
    ],
)
def test_prose_of_other_scripts_has_no_marks(text: str) -> None:
    assert reveal(text) == text


@pytest.mark.parametrize(
    "details",
    [
        f"Pay p{CYRILLIC_A}ypal.com",
        f"`curl p{CYRILLIC_A}ypal.com`",
        f"```sh\ncurl https://p{CYRILLIC_A}ypal.com/x\n```",
        {"to": f"p{CYRILLIC_A}ypal.com"},
        {"wake_blocks": 1, "blocks": [{"type": "code", "text": f"ssh p{CYRILLIC_A}ypal.com"}]},
        {"wake_blocks": 1, "blocks": [{"type": "text", "text": f"p{CYRILLIC_A}ypal.com"}]},
        {"wake_blocks": 1, "blocks": [{"type": "kv", "items": {"to": f"p{CYRILLIC_A}ypal.com"}}]},
        f"[pay](https://p{CYRILLIC_A}ypal.com)",
    ],
)
def test_a_host_that_looks_like_another_is_named_wherever_it_stands(details: object) -> None:
    rendered = render(json.dumps(details))

    assert rendered is not None
    assert HOST in rendered.html


@pytest.mark.parametrize("mark", ["\u0e47", "\u0f74", "\u05b8", "\u0741", "\u0939\u0941"[1:]])
def test_marks_of_no_script_reach_over_other_lines(mark: str) -> None:
    """A hundred Thai marks used to draw over the rows of other deliveries."""
    code = f"U+{ord(mark):04X}"

    assert reveal(f"a{mark * 100}b") == f"a⟨100 {code}⟩b"
    assert reveal(f"a{mark * 6}b") == f"a{mark * 6}b"


@pytest.mark.parametrize(
    ("between", "named"),
    [
        ("\n" * 300, "⟨300 line breaks⟩"),
        ("\n \t" * 50 + "\n", "⟨51 line breaks⟩"),
        ("\r\n" * 30, "⟨30 line breaks⟩"),
    ],
)
def test_empty_lines_move_nothing_out_of_sight(between: str, named: str) -> None:
    text = f"Run ls{between}and delete everything."
    fenced = formatted(f"```\n{text}\n```")

    assert named in reveal(text)
    assert named in reveal(text, is_code=True)
    assert named in fenced
    assert reveal(reveal(text)) == reveal(text)


def test_a_few_empty_lines_stay() -> None:
    text = "One.\n\n\n\n\n\n\n\n\nTwo."

    assert reveal(text) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("/data/x ", "/data/x⟨U+0020⟩"),
        ("  /data/x", "⟨2 U+0020⟩/data/x"),
        ("/data\t/x\t", "/data⟨U+0009⟩/x⟨U+0009⟩"),
        ("/data/x\n", "/data/x⟨U+000A⟩"),
        ("/data/x\u3000", "/data/x⟨U+3000⟩"),
        ("a  b", "a  b"),
        ("one \n  two\n", "one⟨U+0020⟩\n  two\n"),
    ],
)
def test_blanks_around_a_value_are_named(value: str, shown: str) -> None:
    assert reveal_value(value) == shown
    assert reveal_value(shown) == shown


def test_blanks_at_the_end_of_a_line_of_code_are_named() -> None:
    code = "  if a: \n\tb\t\r\n\n"

    assert reveal_value(code, is_code=True) == "  if a:⟨U+0020⟩\n\tb⟨U+0009⟩\r\n\n"
