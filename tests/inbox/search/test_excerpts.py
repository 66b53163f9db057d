"""A result whose headline and summary do not say why it was found shows words of its details."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone

from inbox.search import excerpts
from inbox.search.index import index_new
from tests.inbox.person import Person
from tests.types import Answer, MakeDelivery

LONG = " ".join(["lorem"] * 40)


def html_of(person: Person, path: str, query: str) -> str:
    html: str = person.get(path, q=query).content.decode()
    return html


def test_the_list_and_the_history_show_the_words_around_the_first_match(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    text = f"{LONG} the saffron\nharvest <b>fails</b> {LONG}"
    make_delivery(headline="Waiting", details_json=json.dumps(text))
    answer(make_delivery(headline="Over", details_json=json.dumps({"crop": "Saffron", "kilos": 7})))
    index_new(at=timezone.now())

    waiting, over = html_of(alices, "/", "saffron"), html_of(alices, "/history/", "saffron")

    for expected in (
        "…lorem lorem",
        "the <mark>saffron</mark> harvest &lt;b&gt;fails&lt;/b&gt; lorem",
        "lorem…</p>",
    ):
        assert expected in waiting
    assert "crop · <mark>Saffron</mark> · kilos · 7</p>" in over


def test_the_marks_of_markdown_are_left_out(alices: Person, make_delivery: MakeDelivery) -> None:
    table = "## Crops\n\n| crop | kilos |\n|---|--:|\n| **saffron** | 7 |\n| a-b | #2 |\n"
    make_delivery(details_json=json.dumps(table))
    index_new(at=timezone.now())

    expected = ">Crops · crop · kilos · <mark>saffron</mark> · 7 · a-b · #2 · </p>"
    assert expected in html_of(alices, "/", "saffron")


def test_an_excerpt_of_a_text_without_blanks_is_short(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(details_json=json.dumps(f"{'a,' * 1_000}saffron{',b' * 1_000}"))
    index_new(at=timezone.now())

    html = html_of(alices, "/", "saffron")

    assert "<mark>saffron</mark>" in html
    assert html.count("a,") < 50


def test_a_row_that_shows_the_match_itself_has_no_excerpt(
    alices: Person, make_delivery: MakeDelivery, django_assert_num_queries: Any
) -> None:
    make_delivery(headline="Saffron", details_json='"saffron"')
    index_new(at=timezone.now())

    assert "row__excerpt" not in html_of(alices, "/", "saffron")


def test_words_that_are_not_in_the_details_have_no_excerpt(
    alices: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery(details_json='"About tea."'), feedback="More saffron.")
    index_new(at=timezone.now())

    html = html_of(alices, "/history/", "saffron")
    assert "row__headline" in html
    assert "row__excerpt" not in html


def test_encrypted_details_are_not_read(
    alices: Person, make_delivery: MakeDelivery, settings: Any
) -> None:
    make_delivery(details_json='"saffron"')
    index_new(at=timezone.now())
    settings.WAKE_ENCRYPT_CONTENT = True

    assert "row__excerpt" not in html_of(alices, "/", "saffron")


def test_it_takes_one_query_for_a_limited_number_of_rows(
    alices: Person,
    make_delivery: MakeDelivery,
    django_assert_num_queries: Any,
) -> None:
    rows = [make_delivery(details_json='"saffron"') for _ in range(excerpts.MAX_EXCERPTS + 2)]
    index_new(at=timezone.now())
    query = alices.get("/", q="saffron").context["query"]

    with django_assert_num_queries(1):
        found = excerpts.excerpts_of(rows, query)

    assert len(found) == excerpts.MAX_EXCERPTS


def test_a_search_that_only_leaves_words_out_reads_no_details(
    alices: Person, make_delivery: MakeDelivery, django_assert_num_queries: Any
) -> None:
    rows = [make_delivery(details_json='"tea"')]
    query = alices.get("/", q="-saffron").context["query"]

    with django_assert_num_queries(0):
        assert not excerpts.excerpts_of(rows, query)


def test_a_word_beyond_what_is_indexed_has_no_excerpt(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    near, far = (
        make_delivery(details_json=json.dumps(["tea " * count, "saffron"]))
        for count in (4_000, 6_000)
    )
    query = alices.get("/", q="saffron").context["query"]

    assert set(excerpts.excerpts_of([near, far], query)) == {near.pk}
