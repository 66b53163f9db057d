"""Generates patches: honest ones of every kind that git writes, and tampered ones."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from hypothesis import strategies as st

NO_NEWLINE = "\\ No newline at end of file\n"
HOSTILE_LINES = st.sampled_from(
    [
        *("", " ", "-- a/x", "++ b/x", "- ", "+", "-", "--- a/file-0", "+++ b/file-0", "-- "),
        *("@@ -1 +1 @@", "diff --git a/x b/x", "new mode 100755", "\\ No newline at end of file"),
        *("one\r", "one\r+two", "one\x0b-two", "one\x0c+two", "one\x85+two", "one\u2028+two"),
        *("one\u2029-two", "one\x1c+two", "one\x1e two", "one\u202etwo", "\ttab", "\r"),
    ]
)
LINES = st.text("abcxyz (){};", max_size=8) | HOSTILE_LINES


@dataclass(frozen=True, slots=True)
class File:
    name: str
    before: list[str]
    after: list[str]
    ends_before: bool = True
    ends_after: bool = True


@st.composite
def files(draw: st.DrawFn, number: int = 0) -> File:
    before = draw(st.lists(LINES, max_size=12))
    after = list(before)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(after)))
        after[at : at + draw(st.integers(0, 3))] = draw(st.lists(LINES, max_size=3))
    name = draw(st.sampled_from(["file-{}", "a file-{}", "dir/file-{}"])).format(number)
    return File(name, before, after, draw(st.booleans()), draw(st.booleans()))


@st.composite
def honest_patches(draw: st.DrawFn) -> str:
    """Draws patches of one to three files, with text before and after them."""
    changed = [
        file
        for number in range(draw(st.integers(1, 3)))
        if _text(file := draw(files(number))) != _text(file, after=True)
    ]
    context = draw(st.integers(0, 3))
    style = draw(st.sampled_from([_git_header, _git_header, _plain_header]))
    mode = draw(st.booleans())
    parts = [style(file, mode) + hunks(file, context) for file in changed]
    before = draw(st.sampled_from(["", "", "\n", MAIL, "Please apply - this:\n\n- one\n+ two\n"]))
    return before + "".join(parts) + draw(st.sampled_from(["", "", "\n", "-- \n2.39.5\n"]))


MAIL = """\
From 1f2a9c0d Mon Sep 17 00:00:00 2001
From: Alice <alice@example.com>
Subject: [PATCH] Change it

---
 file-0 | 2 +-
 1 file changed, 1 insertion(+), 1 deletion(-)

"""
INSERTED = st.sampled_from(
    [
        *("+added\n", "-removed\n", " same\n", "\n", NO_NEWLINE, "\\ anything\n", "\\\n"),
        *("--- a/other\n", "+++ b/other\n", "diff --git a/other b/other\n", "words\n", "-- \n"),
        *("@@ -1 +1 @@\n", "@@ -1,0 +1,2 @@ text\n", "@@ -0,0 +1 @@\n", "@@ -\u0661 +1 @@\n"),
        *("@@@ -1 -1 +1 @@@\n", "new mode 100755\n", "GIT binary patch\n", "\r", "\x0b", "\u2028"),
    ]
)


@st.composite
def tampered_patches(draw: st.DrawFn) -> str:
    """Draws honest patches with up to three lines that were inserted, removed, doubled or
    changed."""
    lines = draw(honest_patches()).split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                lines.insert(at, draw(INSERTED).removesuffix("\n"))
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                lines.insert(at, lines[at])
            case 3:
                lines[at] = draw(st.sampled_from([" ", "+", "-", "\\ ", "\r"])) + lines[at][1:]
            case _:
                digits = [place for place, letter in enumerate(lines[at]) if letter in "0123456789"]
                if digits and lines[at].startswith("@@ "):
                    place = draw(st.sampled_from(digits))
                    digit = draw(st.sampled_from("0123459"))
                    lines[at] = lines[at][:place] + digit + lines[at][place + 1 :]
    return "\n".join(lines)


PATCHES = honest_patches() | tampered_patches()


def _text(file: File, *, after: bool = False) -> str:
    lines, ends = (file.after, file.ends_after) if after else (file.before, file.ends_before)
    return "\n".join(lines) + ("\n" if lines and ends else "")


def _content(text: str) -> list[str]:
    """Returns the lines with their line ends. The last line may have no line end."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _git_header(file: File, mode: bool) -> str:
    before, after = _text(file), _text(file, after=True)
    lines = [f"diff --git a/{file.name} b/{file.name}"]
    if not before:
        lines.append("new file mode 100644")
    elif not after:
        lines.append("deleted file mode 100644")
    elif mode:
        lines += ["old mode 100644", "new mode 100755"]
    lines.append("index 1f2a9c0..9c0d1f2")
    return "\n".join(lines) + "\n" + _names(file, before, after)


def _plain_header(file: File, mode: bool) -> str:
    return ("Index: x\n" if mode else "") + _names(file, _text(file), _text(file, after=True))


def _names(file: File, before: str, after: str) -> str:
    tab = "\t" if " " in file.name else ""
    old = f"a/{file.name}{tab}" if before else "/dev/null"
    new = f"b/{file.name}{tab}" if after else "/dev/null"
    return f"--- {old}\n+++ {new}\n"


def hunks(file: File, context: int) -> str:
    """Writes the hunks as `diff -U` does, with so many lines of context."""
    before, after = _content(_text(file)), _content(_text(file, after=True))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    written = []
    for group in matcher.get_grouped_opcodes(context):
        old = _range(group[0][1], group[-1][2])
        new = _range(group[0][3], group[-1][4])
        written.append(f"@@ -{old} +{new} @@ def some():\n")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                written += [_signed(" ", line) for line in before[old_from:old_to]]
                continue
            written += [_signed("-", line) for line in before[old_from:old_to]]
            written += [_signed("+", line) for line in after[new_from:new_to]]
    return "".join(written)


def _range(begins: int, ends: int) -> str:
    length = ends - begins
    return str(begins + 1) if length == 1 else f"{begins + bool(length)},{length}"


def _signed(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"
