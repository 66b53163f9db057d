"""Details show unified diffs, and objects with `before` and `after`, as diffs."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from inbox.rendering.details import render
from inbox.rendering.diffs.unified_diffs import unified
from inbox.rendering.diffs.word_diffs import Changes

DIFF = """\
diff --git a/shop.py b/shop.py
index 1f2a..9c0d 100644
--- a/shop.py
+++ b/shop.py
@@ -1,3 +1,3 @@ def pay():
 basket.lock()
-sleep(1)
+wait_for("paid")
 return True
--- a/old.sql
+++ b/old.sql
@@ -1 +0,0 @@
--- a comment that went
\\ No newline at end of file
"""


def html(value: Any) -> str:
    details = render(json.dumps(value))
    assert details is not None
    return details.html


def lines(details: Changes | None) -> list[tuple[str, str]]:
    assert details is not None
    return [(line.kind, "".join(text for _, text in line.parts)) for line in details.lines]


def test_a_unified_diff_is_read_by_its_signs() -> None:
    assert lines(unified(DIFF)) == [
        ("file", "diff --git a/shop.py b/shop.py"),
        ("file", "index 1f2a..9c0d 100644"),
        ("file", "--- a/shop.py"),
        ("file", "+++ b/shop.py"),
        ("gap", "@@ -1,3 +1,3 @@ def pay():"),
        ("same", "basket.lock()"),
        ("removed", "sleep(1)"),
        ("added", 'wait_for("paid")'),
        ("same", "return True"),
        ("file", "--- a/old.sql"),
        ("file", "+++ b/old.sql"),
        ("gap", "@@ -1 +0,0 @@"),
        ("removed", "-- a comment that went"),
        ("gap", "No newline at end of file"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Just words.",
        "- a list\n- of two",
        "--- \na rule, and then words",
        "",
    ],
)
def test_other_texts_are_no_diff(text: str) -> None:
    assert unified(text) is None


def test_words_around_a_diff_are_shown_with_it() -> None:
    around = lines(unified(f"See this:\n\n{DIFF}\nAnd this is what I think of it."))

    assert around[:2] == [("note", "See this:"), ("file", "")]
    assert around[2:-2] == lines(unified(DIFF))
    assert around[-2:] == [("file", ""), ("note", "And this is what I think of it.")]


@pytest.mark.parametrize("value", [DIFF, {"patch": DIFF}, {"files": [{"patch": DIFF}]}])
def test_a_change_is_marked_by_word_and_line_in_any_position(value: Any) -> None:
    page = html(value)

    assert 'diff__line--removed"><span class="sr-only">removed: </span>' in page
    assert 'diff__line--added"><span class="sr-only">added: </span>' in page
    assert "wait_for(&quot;paid&quot;)" in page


def test_before_and_after_show_what_changes_beside_the_other_keys() -> None:
    page = html({"why": "shorter", "before": "one two three", "after": "one 2 three"})

    assert "<del>two</del>" in page
    assert "<ins>2</ins>" in page
    assert "before → after" in page
    assert "shorter" in page
    assert page.count("<dt>") == 2


def test_before_and_after_of_objects_are_compared_as_json() -> None:
    details = render(
        '{"runs": {"before": {"ok": 188, "x": 1.10}, "after": {"ok": 200, "x": 1.10}}}'
    )

    assert details is not None
    plain = re.sub("<[^>]+>", "", details.html)
    assert "&quot;ok&quot;: 188," in plain
    assert "&quot;ok&quot;: 200," in plain
    assert "&quot;x&quot;: 1.10" in plain


@pytest.mark.parametrize(
    ("before", "after"), [("same", "same"), ("text", {"an": "object"}), ("text", 3)]
)
def test_values_that_cannot_be_compared_are_both_shown(before: Any, after: Any) -> None:
    page = html({"before": before, "after": after})

    assert 'class="diff"' not in page
    assert page.count("<dt>") >= 2


HOSTILE = {
    "one long line": {"before": "a" * 90_000, "after": "b" * 90_000},
    "repetitive lines": {"before": "a\nb\n" * 20_000, "after": "b\na\nc\n" * 15_000},
    "many small ones": [{"before": "word " * 60, "after": "other word " * 30} for _ in range(250)],
    "half of the time each": {
        str(n): {"before": "a b " * 2_000, "after": "b c a " * 1_500} for n in range(10)
    },
    "a diff of 150 kB": "@@ -1,25000 +1,25000 @@\n" + "+x\n-y\n" * 25_000,
    "a diff of one line": "@@ -1,0 +1 @@\n+" + "w" * 190_000,
    "a diff that does not add up": "@@ -1 +1 @@\n" + "+x\n-y\n" * 25_000,
    "hunks only": "@@ -1 +1 @@\n" * 15_000,
}


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_diff_takes_long_or_fills_the_page(value: Any) -> None:
    began = time.process_time()
    details = render(json.dumps({"value": value}))

    assert time.process_time() - began < 2
    assert details is not None
    assert details.html.count("diff__line--") <= 2_400


def test_a_diff_that_hides_something_is_named() -> None:
    page = html("@@ -1 +1 @@\n-pay 10\n+pay \u202e01<script>alert(1)</script>")

    assert "pay ⟨U+202E⟩01&lt;script&gt;" in page


def test_a_long_diff_says_that_it_is_cut() -> None:
    page = html(HOSTILE["a diff of 150 kB"])

    assert "Only the first 2,000 lines are shown." in page
