"""The host that a page shows behind a link is the one that the browser opens."""

# ruff: noqa: RUF001 - the look-alikes are what is tested

from __future__ import annotations

import html
import json
import re

import pytest
from playwright.sync_api import Browser

from inbox.rendering.details import render
from inbox.rendering.text.links import hidden_host

WORDS = "the report"
URLS = [
    "https://straße.de/",  # IDNA 2003 made it strasse.de
    "https://βόλος.com/",
    "https://müller.example",
    "https://аррӏе.com/",  # Cyrillic
    "https://pаypal.com/",  # one Cyrillic letter
    "https://ｇｏｏｇｌｅ.com/",
    "https://evil.com。example.org/",
    "https://ex%61mple.com/",
    "https://good.com\u200bevil.org/",
    "https://so\u00adft.example/",
    "https://bücher.example:8443/x",
    "https://good.com@evil.org/",
    "https://UPPER.Example/",
    "https://☃.net/",
    "https://0x7f.1/",
    "https://3232235777/",
    "https://0177.0.0.1/",
    "https://127.0.0.1./",
    "https://1.example/",
    "https://[::1]:8000/",
]


def test_the_shown_host_is_the_one_that_the_browser_opens(chromium: Browser) -> None:
    page = chromium.new_page()
    opened = {url: page.evaluate("url => new URL(url).hostname", url).strip("[]") for url in URLS}
    page.close()

    assert {url: hidden_host(url, WORDS) for url in URLS} == opened


@pytest.mark.parametrize("url", ["https://аррӏе.com/", "https://straße.de/", "https://0x7f.1/"])
def test_a_link_whose_text_is_its_address_names_a_look_alike_host(url: str) -> None:
    for details in (json.dumps({"report": url}), json.dumps(f"<{url}>")):
        rendered = render(details)

        assert rendered is not None
        assert re.search(
            r"<small> ?\((xn--[a-z0-9-]+\.[a-z]+|127\.0\.0\.1)\)</small>", rendered.html
        ), rendered.html


@pytest.mark.parametrize(
    "words", ["https://good.com@evil.org", "https://good.com:443@evil.org/", "good.com@evil.org"]
)
def test_a_user_name_in_the_text_of_a_link_is_not_taken_for_its_host(words: str) -> None:
    assert hidden_host("https://evil.org/", words) == "evil.org"


def test_every_link_of_a_block_names_the_host_that_the_browser_opens(chromium: Browser) -> None:
    urls = [
        "https:///evil.org/",
        "https:////evil.org",
        "https://evil.org/",
        "https://[::1%\u202e]/",
    ]
    blocks = [{"type": "link", "url": url, "label": "good.com"} for url in urls]
    rendered = render(json.dumps({"wake_blocks": 1, "blocks": blocks}))
    assert rendered is not None
    page = chromium.new_page()

    page.set_content(rendered.html)
    links = page.eval_on_selector_all(
        "a", "links => links.map(link => [link.hostname, link.parentElement.textContent])"
    )
    page.close()

    assert links == [
        ["evil.org", "good.com https://evil.org/"],
        ["", "good.com https://[::1%⟨U+202E⟩]/ (a host that cannot be read)"],
    ]
    assert "\u202e" not in re.sub(r"<[^>]*>", "", rendered.html)


def test_an_address_in_a_field_cannot_reverse_its_text() -> None:
    rendered = render(json.dumps({"report": "https://good.example/\u202egpj.exe\u200b"}))

    assert rendered is not None
    words = re.sub(r"<[^>]*>", "", html.unescape(rendered.html))
    assert "⟨U+202E⟩" in words
    assert not {"\u202e", "\u200b"} & set(words)
