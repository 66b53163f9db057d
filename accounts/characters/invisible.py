"""Makes invisible characters visible, which hide words from a reader or reverse them.

Joiners stay where writing needs them: between emoji, and between letters of scripts that join. So
does the variation selector after an emoji.
"""

import re

HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls other than tab and line breaks
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # soft hyphen, fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero width, directions
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variations and tags
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"  # of shorthand and of music
)
EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
JOINING = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f"
LONG = 20  # a mixed run of so many is counted, because naming each made a page of megabytes
KINDS_NAMED = 4
_HIDDEN = re.compile(
    rf"(?P<joiner>(?<=[{EMOJI}\ufe0f])\u200d(?=[{EMOJI}])"
    rf"|(?<=[{EMOJI}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=[{JOINING}])[\u200c\u200d](?=[{JOINING}]))"
    rf"|(?P<mixed>[{HIDDEN}]{{{LONG},}})"
    rf"|(?P<hidden>[{HIDDEN}]|\r(?!\n))(?P=hidden)*"
)


def reveal(text: str) -> str:
    """Replaces each invisible character by `⟨U+202E⟩`, and a run of one by `⟨12 U+200B⟩`.

    A long run of different ones becomes `⟨30 U+200B U+200C⟩`.
    """
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_name, text)


def _name(match: re.Match[str]) -> str:
    if match["joiner"]:
        return match[0]
    times = f"{len(match[0]):,} " if len(match[0]) > 1 else ""
    kinds = [f"U+{ord(character):04X}" for character in dict.fromkeys(match[0])]
    more = " …" if len(kinds) > KINDS_NAMED else ""
    return f"⟨{times}{' '.join(kinds[:KINDS_NAMED])}{more}⟩"
