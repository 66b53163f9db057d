"""The words that a search looked for are marked, and nothing in a text becomes markup."""

from __future__ import annotations

import pytest
from django.utils import timezone

from inbox.search.index import index_new
from inbox.search.marks import marked
from inbox.search.query_language import read
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery


@pytest.mark.parametrize(
    ("query", "text", "html"),
    [
        ("report", "Two reports", "Two <mark>reports</mark>"),
        ('"a report"', "A report, reports", "<mark>A report</mark>, reports"),
        ("cafe -tea", "Caf\u00e9 and tea", "<mark>Caf\u00e9</mark> and tea"),
        ("type:output", "Output", "Output"),
        ("script", "<script>&", "&lt;<mark>script</mark>&gt;&amp;"),
        ("x", "<b>", "&lt;b&gt;"),
    ],
)
def test_wanted_words_are_marked(query: str, text: str, html: str) -> None:
    assert marked(text, read(query).terms) == html


def test_one_search_finds_what_waits_and_what_is_over(
    alices: Person, make_delivery: MakeDelivery, answer: Answer, age: Age
) -> None:
    make_delivery(headline="The saffron report")
    answer(make_delivery(headline="An older saffron report"))
    make_delivery(headline="Something else")
    age(make_delivery(headline="An expired saffron report", timeout_seconds=60), minutes=5)
    index_new(at=timezone.now())

    page = alices.get("/", q="saffron")

    html = page.content.decode()
    assert "2 results for saffron" in text_of(page)
    assert html.count("<mark>saffron</mark>") == 3
    assert html.index("The <mark>saffron</mark>") < html.index("In the history")
    assert html.index("In the history") < html.index("An older <mark>saffron</mark>")
    assert '<h3 class="row__headline">' in html.partition("In the history")[2]
    assert '<h2 class="row__headline">' not in html
    assert '<h2 class="row__headline">' in alices.get("/history/").content.decode()
    assert "Something else" not in html
    assert "In the history" not in alices.get("/", q="type:output").content.decode()
