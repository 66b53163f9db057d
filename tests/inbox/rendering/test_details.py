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

from accounts.invisible import reveal
from inbox.rendering import details
from inbox.rendering.details import Details, formatted, render
from inbox.rendering.links import REL

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
    "ol": {"start"},
    "span": {"class"},
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


def shown(value: Any, **asked: str) -> Details:
    made = render(json.dumps(value), **asked)
    assert made is not None
    return made


def test_nothing_was_sent() -> None:
    assert render(None) is None


def test_markdown_reads_well() -> None:
    html = formatted(
        "# One\n## Two\n### Three\n\n**b** *i* ~~s~~ `c`\nnext line\n\n> quote\n\n3. three\n\n"
        "| a | b |\n|:--|--:|\n| 1 | 2 |\n\n---\n"
    )

    for piece in (
        "<h3>One</h3>",
        "<h3>Two</h3>",
        "<h4>Three</h4>",
        "<strong>b</strong> <em>i</em> <s>s</s> <code>c</code><br>",
        "<blockquote>",
        '<ol start="3">',
        "<td>2</td>",
        "<hr>",
    ):
        assert piece in html


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_is_inert(attack: str) -> None:
    for value in (attack, {"text": attack, attack: [attack, {attack: attack}]}):
        for asked in ("", "formatted", "raw"):
            made = shown(value, asked_for=asked)
            seen = Seen(made.html)
            own = {"div", "dl", "dt", "dd", "bdi", "span", "details", "summary"}
            assert seen.elements <= details.TAGS | own
            assert not {name for _, name in seen.attributes} & {"style", "id", "src", "title"}
            assert not [name for _, name in seen.attributes if name.startswith(("on", "hx-"))]
            assert all(link.startswith(("http://", "https://", "mailto:")) for link in seen.links)


@given(
    st.text(alphabet=st.sampled_from("[]()<>!#*_`|-~&;:/\\\"'= \n\tax1é\u202e\u200b"), max_size=200)
)
@settings(max_examples=300, deadline=None)
def test_what_bleach_leaves_is_a_fixed_point_of_nh3(text: str) -> None:
    html = formatted(text)

    assert _by_nh3(html) == _spelled_as_nh3(html)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_bleach_leaves_of_an_attack_is_one_too(attack: str) -> None:
    html = formatted(attack)

    assert _by_nh3(html) == _spelled_as_nh3(html)


def _spelled_as_nh3(html: str) -> str:
    """The same document: in text, nh3 writes a quotation mark as it is and names a hard space."""
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
    ("link", "host"),
    [
        ("[bank.example](https://evil.example/x)", "evil.example"),
        ("[here](https://evil.example)", "evil.example"),
        ("[https://bank.example](https://evil.example)", "evil.example"),
        ("[https://bank.example](https://bank.example@evil.example)", "evil.example"),
        ("[b\u0430nk.example](https://b\u0430nk.example)", "xn--bnk-6cd.example"),
        ("[write](mailto:x@evil.example)", "x@evil.example"),
        ("[evil.example](https://evil.example/x)", ""),
        ("<https://evil.example/x>", ""),
        ("<x@evil.example>", ""),
    ],
)
def test_a_link_shows_its_real_host_where_its_words_do_not(link: str, host: str) -> None:
    html = formatted(link)

    assert f'rel="{REL}"' in html
    assert re.findall(r"<small> \((.*?)\)</small>", html) == ([host] if host else [])


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
        ("👩\u200d💻 ok", "👩\u200d💻 ok"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("tab\tline\nend", "tab\tline\nend"),
        ("plain", "plain"),
    ],
)
def test_invisible_characters_are_named_and_writing_stays_whole(text: str, named: str) -> None:
    assert reveal(text) == named


@pytest.mark.parametrize(
    "hiding", ["&#x202E;abc", "&#8238;abc", "[a\u202eb](https://a.example)", "`\u202e`", "&rlm;"]
)
def test_no_way_of_writing_it_brings_a_hidden_character_back(hiding: str) -> None:
    html = formatted(hiding)

    assert "⟨U+20" in html
    assert not re.search("[\u200b-\u200f\u202a-\u202e]", html)


def test_an_object_is_read_as_names_and_values() -> None:
    made = render('{"share": 0.10, "big": 12345678901234567890.5, "ok": true, "no": null, "t": ""}')

    assert made is not None
    for piece in ("share", "0.10", "12345678901234567890.5", "true", "null", "empty text"):
        assert piece in made.html


def test_a_url_in_an_object_is_a_link_and_words_with_one_are_not() -> None:
    made = shown(
        {"a": "https://ok.example/x?a=1&b=2", "b": "see https://ok.example", "c": "javascript:x"}
    )

    assert made.html.count("<a ") == 1
    assert 'href="https://ok.example/x?a=1&amp;b=2"' in made.html


def test_a_text_inside_an_object_keeps_its_lines_and_is_no_markdown() -> None:
    made = shown({"text": "one\n**two**"})

    assert "one\n**two**" in made.html


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

    made = shown(value)

    assert time.process_time() - began < 5
    assert made.html or made.plain
    assert len(made.html) + len(made.plain) < 900_000


def test_a_large_object_shows_some_and_says_how_much_is_left() -> None:
    made = shown(LARGE["2,000 nested objects"])

    assert made.html.count("<dt>") == 400
    assert "1,600 more in the raw view" in made.html


def test_a_long_text_is_plain_until_requested() -> None:
    text = "**bold** and so on.\n\n" * 1_500

    plain, asked = shown(text), shown(text, asked_for="formatted")

    assert (plain.html, plain.may_be_formatted) == ("", True)
    assert plain.plain == text
    assert "<strong>bold</strong>" in asked.html


def test_what_is_too_intricate_stays_plain() -> None:
    made = shown(LARGE["a table of 20 kB"])

    assert not made.html
    assert made.plain.startswith("|a|b|")
    assert not made.may_be_formatted


@pytest.mark.parametrize("mark", ["![", "[a](", "**a _b", "~~a", "<a "])
def test_marks_that_took_the_parser_seconds_stay_plain(mark: str) -> None:
    text = (mark * 195_000)[:195_000]
    block = {"type": "markdown", "text": text}

    alone = shown(text, asked_for="formatted")
    in_a_block = shown({"wake_blocks": 1, "blocks": [block]}, asked_for="formatted")

    assert not alone.html
    assert alone.plain == text
    assert in_a_block.html.startswith('<section class="block"><pre')


@pytest.mark.parametrize("value", ["é" * 100_001, {"a": "x" * 200_000}])
def test_more_than_a_page_can_show_is_a_download(value: Any) -> None:
    for asked in ("", "formatted", "raw"):
        made = shown(value, asked_for=asked)
        assert made.is_too_long
        assert not made.html
        assert not made.plain


def test_the_raw_view_has_each_number_and_key_as_it_was_sent() -> None:
    made = render('{"b":1.10,"a":"caf\\u00e9"}', asked_for="raw")

    assert made is not None
    assert made.plain == '{\n  "b": 1.10,\n  "a": "caf\\u00e9"\n}'


def test_a_second_look_renders_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = shown("Kept **by content**, once.")

    def fail(*_: Any, **__: Any) -> str:
        raise AssertionError("rendered again")

    monkeypatch.setattr(bleach, "clean", fail)
    assert shown("Kept **by content**, once.") == first
    with pytest.raises(AssertionError):
        shown("Other **content**.")


def test_a_short_list_stands_on_one_line_and_a_long_one_below_each_other() -> None:
    short, long = shown({"list": [1, "two", None]}), shown({"list": ["a longer line"] * 9})

    assert "<code>1</code> · " in short.html
    assert "pairs--list" not in short.html
    assert "pairs--list" in long.html
