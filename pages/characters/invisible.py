"""Makes invisible parts of a text visible: characters without a picture, and letters that look like
others.

Characters stay unchanged if writing needs them and they cannot hide anything:

- Joiners stay between emoji, and between letters of scripts that join. A variation selector stays
  after an emoji.
- One no-break or thin space stays between letters, digits and the marks of typography, as in
  `10 000 €` and `« oui »`, but not in code, where it joins two words into one.
- Up to four marks of Latin, Greek and Cyrillic stay on a letter, and six of other scripts.
- Up to ten empty lines stay.
- One or two ideographic spaces stay beside Chinese, Japanese and Korean letters, but not in code.
- Spaces and tabs stay inside a line. At the end of a line they stay in prose only (`reveal`), not
  in a value or code (`reveal_value`).
"""

import re

from pages.characters.invisible_ranges import BLANKS, HIDDEN, MARKS
from pages.characters.look_alike_marks import mark_look_alikes

EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
JOINING = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f"
TYPOGRAPHY = r"\w.,:;!?%‰°€£¥$«»„“”’()\[\]§№–—−…"  # noqa: RUF001 - real marks
CJK = "\u3001-\u30ff\u3105-\u312f\u3400-\u9fff\uac00-\ud7a3\uff01-\uff60"
STACKING = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
LONG = 20  # longer mixed runs are counted, because naming each character made pages of megabytes
KINDS_NAMED = 4
TALLEST = 4  # more marks on one letter hide their neighbours
TALLEST_ELSEWHERE = 6  # Burmese needs five marks, and six Thai marks reach the next line
EMPTY_LINES = 10  # text after more empty lines is out of sight

_NEEDED = (
    rf"(?<=[{EMOJI}\ufe0f])\u200d(?=[{EMOJI}])"
    rf"|(?<=[{EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{JOINING}])[\u200c\u200d](?=[{JOINING}])"
)
_SPACING = (
    rf"(?<=[{TYPOGRAPHY}])[\u00a0\u2009\u202f](?=[{TYPOGRAPHY}])"
    rf"|(?:(?<=[{CJK}])|(?<![^\n]))\u3000{{1,2}}(?=[{CJK}\w])|(?<=\w)\u3000{{1,2}}(?=[{CJK}])"
)
_LINES = rf"\n(?:[ \t]*\r?\n){{{EMPTY_LINES + 1},}}"
_RUNS = (
    rf"(?P<lines>{_LINES})"
    rf"|(?P<mixed>[{HIDDEN}{BLANKS}]{{{LONG},}}|[{STACKING}]{{{TALLEST + 1},}}"
    rf"|[{MARKS}]{{{TALLEST_ELSEWHERE + 1},}})"
    rf"|(?P<hidden>[{HIDDEN}{BLANKS}]|\r(?!\n))(?P=hidden)*"
)
_IN_TEXT = re.compile(rf"(?P<needed>{_NEEDED}|{_SPACING})|{_RUNS}")
_IN_CODE = re.compile(rf"(?P<needed>{_NEEDED})|{_RUNS}")
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f]|{_LINES}")
_ANY = re.compile(rf"[\r{HIDDEN}{BLANKS}{STACKING}]|[{MARKS}]{{{TALLEST_ELSEWHERE + 1}}}|{_LINES}")
_ENDS_OF_LINES = re.compile(r"(?<![ \t])[ \t]+(?=\r?\n|\Z)")
_ENDS_OF_VALUE = re.compile(r"\A[ \t\r\n]+|(?<![ \t\r\n])[ \t\r\n]+\Z|\t+")
_IS_HIDDEN = re.compile(f"[{HIDDEN}{BLANKS}]")


def reveal(text: str, *, is_code: bool = False) -> str:
    """Replaces each invisible character by its code, such as `⟨U+202E⟩`, and twelve equal ones in a
    row by `⟨12 U+200B⟩`. Adds `⟨Latin and Cyrillic letters⟩` to a word that looks like a different
    word.

    A long run of different characters becomes `⟨30 U+200B U+200C⟩`. Revealing a text twice changes
    nothing.
    """
    named = name_invisible(text, is_code=is_code)
    return named if named.isascii() else mark_look_alikes(named)


def reveal_value(text: str, *, is_code: bool = False) -> str:
    """Performs `reveal`, and also names the blanks that a page cannot show: the blanks at the
    end of each line. In a value of one line, also names tabs, the blanks before the value, and the
    line break after the value.

    In a value of several lines, and in code, people see line breaks and the blanks before a line.
    The one exception is a line break that ends the last line.
    """
    revealed = reveal(text, is_code=is_code)
    is_one_line = not is_code and "\n" not in revealed.strip()
    return (_ENDS_OF_VALUE if is_one_line else _ENDS_OF_LINES).sub(_name_run, revealed)


def name_invisible(text: str, *, is_code: bool = False) -> str:
    """Performs the part of `reveal` for characters without a picture."""
    any_hidden = _CONTROL if text.isascii() else _ANY
    if not any_hidden.search(text):
        return text
    return (_IN_CODE if is_code else _IN_TEXT).sub(_name, text)


def is_hidden(character: str) -> bool:
    return bool(_IS_HIDDEN.match(character))


def _name(match: re.Match[str]) -> str:
    if match["needed"]:
        return match[0]
    if match["lines"]:
        return f"\n⟨{match[0].count(chr(10)):,} line breaks⟩\n"
    return _name_run(match)


def _name_run(match: re.Match[str]) -> str:
    times = f"{len(match[0]):,} " if len(match[0]) > 1 else ""
    kinds = [f"U+{ord(character):04X}" for character in dict.fromkeys(match[0])]
    more = " …" if len(kinds) > KINDS_NAMED else ""
    return f"⟨{times}{' '.join(kinds[:KINDS_NAMED])}{more}⟩"
