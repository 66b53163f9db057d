"""Code is highlighted with CSS classes, quickly for any input, and no text is lost."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbox.rendering.details import formatted
from inbox.rendering.syntax_colours import LANGUAGES, coloured

pytestmark = pytest.mark.once


def plain(shown: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", shown))


def test_fenced_code_is_coloured_by_class() -> None:
    shown = formatted('```python\ndef f():  # why\n    return "x", 1\n```')

    assert '<span class="hl-keyword">def</span>' in shown
    assert '<span class="hl-name">f</span>' in shown
    assert '<span class="hl-comment"># why</span>' in shown
    assert '<span class="hl-string">&quot;x&quot;</span>' in shown


def test_a_fenced_diff_keeps_its_signs() -> None:
    shown = formatted("```diff\n-old\n+new\n```")

    assert '<span class="hl-removed">-old\n</span>' in shown
    assert '<span class="hl-added">+new\n</span>' in shown


@pytest.mark.parametrize("language", ["", "brainfuck", "../x", "PYTHON2000"])
def test_other_languages_stay_as_they_are(language: str) -> None:
    assert "<span" not in coloured("def f(): pass", language)


def test_long_code_stays_as_it_is() -> None:
    assert "<span" not in coloured("def f(): pass\n" * 1_000, "python")


@given(
    st.sampled_from(sorted(LANGUAGES)), st.text(st.sampled_from("ab1 \"'\n\r\t<>{}()[]=#/*$\\@"))
)
@settings(max_examples=150, deadline=None)
def test_nothing_of_the_code_is_lost(language: str, code: str) -> None:
    assert plain(coloured(code, language)) == code


@pytest.mark.parametrize(
    ("language", "unit"),
    [("java", "a "), ("ts", "a."), ("go", '"\\'), ("css", '"\\'), ("html", "&"), ("yaml", "`")],
)
def test_no_code_takes_long(language: str, unit: str) -> None:
    code = (unit * 6_000)[:6_000]
    began = time.process_time()

    shown = coloured(code, language)

    assert time.process_time() - began < 1
    assert plain(shown) == code
