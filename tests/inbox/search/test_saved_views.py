"""A person pins searches at the head of their own inbox."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from inbox.search.saved_views import MAX_VIEWS, save_view, views_of
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


def save(person: Person, name: str, q: str = "type:alert") -> Any:
    page = f"/?{urlencode({'q': q or 'type:alert'})}"
    return person.client.post("/views", {"name": name, "q": q}, follow=True, page=page)


def names(person: Person) -> list[str]:
    person.user.refresh_from_db()
    return [view.name for view in views_of(person.user)]


def test_a_search_is_saved_under_a_name_and_pinned(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="A report")
    make_delivery(type="alert", headline="An alert")

    page = save(alices, "My alerts", "type:alert")

    assert page.redirect_chain == [("/?q=type%3Aalert", 303)]
    assert "View saved." in text_of(page)
    assert "Saved as My alerts" in text_of(page)
    assert "A report" not in text_of(page)
    assert 'href="/?q=type%3Aalert"' in alices.get("/").content.decode()
    assert "My alerts" not in text_of(bobs.get("/"))


def test_the_same_name_replaces_the_search_in_its_place(alices: Person) -> None:
    for name, q in (("First", "type:alert"), ("Second", "type:update"), ("First", "is:soon")):
        save(alices, name, q)

    assert names(alices) == ["First", "Second"]
    assert views_of(alices.user)[0].text == "is:soon"


def test_a_view_with_an_earlier_name_of_a_filter_can_be_removed(alices: Person) -> None:
    save_view(alices.user, name="Postponed", text="is:later")

    page = text_of(alices.get("/", q="is:later"))

    assert "Saved as Postponed" in page
    assert "Remove view" in page


def test_a_view_is_removed(alices: Person) -> None:
    save(alices, "First")
    save(alices, "Second")

    page = alices.client.post("/views/remove", {"name": "First", "q": "type:alert"}, follow=True)

    assert "View removed." in text_of(page)
    assert names(alices) == ["Second"]


def test_no_more_than_twelve_are_saved(alices: Person) -> None:
    for number in range(MAX_VIEWS):
        save(alices, f"View {number}")

    page = save(alices, "One more")

    assert "You have 12 saved views" in text_of(page)
    assert len(names(alices)) == MAX_VIEWS


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("", "type:alert"),
        ("x" * 41, "type:alert"),
        ("a\nb", "a"),
        ("Name", ""),
        ("Name", "x" * 1001),
    ],
)
def test_an_invalid_view_is_explained_and_not_saved(alices: Person, name: str, q: str) -> None:
    page = save(alices, name, q)

    assert page.status_code == 200
    assert "Couldn't save the view." in text_of(page)
    assert names(alices) == []


def test_a_name_is_text_on_the_page(alices: Person) -> None:
    page = save(alices, "<b>Bold</b>")

    assert "&lt;b&gt;Bold&lt;/b&gt;" in page.content.decode()
