"""Compares ids as people see them, because letters of different scripts can look the same
(docs/decisions/0026-look-alike-ids.md)."""

from __future__ import annotations

import unicodedata

# Scripts that East Asian languages mix (UTS 39, "highly restrictive"), and characters that are used
# everywhere.
MIXED_FREELY = {"Cjk", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Ideographic", "Modifier"}

# Letters that most fonts draw like Latin ones, after UTS 39's table of confusables. NFKC first
# folds characters with a compatibility mapping (full width, mathematical, Roman numerals).
LATIN_LOOK_ALIKES = {
    **dict(zip("аԁеһіјкӏорԛѕсуԝхѵ", "adehijklopqscywxv", strict=True)),
    **dict(zip("АВЕНІЈКМОРЅСТУԜХѴ", "ABEHIJKMOPSCTYWXV", strict=True)),  # noqa: RUF001 - Cyrillic
    **dict(zip("αγικνορςσυχ", "ayikvopcoux", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ", "ABEZHIKMNOPTYXCj", strict=True)),  # noqa: RUF001 - Greek
    **dict(zip("ցհոօսզՏ", "ghnouqS", strict=True)),  # noqa: RUF001 - Armenian
    **dict(zip("ɑɡıɩʋᴏᴄᴜᴠᴡᴢ", "agiivocuvwz", strict=True)),  # noqa: RUF001 - Latin, but not ASCII
    **dict(zip("ᴀʙᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴘʀꜱᴛʏ", "ABDEFGHiJkLMNPRsTY", strict=True)),  # small capitals
}
# Punctuation marks that ids use, and the characters that look like them. Invisible variation
# selectors are removed.
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
    """Returns equal texts for texts that look the same. The result is not for display."""
    text = _folded(text).translate(_SAME_LOOK)
    for pair, one in _ONE_FOR_TWO:
        text = text.replace(pair, one)
    return " ".join(text.split())  # a page shows many spaces as one


def label_look(label: str) -> str:
    """Returns equal texts for labels and names that look the same. Case does not count, and
    `amount_due` counts as `Amount due`."""
    # Compared in lower case: "rn" looks like "m", but "RN" does not look like "M".
    seen = look(look(label).casefold())
    return " ".join(seen.replace("_", " ").replace("-", " ").split())


def looks_like_ascii(text: str) -> bool:
    """Returns whether a reader may mistake all letters for ASCII."""
    return _folded(text).translate(_LOOKS_LATIN).isascii()


def _folded(text: str) -> str:
    """Returns the text in NFKC, but turns U+03F9, which looks like a C, into a sigma."""
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
    """Returns the scripts other than Latin in a text that a reader may take for Latin. A reader may
    do so if some letters of the text are Latin, or if all of them look Latin."""
    if text.isascii():
        return []
    used = scripts(text)
    letters = "".join(filter(str.isalpha, look(text)))
    looks_latin = bool(letters) and letters.isascii()
    if not looks_latin and not (mixes_scripts(text) and "Latin" in used):
        return []
    return [script for script in used if script != "Latin"]
