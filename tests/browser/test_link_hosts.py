"""The host that a page shows behind a link is the one that the browser opens."""

# ruff: noqa: RUF001 - the look-alikes are what is tested

from __future__ import annotations

import html
import json
import re

import pytest
from playwright.sync_api import Browser

from inbox.rendering.details import render
from inbox.rendering.links import hidden_host

WORDS = "the report"
URLS = [
    "https://straße.de/",  # IDNA 2003 said strasse.de
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
]


def test_the_shown_host_is_the_one_that_the_browser_opens(chromium: Browser) -> None:
    page = chromium.new_page()
    opened = {url: page.evaluate("url => new URL(url).hostname", url) for url in URLS}
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


def test_an_address_in_a_field_cannot_reverse_its_text() -> None:
    rendered = render(json.dumps({"report": "https://good.example/\u202egpj.exe\u200b"}))

    assert rendered is not None
    words = re.sub(r"<[^>]*>", "", html.unescape(rendered.html))
    assert "⟨U+202E⟩" in words
    assert not {"\u202e", "\u200b"} & set(words)
