"""Every word of Markdown is in the visible text of the page.

A page used to hide the definitions and titles of links, the words behind a fence, surplus cells,
numbers of items and everything below the twentieth level, although an agent or its tools could act
upon them. Stars, underscores, tildes and backslashes inside words and paths were hidden, too.
"""

from __future__ import annotations

import pytest
from django.utils.html import format_html
from hypothesis import example, given, settings

from inbox.rendering.details import formatted
from pages.characters.invisible import name_invisible, reveal
from tests.integrity.markdown_texts import (
    MARKDOWN,
    lost_runs,
    visible_text,
    without_marks,
    words_in,
    words_of,
)

pytestmark = pytest.mark.once

VANISHED = {
    "the definition of a link": '[a]: https://evil.example/hidden "title"',
    "a definition on two lines": "[a]:\nhttps://evil.example/hidden\n'title'",
    "a second definition": "[a]\n\n[a]: https://one.example\n[a]: https://two.example/hidden",
    "a reference": "[words][hidden]\n\n[hidden]: https://evil.example",
    "a title": '[a](https://evil.example "hidden title")',
    "a title of an image": "![a](https://evil.example 'hidden title')",
    "a path": "[evil.example](https://evil.example/hidden?query=1#fragment)",
    "the address of an image": "![a](https://evil.example/hidden)",
    "a relative address": "[a](/hidden/path)",
    "a subject of a mail": "[a@b.example](mailto:a@b.example?subject=hidden)",
    "words behind a fence": "```sh title=hidden\ncode\n```",
    "words behind a fence of tildes": "~~~hidden words\ncode\n~~~",
    "surplus cells": "| a | b |\n|---|---|\n| 1 | 2 | hidden | more |\n",
    "a comment": "a <!-- hidden -->\n\n<!--\nhidden\n-->",
    "markup": '<b title="hidden">a</b>\n\n<?hidden?>\n\n<![CDATA[hidden]]>',
    "the 21st level": "> " * 25 + "hidden",
    "lists in lists": "".join("  " * level + f"- level{level}\n" for level in range(14)),
}


@pytest.mark.parametrize("text", VANISHED.values(), ids=VANISHED.keys())
def test_what_vanished_is_in_sight(text: str) -> None:
    text = f"Words.\n\n{text}"
    assert not words_of(text) - words_in(shown(text))


@given(MARKDOWN)
@settings(max_examples=400)
@example("[a](https://evil.example/x (title))")
def test_every_word_is_in_sight(text: str) -> None:
    assert not words_of(text) - words_in(shown(text))
    assert not lost_runs(name_invisible(text), shown(text))


READ_BY_A_SHELL = [
    "/srv/__cache__/x",
    "rm __init__.py",
    "rm -rf ~/a/*tmp*/b",
    "2*3*4",
    "2**3**4",
    "a~~b~~c",
    "echo \\$HOME",
    "echo a\\\\b \\*",
    "find -name '*tmp*' -o -name 'x*y*z'",
    "rm *.py /a/b*",
    "rm *a /b/*",
    "rm **/node_modules /b/**",
    "f(*args, **kwargs)",
    "ls $(*a*) {*b*,c}",
    "ls [*a*]",
    "ls a*, *b",
    "rm a&top;b &#48; &wp;",
    "rm a&amp;b",
]


@pytest.mark.parametrize("text", READ_BY_A_SHELL)
def test_characters_that_a_shell_reads_are_in_sight(text: str) -> None:
    """`/tmp/__cache__/x` used to appear as `/tmp/cache/x`, which is another path."""
    assert text in shown(text)
    assert text in shown(f"- Words: {text}")
    assert text in shown(f"| a |\n|---|\n| {text} |")


@pytest.mark.parametrize(
    ("text", "line"),
    [("rm a \\\n  b", "rm a \\\n"), ("| a |\n|---|\n| grep b\\|c |", "grep b\\|c")],
)
def test_backslashes_are_in_sight(text: str, line: str) -> None:
    assert line in shown(text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**Note:** *a* b", "<strong>Note:</strong> <em>a</em> b"),
        ("***a** b*, __c__.", "<em><strong>a</strong> b</em>, <strong>c</strong>."),
        ("(*a*) **_b_**", "(<em>a</em>) <strong><em>b</em></strong>"),
        ("~~a~~: b—*c*—d", "<s>a</s>: b—<em>c</em>—d"),
        ("“*a*” *b*…", "“<em>a</em>” <em>b</em>…"),
        ("重点：**部署**。", "重点：<strong>部署</strong>。"),  # noqa: RUF001
        ("[**a**](https://b.example)", "<strong>a</strong></a>"),
        ("**[a](https://b.example)**", '<strong><a href="https://b.example"'),
        ("| **a** |\n|---|\n| _b_ |", "<td><em>b</em></td>"),
        ("**`a`**", "<strong><code>a</code></strong>"),
    ],
)
def test_emphasis_around_words_is_drawn(text: str, html: str) -> None:
    assert html in without_marks(formatted(text))


@pytest.mark.parametrize(
    "text",
    [
        "rm *a b*",
        "rm **a b**",
        "rm _a b_",
        "rm __a b__ c",
        "rm ~~a b~~",
        "rm ***a** b*",
        "echo **`a`** *b*",
        "ls **[a](https://b.example)**",
    ],
)
def test_marks_around_words_are_in_sight(text: str) -> None:
    """`rm *a b*` removes other files than `rm a b`."""
    words = text.replace("`", "").replace("[a](https://b.example)", "a (https://b.example)")

    assert visible_text(formatted(text)).strip() == words


def shown(text: str) -> str:
    return visible_text(formatted(text) or format_html("<pre>{}</pre>", reveal(text)))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            '[a](https://b.example/c?d=e "f")',
            'ugc">a</a><small> (https://b.example/c?d=e, “f”)</small>',
        ),
        ("[a](/b)", "<p>a<small> (/b)</small></p>"),
        ("<https://b.example/%41>", 'ugc">https://b.example/%41</a></p>'),
        ("[https://b.example/](https://b.example/)", 'ugc">https://b.example/</a></p>'),
        ("```sh x=1\ncode\n```", "<p><small>sh x=1</small></p>\n<pre>"),
        ("| a |\n|---|\n| 1 | 2 |", "<td>1</td>\n<td>2</td>\n</tr>"),
        ("3. a\n7. b\n8. c", '<ol start="3">\n<li>a</li>\n<li value="7">b</li>\n<li>c</li>'),
        ("[b]: https://b.example", '<p>[b]: <a href="https://b.example"'),
    ],
)
def test_markdown_is_shown_calmly(text: str, html: str) -> None:
    assert html in formatted(text)


@pytest.mark.parametrize(
    "text",
    [
        "Words.\n\n@@ -1 +1 @@\n- a\n+ b\n",
        "- item\n  ```\n@@ -1 +1 @@\n- a\n+ b\n",
        "> " * 25 + "a",
        "007. a",
    ],
)
def test_text_that_would_lose_something_stays_plain(text: str) -> None:
    """The plus and minus signs of a patch used to become bullets of two lists that looked the
    same."""
    assert not formatted(text)
