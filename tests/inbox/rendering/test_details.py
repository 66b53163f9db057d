"""Details from agents are rendered readably, safely and quickly for any input."""

from __future__ import annotations

import json
import re
import time
from html.parser import HTMLParser
from typing import Any

import bleach
import nh3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbox.rendering import details
from inbox.rendering.details import RenderedDetails, formatted, render
from inbox.rendering.text.links import REL, hidden_host
from pages.characters.hosts import UNREADABLE
from pages.characters.invisible import reveal, reveal_value
from tests.fixtures import wrapped
from tests.integrity.markdown_texts import without_marks

pytestmark = pytest.mark.once

ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<style>*{display:none}</style>",
    "<iframe src=//evil.example></iframe>",
    '<a href="javascript:alert(1)" hx-get="/x" onclick="x">y</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/logout/)",
    "[x](?details=raw)",
    "[x](#main)",
    "<javascript:alert(1)>",
    '[x](https://ok.example "onmouseover=alert(1)")',
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>`",
    "| <img src=x> |\n|---|\n| <b onclick=x> |",
    "</div></section></main><h1>Approved</h1>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!-- --><!DOCTYPE html><base href=//evil.example>",
    "\x00\x1b[31m\u2028",
]
ALLOWED = {
    "a": {"href", "rel"},
    "div": {"aria-label", "class", "role", "tabindex"},  # around a table
    "li": {"class"},
    "ol": {"start"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}


class Seen(HTMLParser):
    """Collects every element and attribute of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}
        self.links += [str(value) for name, value in attrs if name == "href"]


def details_from(value: Any, *, asked_for: str = "") -> RenderedDetails:
    rendered = render(json.dumps(value), asked_for=asked_for)
    assert rendered is not None
    return rendered


def test_without_details_nothing_is_rendered() -> None:
    assert render(None) is None


def test_markdown_reads_well() -> None:
    html = without_marks(
        formatted(
            "# One\n## Two\n### Three\n\n**b** *i* ~~s~~ `c`\nnext line\n\n> quote\n\n3. three\n\n"
            "| a | b |\n|:--|--:|\n| 1 | 2 |\n\n---\n"
        )
    )

    for piece in (
        "<h3>One</h3>",
        "<h4>Two</h4>",
        "<h5>Three</h5>",
        "<strong>b</strong> <em>i</em> <s>s</s> <code>c</code><br>",
        "<blockquote>",
        '<ol start="3">',
        '<td class="cell-end">2</td>',
        "<hr>",
    ):
        assert piece in html


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_is_inert(attack: str) -> None:
    for value in (attack, {"text": attack, attack: [attack, {attack: attack}]}):
        for asked in ("", "formatted", "raw"):
            rendered = details_from(value, asked_for=asked)
            parsed = Seen(rendered.html)
            own = {"div", "dl", "dt", "dd", "bdi", "span", "details", "summary"}
            assert parsed.elements <= details.TAGS | own
            assert not {name for _, name in parsed.attributes} & {"style", "id", "src", "title"}
            assert not [name for _, name in parsed.attributes if name.startswith(("on", "hx-"))]
            assert all(link.startswith(("http://", "https://", "mailto:")) for link in parsed.links)


@given(
    st.text(alphabet=st.sampled_from("[]()<>!#*_`|-~&;:/\\\"'= \n\tax1é\u202e\u200b"), max_size=200)
)
@settings(max_examples=300, deadline=None)
def test_html_cleaned_by_bleach_is_a_fixed_point_of_nh3(text: str) -> None:
    html = formatted(text)

    assert _by_nh3(html) == _spelled_as_nh3(html)


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_cleaned_by_bleach_are_a_fixed_point_of_nh3(attack: str) -> None:
    html = formatted(attack)

    assert _by_nh3(html) == _spelled_as_nh3(html)


def _spelled_as_nh3(html: str) -> str:
    """Spells the document as nh3 does. In text, nh3 writes a quotation mark as it is, and a hard
    space as `&nbsp;`."""
    return html.replace("&quot;", '"').replace("\xa0", "&nbsp;")


def _by_nh3(html: str) -> str:
    return nh3.clean(
        html,
        tags=details.TAGS | {"div"},
        attributes={name: set(names) for name, names in ALLOWED.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


@pytest.mark.parametrize(
    ("link", "where"),
    [
        ("[bank.example](https://evil.example/x)", "https://evil.example/x"),
        ("[here](https://evil.example)", "https://evil.example"),
        ("[https://bank.example](https://evil.example)", "https://evil.example"),
        (
            "[https://bank.example](https://bank.example@evil.example)",
            "https://bank.example@evil.example, evil.example",
        ),
        ("[https://b@evil.example](https://b@evil.example)", "evil.example"),
        (
            "[b\u0430nk.example](https://b\u0430nk.example)",
            "https://b\u0430nk.example, xn--bnk-6cd.example",
        ),
        ("[write](mailto:x@evil.example?cc=y)", "mailto:x@evil.example?cc=y"),
        ("[evil.example](https://evil.example/x)", "https://evil.example/x"),
        ("<https://evil.example/x>", ""),
        ("<x@evil.example>", ""),
    ],
)
def test_a_link_shows_its_address_and_its_real_host_unless_its_text_does(
    link: str, where: str
) -> None:
    html = formatted(link)

    assert f'rel="{REL}"' in html
    assert re.findall(r"<small> \((.*?)\)</small>", html) == ([where] if where else [])


@pytest.mark.parametrize(
    "host",
    ["ä" * 64 + ".example", "ä." * 124 + "example", "".join(map(chr, range(0x4E00, 0x9FFF)))],
)
def test_a_host_that_is_too_long_for_dns_cannot_be_read(host: str) -> None:
    """Converting a host of twenty thousand different letters to ASCII used to take minutes."""
    assert hidden_host(f"https://{host}/", "here") == UNREADABLE


def test_a_host_of_the_longest_labels_is_named() -> None:
    host = f"{'a' * 63}.{'b' * 63}.example"

    assert hidden_host(f"https://{host}/", "here") == host


def test_an_image_is_a_link_and_nothing_is_fetched() -> None:
    html = formatted("![chart](https://evil.example/pixel.png)")

    assert "<img" not in html
    assert 'href="https://evil.example/pixel.png"' in html


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\u200b\u200b\u200bb", "a⟨3 U+200B⟩b"),
        ("\ufeffx\u00ad", "⟨U+FEFF⟩x⟨U+00AD⟩"),
        ("\x1b[0m\x07", "⟨U+001B⟩[0m⟨U+0007⟩"),
        ("hi\U000e0041\U000e0042", "hi⟨U+E0041⟩⟨U+E0042⟩"),
        ("a" + "\u200b\u200c" * 15 + "b", "a⟨30 U+200B U+200C⟩b"),
        ("\u200b" * 1_000, "⟨1,000 U+200B⟩"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("a\ufe0fb\ufe0e", "a⟨U+FE0F⟩b⟨U+FE0E⟩"),
        ("a\ufe0f\u200d\ufe0fb", "a⟨U+FE0F⟩⟨U+200D⟩⟨U+FE0F⟩b"),
        ("a\U0001d173\U0001bca0\ufff0", "a⟨U+1D173⟩⟨U+1BCA0⟩⟨U+FFF0⟩"),
        ("\u2764\ufe0f 1\ufe0f\u20e3 \u2122\ufe0f", "\u2764\ufe0f 1\ufe0f\u20e3 \u2122\ufe0f"),
        (
            "\u2764\ufe0f\u200d\U0001f525 \u2714\ufe0e",
            "\u2764\ufe0f\u200d\U0001f525 \u2714\ufe0e",
        ),
        ("👩\u200d💻 ok", "👩\u200d💻 ok"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("tab\tline\nend", "tab\tline\nend"),
        ("plain", "plain"),
    ],
)
def test_invisible_characters_are_named_and_writing_stays_whole(text: str, named: str) -> None:
    assert reveal(text) == named


@pytest.mark.parametrize(
    ("hiding", "shown"),
    [
        ("&#x202E;abc", "&amp;#x202E;abc"),
        ("&#8238;abc", "&amp;#8238;abc"),
        ("[a\u202eb](https://a.example)", "⟨U+202E⟩"),
        ("`\u202e`", "⟨U+202E⟩"),
        ("&rlm;", "&amp;rlm;"),
    ],
)
def test_no_spelling_restores_a_hidden_character(hiding: str, shown: str) -> None:
    html = formatted(hiding)

    assert shown in html
    assert not re.search("[\u200b-\u200f\u202a-\u202e]", html)


def test_an_address_with_an_entity_is_shown_as_it_was_written() -> None:
    text = "[a](https://a.example/&#x202E;b)"
    rendered = render(json.dumps(text))

    assert rendered is not None
    assert (rendered.html, str(rendered.plain)) == ("", text)


def test_an_object_is_shown_as_names_and_values() -> None:
    rendered = render(
        '{"share": 0.10, "big": 12345678901234567890.5, "ok": true, "no": null, "t": ""}'
    )

    assert rendered is not None
    for piece in ("Share", "0.10", "12345678901234567890.5", "yes", "none", "empty text"):
        assert piece in rendered.html


def test_a_url_in_an_object_is_a_link_unless_text_surrounds_it() -> None:
    rendered = details_from(
        {"a": "https://ok.example/x?a=1&b=2", "b": "see https://ok.example", "c": "javascript:x"}
    )

    assert rendered.html.count("<a ") == 1
    assert 'href="https://ok.example/x?a=1&amp;b=2"' in rendered.html


def test_a_text_inside_an_object_keeps_its_lines_and_is_no_markdown() -> None:
    rendered = details_from({"text": "one\n**two**"})

    assert "one\n**two**" in rendered.html


LARGE = {
    "2,000 nested objects": {str(n): {"a": {"b": [n, {"c": n}]}} for n in range(2_000)},
    "64 levels": json.loads('{"a":' * 63 + "1" + "}" * 63),
    "20 kB of ![": "![" * 10_000,
    "40 kB of ![": "![" * 20_000,
    "200 kB of one word": "w" * 200_000,
    "200 kB of one word in an object": {"word": "w" * 199_000},
    "a table of 20 kB": "|a|b|\n|-|-|\n" * 1_600,
    "20 kB of <": "<" * 20_000,
    "20 kB of [": "[" * 20_000,
    "lists in lists": "".join("  " * n + "- a\n" for n in range(140)),
    "20 kB of quotes": "> " * 10_000,
    "20 kB of stars": "*a **b " * 2_850,
    "zero width": "\u200b\u200c" * 30_000,
}


@pytest.mark.parametrize("value", LARGE.values(), ids=LARGE.keys())
def test_any_content_is_rendered_quickly(value: Any) -> None:
    began = time.process_time()

    rendered = details_from(value)

    assert time.process_time() - began < 5
    assert rendered.html or rendered.plain
    assert len(rendered.html) + len(rendered.plain) < 900_000


def test_a_large_object_is_cut_with_the_number_of_omitted_members() -> None:
    rendered = details_from(LARGE["2,000 nested objects"])

    assert rendered.html.count("<dt>") == 400
    assert "1,600 more in the raw view" in rendered.html


def test_a_long_text_is_plain_until_requested() -> None:
    text = "**bold** and so on.\n\n" * 1_500

    plain, asked = details_from(text), details_from(text, asked_for="formatted")

    assert (plain.html, plain.may_be_formatted) == ("", True)
    assert plain.plain == text
    assert "<strong>bold</strong>" in asked.html


def test_markup_that_is_too_intricate_stays_plain() -> None:
    rendered = details_from(LARGE["a table of 20 kB"])

    assert not rendered.html
    assert rendered.plain.startswith("|a|b|")
    assert not rendered.may_be_formatted


@pytest.mark.parametrize("mark", ["![", "[a](", "**a _b", "~~a", "<a ", "a|b\n", "a\n"])
def test_marks_that_took_the_parser_seconds_stay_plain(mark: str) -> None:
    text = (mark * 195_000)[:195_000]
    block = {"type": "markdown", "text": text[:120_000]}  # in JSON a line break has two bytes

    with wrapped.counted(details, "parsed") as parsed:
        alone = details_from(text, asked_for="formatted")
        in_a_block = details_from({"wake_blocks": 1, "blocks": [block]}, asked_for="formatted")

    assert not parsed
    assert not alone.html
    assert alone.plain == reveal_value(text)
    assert in_a_block.html.startswith('<section class="block"><pre')


@pytest.mark.parametrize("value", ["é" * 100_001, {"a": "x" * 200_000}])
def test_details_too_long_for_a_page_are_a_download(value: Any) -> None:
    for asked in ("", "formatted", "raw"):
        rendered = details_from(value, asked_for=asked)
        assert rendered.is_too_long
        assert not rendered.html
        assert not rendered.plain


def test_the_raw_view_has_each_number_and_key_as_it_was_sent() -> None:
    rendered = render('{"b":1.10,"a":"caf\\u00e9"}', asked_for="raw")

    assert rendered is not None
    assert rendered.plain == '{\n  "b": 1.10,\n  "a": "caf\\u00e9"\n}'


def test_a_second_request_renders_nothing() -> None:
    first = details_from("Kept **by content**, once.")

    with wrapped.counted(bleach, "clean") as cleaned:
        assert details_from("Kept **by content**, once.") == first
        assert not cleaned
        details_from("Other **content**.")
    assert cleaned


def test_a_short_list_is_one_line_and_a_long_one_has_a_line_for_each_item() -> None:
    short, long = (
        details_from({"list": [1, "two", None]}),
        details_from({"list": ["a longer line"] * 9}),
    )

    assert '">1</span> · ' in short.html
    assert "pairs--list" not in short.html
    assert "pairs--list" in long.html
