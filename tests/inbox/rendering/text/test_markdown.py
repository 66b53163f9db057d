"""Markdown shows what its writer meant: task lists, links, columns, footnotes and headings."""

from __future__ import annotations

import pytest

from inbox.rendering.details import formatted
from inbox.rendering.text.markdown import MAX_BARE_LINKS
from tests.integrity.markdown_texts import without_marks

REL = 'rel="noopener noreferrer nofollow ugc"'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("- [ ] call them", '<li class="task">☐ call them</li>'),
        ("- [x] call them", '<li class="task">☑ call them</li>'),
        ("1. [X] **call** them", '<li class="task">☑ <strong>call</strong> them</li>'),
        ("- [y] call them", "<li>[y] call them</li>"),
        ("[ ] call them", "<p>[ ] call them</p>"),
    ],
)
def test_a_task_list_has_boxes(text: str, html: str) -> None:
    assert html in without_marks(formatted(text))


@pytest.mark.parametrize(
    ("text", "url", "after"),
    [
        ("see https://a.example/b?c=d#e today", "https://a.example/b?c=d#e", " today"),
        ("see https://a.example/b.", "https://a.example/b", "."),
        ("(https://a.example/b_(c))", "https://a.example/b_(c)", ")"),
        ("http://a.example, and", "http://a.example", ", and"),
    ],
)
def test_a_bare_address_is_a_link(text: str, url: str, after: str) -> None:
    assert f'<a href="{url}" {REL}>{url}</a>{after}' in formatted(text)


@pytest.mark.parametrize(
    "text", ["`https://a.example`", "https:/a.example", "javascript://a.example", "xhttps://a.b.c"]
)
def test_other_text_is_not_a_link(text: str) -> None:
    assert "<a" not in formatted(text)


def test_a_bare_address_names_the_host_that_it_really_leads_to() -> None:
    html = formatted("https://b\N{CYRILLIC SMALL LETTER A}nk.example/x and https://a@evil.example/")

    assert "<small> (xn--bnk-5cd.example)</small>" in html or "<small> (xn--" in html
    assert "<small> (evil.example)</small>" in html


def test_an_address_inside_a_link_stays_its_text() -> None:
    html = formatted("[https://a.example](https://b.example)")

    assert html.count("<a ") == 1
    assert "(https://b.example)" in html


def test_very_many_addresses_stay_text() -> None:
    assert formatted("https://a.example\n" * 500).count("<a ") == MAX_BARE_LINKS


def test_a_footnote_is_raised_and_its_text_is_shown() -> None:
    """The text of a footnote used to vanish, because it was read as the definition of a link."""
    html = without_marks(
        formatted("Prices rose.[^1]\n\n[^1]: By 12 *percent*.\n[^b]: In autumn.\n")
    )

    assert "rose.<sup>1</sup>" in html
    assert "<p><sup>1</sup> By 12 <em>percent</em>.</p>" in html
    assert "<p><sup>b</sup> In autumn.</p>" in html


def test_a_footnote_in_code_is_code() -> None:
    assert "[^1]: x" in formatted("```\n[^1]: x\n```")
    assert "<code>[^1]</code>" in formatted("`[^1]`")


def test_columns_are_aligned_as_they_were_written() -> None:
    html = formatted("| a | b | c |\n|:--|--:|:-:|\n| 1 | 2 | 3 |\n")

    assert '<th class="cell-end">b</th>' in html
    assert '<td>1</td>\n<td class="cell-end">2</td>\n<td class="cell-center">3</td>' in html
    assert "style" not in html


@pytest.mark.parametrize(
    ("text", "levels"),
    [("# a\n## b\n### c", "345"), ("## a\n### b", "34"), ("### a\n# b", "53"), ("#### a", "3")],
)
def test_headings_keep_their_order_below_the_pages_own(text: str, levels: str) -> None:
    html = formatted(text)

    assert "".join(html[at + 2] for at in range(len(html)) if html.startswith("<h", at)) == levels


def test_the_deepest_heading_is_h6() -> None:
    assert "<h6>f</h6>" in formatted("# a\n###### f")


def test_an_image_is_a_link_that_says_so() -> None:
    html = formatted("Look: ![chart](https://a.example/c.png)")

    assert "Look: Image: <a " in html
    assert "<img" not in html
    assert "Wow! <a" in formatted("Wow! [chart](https://a.example/c)")
