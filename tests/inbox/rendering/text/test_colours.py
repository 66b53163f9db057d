"""Code is highlighted with CSS classes, quickly for any input, and no text is lost."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbox.rendering.details import formatted
from inbox.rendering.text.syntax_colours import LANGUAGES, coloured
from pages.characters.invisible import name_invisible

pytestmark = pytest.mark.once


def plain(coloured_html: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", coloured_html))


def test_fenced_code_is_coloured_by_class() -> None:
    coloured_html = formatted('```python\ndef f():  # why\n    return "x", 1\n```')

    assert '<span class="hl-keyword">def</span>' in coloured_html
    assert '<span class="hl-name">f</span>' in coloured_html
    assert '<span class="hl-comment"># why</span>' in coloured_html
    assert '<span class="hl-string">&quot;x&quot;</span>' in coloured_html


def test_a_fenced_diff_keeps_its_signs() -> None:
    coloured_html = formatted("```diff\n-old\n+new\n```")

    assert '<span class="hl-removed">-old\n</span>' in coloured_html
    assert '<span class="hl-added">+new\n</span>' in coloured_html


@pytest.mark.parametrize("language", ["", "brainfuck", "../x", "PYTHON2000"])
def test_other_languages_stay_as_they_are(language: str) -> None:
    assert "<span" not in coloured("def f(): pass", language)


def test_long_code_stays_as_it_is() -> None:
    assert "<span" not in coloured("def f(): pass\n" * 1_000, "python")


@given(
    st.sampled_from(sorted(LANGUAGES)), st.text(st.sampled_from("ab1 \"'\n\r\t<>{}()[]=#/*$\\@"))
)
@settings(max_examples=150, deadline=None)
def test_colouring_loses_no_code(language: str, code: str) -> None:
    assert plain(coloured(code, language)) == name_invisible(code, is_code=True)


@pytest.mark.parametrize(
    ("language", "unit"),
    [("java", "a "), ("ts", "a."), ("go", '"\\'), ("css", '"\\'), ("html", "&"), ("yaml", "`")],
)
def test_no_code_takes_long(language: str, unit: str) -> None:
    code = (unit * 6_000)[:6_000]
    began = time.process_time()

    coloured_html = coloured(code, language)

    assert time.process_time() - began < 1
    assert plain(coloured_html) == code
