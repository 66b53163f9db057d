"""The lines that a page calls added or removed are the lines that `git apply` adds or removes.

Python's `splitlines` breaks lines where git does not, so a page used to show added code as removed
or unchanged. A hunk with wrong counts showed lines that git leaves out.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, given, settings

from inbox.rendering.diffs.diff_html import diff_html
from inbox.rendering.diffs.unified_diffs import unified
from inbox.rendering.diffs.word_diffs import Changes
from pages.characters.invisible import reveal, reveal_value
from tests.integrity.patches import NO_NEWLINE, honest_patches, tampered_patches

pytestmark = pytest.mark.once

HEADER = "--- a/x\n+++ b/x\n"
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(slots=True)
class Side:
    """Holds one file as it is before or after the patch, according to a page."""

    name: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def path(self) -> str:
        return "" if self.name == "/dev/null" else self.name[2:]

    @property
    def text(self) -> str:
        return "".join(self.lines)


def sides(text: str, page: Changes) -> Iterator[tuple[Side, Side]]:
    """Yields each file before and after the patch. Lines that no hunk has are made up."""
    before, after, last = Side(), Side(), ""
    sources = text.removesuffix("\n").split("\n")
    for line, source in zip(page.lines, sources, strict=True):
        if line.kind == "file" and source.startswith("--- "):
            if after.name:
                yield before, after
            before, after = Side(source[4:].split("\t")[0].rstrip("\r")), Side()
        elif line.kind == "file" and source.startswith("+++ "):
            after.name = source[4:].split("\t")[0].rstrip("\r")
        elif line.kind == "gap" and source.startswith("@@"):
            old, new = source.split()[1:3]
            missing = lines_above(old) - len(before.lines)
            assume(0 <= missing < 100 * bool(before.path) + 1)
            # git looks for the lines near the new place first. Both numbers are in sight.
            assume(missing == lines_above(new) - len(after.lines))
            made_up = [f"line {number}\n" for number in range(missing)]
            before.lines += made_up
            after.lines += made_up
        elif line.kind == "gap":
            for side, kind in ((before, "removed"), (after, "added")):
                if last in {"same", kind}:
                    side.lines[-1] = side.lines[-1].removesuffix("\n")
        else:
            before.lines += [f"{source[1:]}\n"] if line.kind in {"same", "removed"} else []
            after.lines += [f"{source[1:]}\n"] if line.kind in {"same", "added"} else []
        last = line.kind
    yield before, after


def lines_above(place: str) -> int:
    """Returns how many lines stand above a hunk: 2 for `-3,4`, and 3 for `-3,0`, which adds lines
    after the third line."""
    begins, _, count = place[1:].partition(",")
    return int(begins) - (count != "0")


def apply(folder: Path, text: str) -> bool:
    """Returns whether git applied the patch, at the places that the patch names."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"],  # noqa: S607
        cwd=folder,
        env={**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def says_the_same_as_git(text: str, page: Changes) -> bool:
    """Applies the patch to the files that the page shows as old. Returns whether git applied the
    patch, and made the files that the page shows as new."""
    files = list(sides(text, page))
    paths = [before.path or after.path for before, after in files]
    assume(len(set(paths)) == len(paths))
    for before, after in files:  # git chooses one of two names; both are in sight
        assume(before.name and after.name)
        assume(before.path == after.path or not (before.path and after.path))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for before, _ in files:
            if before.path:
                (folder / before.path).parent.mkdir(parents=True, exist_ok=True)
                (folder / before.path).write_bytes(before.text.encode())
        if not apply(folder, text):
            return False
        for before, after in files:
            path = folder / (after.path or before.path)
            if after.path:
                assert path.read_bytes().decode() == after.text
            else:
                assert not path.exists()
    return True


@given(honest_patches())
@settings(max_examples=150)
def test_an_honest_patch_is_shown_as_git_applies_it(text: str) -> None:
    page = unified(text)
    assume(page is not None)

    assert page is not None
    assert not page.problem
    assert says_the_same_as_git(text, page)


@given(tampered_patches())
@settings(max_examples=300, suppress_health_check=[HealthCheck.filter_too_much])
def test_no_patch_shows_other_lines_than_git_applies(text: str) -> None:
    page = unified(text)
    assume(page is not None and not page.problem)

    assert page is not None
    says_the_same_as_git(text, page)


@given(tampered_patches())
def test_every_line_of_a_patch_is_in_sight(text: str) -> None:
    page = unified(text)
    assume(page is not None)

    assert page is not None
    for line, source in zip(page.lines, text.removesuffix("\n").split("\n"), strict=True):
        words = "".join(part for _, part in line.parts)
        unsigned = {"added": "+", "removed": "-", "same": " "}.get(line.kind, "")
        if line.kind == "gap" and source.startswith("\\"):
            source, words = source[1:].strip(" "), words.strip(" ")
        names = reveal if line.kind == "file" else reveal_value
        assert words == names(source.removeprefix(unsigned), is_code=True)


@pytest.mark.parametrize(
    "text",
    [
        *(f"{HEADER}@@ -1 +1 @@\n-a\n+b\n{more}\n" for more in ("+c", " c", "-c", "\\")),
        f"{HEADER}@@ -1 +1 @@\n-a\n+b\n{NO_NEWLINE}{NO_NEWLINE}",
        f"{HEADER}@@ -1,2 +1,2 @@\n-a\n+b\n",
        f"{HEADER}@@ -1 +1,2 @@\n-a\n+b\n{HEADER}@@ -5 +5 @@\n-a\n+b\n",
        f"{HEADER}@@ -1 +1 @@\n same\n",
        f"{HEADER}@@ -0,0 +0,0 @@\n",
        f"{HEADER}@@ -1 +1,2 @@\n-a\n+one\n{NO_NEWLINE}+two\n",
        f"{HEADER}@@ -1,2 +1 @@\n-one\n{NO_NEWLINE}-two\n+b\n",
        f"{HEADER}@@ -1,2 +1,2 @@\n-one\n+two\n{NO_NEWLINE} same\n",
        f"{HEADER}@@ -1 +1 @@\n{NO_NEWLINE}-a\n+b\n",
        f"{HEADER}@@ -1,2 +1 @@\n-a\ndiff --git a/y b/y\n+b\n",
        f"{HEADER}@@ -\u0661 +1 @@\n@@ -1 +1 @@\n-a\n+b\n",
        f"{HEADER}@@ -1 +1,18446744073709551617 @@\n-a\n+b\n",
        f"{HEADER}{HEADER}@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/safe b/safe\n--- a/evil\n+++ b/evil\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n- a\n -b\n++c\n",
        "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n",
    ],
)
def test_a_patch_that_does_not_add_up_is_text_with_a_sentence(text: str) -> None:
    page = unified(text)

    assert page is not None
    assert page.problem
    assert {line.kind for line in page.lines} == {"text"}
    assert [line.parts[0][1] for line in page.lines] == text.removesuffix("\n").split("\n")
    assert page.problem in str(diff_html(page, label="Changes"))


@pytest.mark.parametrize("character", "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
def test_no_other_character_begins_a_line(character: str) -> None:
    text = f"{HEADER}@@ -1 +1 @@\n-a{character}+b\n+c{character}\n"
    page = unified(text)

    assert page is not None
    assert [line.kind for line in page.lines][3:] == ["removed", "added"]
    assert page.lines[3].parts == [(False, f"a⟨U+{ord(character):04X}⟩+b")]
    assert page.lines[4].parts == [(False, f"c⟨U+{ord(character):04X}⟩")]


def test_modes_renames_and_text_around_a_patch_are_in_sight() -> None:
    header = "diff --git a/x b/y\nold mode 100644\nnew mode 100755\nrename from x\nrename to y\n"
    page = unified(f"Subject: - one\n+two\n\n{header}-- \n2.39.5\n")

    assert page is not None
    assert not page.problem
    assert [(line.kind, line.parts[0][1]) for line in page.lines] == [
        ("note", "Subject: - one"),
        ("note", "+two"),
        ("file", ""),
        *(("file", line) for line in header.splitlines()),
        ("note", "--⟨U+0020⟩"),
        ("note", "2.39.5"),
    ]


def test_a_patch_in_a_fence_is_markdown() -> None:
    patch = f"{HEADER}@@ -1 +1 @@\n-a\n+b\n"

    assert unified(f"# Why\n\n```diff\n{patch}```\n") is None
    assert unified(f"# Why\n\n```diff\n{patch}```\n{patch}") is not None
