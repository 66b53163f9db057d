"""Compares ids as people see them, because letters of different scripts can look the same
(docs/decisions/0026-look-alike-ids.md)."""

from __future__ import annotations

import unicodedata

# Written together with other scripts in East Asia (UTS 39, "highly restrictive"), or everywhere.
MIXED_FREELY = {"Cjk", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Ideographic", "Modifier"}

# Letters that most fonts draw like Latin ones, after UTS 39's table of confusables. Characters with
# a compatibility mapping (full width, mathematical, Roman numerals) are folded by NFKC before.
LATIN_LOOK_ALIKES = {
    **dict(zip("аԁеһіјкӏорԛѕсуԝхѵ", "adehijklopqscywxv", strict=True)),
    **dict(zip("АВЕНІЈКМОРЅСТУԜХѴ", "ABEHIJKMOPSCTYWXV", strict=True)),  # noqa: RUF001 - Cyrillic
    **dict(zip("αγικνορςσυχ", "ayikvopcoux", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ", "ABEZHIKMNOPTYXCj", strict=True)),  # noqa: RUF001 - Greek
    **dict(zip("ցհոօսզՏ", "ghnouqS", strict=True)),  # noqa: RUF001 - Armenian
    **dict(zip("ɑɡıɩʋᴏᴄᴜᴠᴡᴢ", "agiivocuvwz", strict=True)),  # noqa: RUF001 - Latin, but not ASCII
    **dict(zip("ᴀʙᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴘʀꜱᴛʏ", "ABDEFGHiJkLMNPRsTY", strict=True)),  # small capitals
}
# Marks that ids are made of, and others that look the same. Invisible variation selectors go.
_MARKS = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u02d7\u058a", "-"),
    **dict.fromkeys("\u2044\u2215\u29f8", "/"),
    **dict.fromkeys("\u02d0\u0589\u05c3\u2236\ua789", ":"),
    **dict.fromkeys("\u2018\u2019\u201b\u02b9\u02bb\u02bc\u02bd\u2032\ua78c", "'"),
    **dict.fromkeys("\u201a\u066b", ","),
    **dict.fromkeys("\u223c\u02dc", "~"),
    **{"\u02cd": "_", "\u2800": " ", "\ufe0e": "", "\ufe0f": ""},
}
_LOOKS_LATIN = str.maketrans(LATIN_LOOK_ALIKES)
_SAME_LOOK = str.maketrans({**LATIN_LOOK_ALIKES, **_MARKS, "I": "l", "1": "l", "|": "l", "0": "O"})
_ONE_FOR_TWO = (("rn", "m"), ("vv", "w"), ("VV", "W"))


def nfc(text: str) -> str:
    """Returns the text in its composed form, in which é is one character."""
    return unicodedata.normalize("NFC", text)


def look(text: str) -> str:
    """Returns the same text for texts that look the same. It is not for display."""
    text = _folded(text).translate(_SAME_LOOK)
    for pair, one in _ONE_FOR_TWO:
        text = text.replace(pair, one)
    return " ".join(text.split())  # a page shows many spaces as one


def label_look(label: str) -> str:
    """Returns the same text for labels and names that look the same where case does not count, and
    where `amount_due` is written as `Amount due`."""
    seen = look(look(label).casefold())  # a capital hides a pair: "RN" is not drawn like "M"
    return " ".join(seen.replace("_", " ").replace("-", " ").split())


def looks_like_ascii(text: str) -> bool:
    """Returns whether a reader may take all letters for those of ASCII."""
    return _folded(text).translate(_LOOKS_LATIN).isascii()


def _folded(text: str) -> str:
    """Returns NFKC of the text, except that it makes a sigma of U+03F9, which looks like a C."""
    return unicodedata.normalize("NFKC", text.replace("\u03f9", "C"))


def scripts(text: str) -> list[str]:
    """Returns the scripts of the letters, in order: `["Latin", "Cyrillic"]`."""
    names = (
        unicodedata.name(letter, "UNKNOWN").split(maxsplit=1)[0].split("-")[0]
        for letter in unicodedata.normalize("NFKC", text)
        if letter.isalpha()
    )
    return list(dict.fromkeys(name.capitalize() for name in names))


def mixes_scripts(text: str) -> bool:
    """Returns whether a text mixes letters of scripts that no language mixes."""
    return len([script for script in scripts(text) if script not in MIXED_FREELY]) > 1


def foreign_scripts(text: str) -> list[str]:
    """Returns the scripts besides Latin of a text that a reader may take for a Latin one: some of
    its letters are Latin, or all of them look so."""
    if text.isascii():
        return []
    used = scripts(text)
    letters = "".join(filter(str.isalpha, look(text)))
    looks_latin = bool(letters) and letters.isascii()
    if not looks_latin and not (mixes_scripts(text) and "Latin" in used):
        return []
    return [script for script in used if script != "Latin"]
