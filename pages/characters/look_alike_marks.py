"""Marks hosts, paths and words of a text whose letters look like letters of another script.

Only words that a reader would take for ASCII are marked, so Russian and Greek prose stays
unchanged. A host or a word of Latin letters is marked if it also has a Cyrillic letter. In a path,
an option or an identifier, a word of foreign letters that all look Latin is also marked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pages.characters.hosts import UNREADABLE, ascii_host
from pages.characters.look_alikes import LATIN_LOOK_ALIKES, MIXED_FREELY, looks_like_ascii, scripts

SHORTEST = 3  # shorter words are often formulas of a Latin letter and a Greek one
SHORTEST_TOP = 2  # letters of a top-level domain
LONGEST = 253  # letters of a host name; only the beginning of a longer word is read
MAX_NAMED = 300  # marks with names in one text; more names would need megabytes
SHORT_MARK = "⟨…⟩"
MAX_REMEMBERED = 1000

# Greek, Cyrillic, Armenian, Cherokee, Coptic and Lisu, and other letters that look Latin.
_FOREIGN = (
    "\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u2c80-\u2cff\ua4d0-\ua4ff\ua640-\ua69f\uab70-\uabbf"
    + "".join(LATIN_LOOK_ALIKES)
)
_OF_TURKISH = "\u0131"  # the dotless i, which ordinary words may have
_NEVER_MIXED = {"Cherokee", "Coptic", "Lisu"}
_LETTER = r"[^\W\d_]"
# A word of only foreign letters is prose if none of these characters stands before it.
_TOKEN = re.compile(r"(?<!\S)(?:[./~$\"'`(=-]|[^\sA-Za-z_]*+[A-Za-z_])\S*+")
_NOT_ASCII_AHEAD = rf"(?=[!-~]{{0,{LONGEST}}}+[^\x00-\x7f])"
_SUSPECT = re.compile(
    rf"(?P<host>(?<![\w.-]){_NOT_ASCII_AHEAD}[\w-]{{1,63}}+(?:\.[\w-]{{1,63}}+)++)"
    rf"|(?P<path>(?<![^\s\"'`(=])(?:\.{{0,2}}/|~/|--|\$)\S++)"
    rf"|(?P<identifier>(?<!\w)[^\W_]*+_\w*+)"
    rf"|(?P<word>(?<!{_LETTER}){_LETTER}*?(?:[A-Za-z][{_FOREIGN}]|[{_FOREIGN}][A-Za-z]){_LETTER}*+)"
)
_ANY = re.compile(f"[{_FOREIGN}]")
_WORD = re.compile(rf"{_LETTER}+")
# ASCII letters that look like Cyrillic or Greek letters, in a word that is mostly Cyrillic or
# Greek.
_LIKE_FOREIGN = frozenset("aehijklopqscywxvABEHIJKMOPSCTYXZN")


def mark_look_alikes(text: str) -> str:
    if not _ANY.search(text):
        return text
    pieces, done = [], 0
    for number, (end, mark) in enumerate(_marks(text)):
        pieces += [text[done:end], mark if number < MAX_NAMED else SHORT_MARK]
        done = end
    return "".join([*pieces, text[done:]])


def _marks(text: str) -> Iterator[tuple[int, str]]:
    """Yields each mark with its place, but leaves out a mark that the text already has in that
    place. Marks are cached only for this text, because a cache of the process would keep words that
    retention has erased."""
    of_host = lru_cache(MAX_REMEMBERED)(_mark_of_host)
    of_word = lru_cache(MAX_REMEMBERED)(_mark_of_word)
    for token in _TOKEN.finditer(text):
        if token[0].isascii():
            continue
        for match in _SUSPECT.finditer(text, *token.span()):
            for end, mark in _marks_of(match, of_host, of_word):
                if mark and not text.startswith(mark, end):
                    yield end, mark


def _marks_of(
    match: re.Match[str], of_host: Callable[[str], str], of_word: Callable[..., str]
) -> Iterator[tuple[int, str]]:
    if match[0].isascii():
        return
    if match["host"] and (mark := of_host(match[0])):
        yield match.end(), mark
        return
    is_name = not match["word"]
    for word in _WORD.finditer(match.string, *match.span()):
        yield word.end(), of_word(word[0], is_name=is_name)


def _mark_of_host(host: str) -> str:
    last = host.rpartition(".")[2]
    if len(last) < SHORTEST_TOP or not last[0].isalpha():
        return ""
    if not (looks_like_ascii(host) and re.search("[A-Za-z]", host)):
        return ""
    opened = ascii_host(host)
    return f"⟨{_letters(host)}⟩" if opened == UNREADABLE else f"⟨{_letters(host)}: {opened}⟩"


def _mark_of_word(word: str, *, is_name: bool) -> str:
    """Returns the mark of a word. In a path or an identifier, a word is also marked if it has only
    foreign letters that all look Latin."""
    if word.isascii() or len(word) < (2 if is_name else SHORTEST):
        return ""
    used = [script for script in scripts(word[:LONGEST]) if script not in MIXED_FREELY]
    is_mixed = len(used) > 1
    if not (is_mixed or is_name or used == ["Latin"]):
        return ""
    if not is_name and word.replace(_OF_TURKISH, "i").isascii():
        return ""
    if looks_like_ascii(word) or (is_mixed and _NEVER_MIXED & set(used)):
        return f"⟨{_letters(word)}⟩"
    if not is_mixed or "Latin" not in used:
        return ""
    ascii_letters = [letter for letter in word if letter.isascii()]
    are_few = 2 * len(ascii_letters) < len(word)
    return f"⟨{_letters(word)}⟩" if are_few and _LIKE_FOREIGN.issuperset(ascii_letters) else ""


def _letters(text: str) -> str:
    """Returns `Latin and Cyrillic letters`; the characters themselves if all are Latin."""
    used = scripts(text[:LONGEST])
    if used == ["Latin"]:
        odd = dict.fromkeys(letter for letter in text if not letter.isascii())
        return " ".join(f"U+{ord(letter):04X}" for letter in odd)
    return f"{' and '.join(used)} letters"
