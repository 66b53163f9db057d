"""When content is encrypted, search finds headlines and summaries only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from inbox.search.index import index_new
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from tests.wake.retention.stored import tables_with

NOTE = "Only headlines and summaries were searched"


@pytest.fixture
def history(alice: User) -> Callable[[str], str]:
    """Returns what a search in the history shows."""

    def look(query: str) -> str:
        while index_new(at=timezone.now()):
            pass
        return text_of(Person(alice).get("/history/", q=query))

    return look


def test_switching_encryption_on_removes_content_from_search(
    settings: Any, make_delivery: MakeDelivery, answer: Answer, history: Callable[[str], str]
) -> None:
    delivery = make_delivery(headline="About nutmeg", details_json='"saffron"')
    answer(delivery, "rejected", feedback="Less paprika.")
    assert "About nutmeg" in history("saffron")
    assert NOTE not in history("saffron")

    settings.WAKE_ENCRYPT_CONTENT = True

    assert "About nutmeg" not in history("saffron")
    assert "About nutmeg" not in history("paprika")
    assert "About nutmeg" in history("nutmeg")
    tables = tables_with("saffron") | tables_with("paprika")
    assert tables <= {"wake_delivery", "wake_response"}  # until rotate_encryption has run


def test_switching_encryption_off_restores_content_in_search(
    encrypting: Any, make_delivery: MakeDelivery, answer: Answer, history: Callable[[str], str]
) -> None:
    answer(make_delivery(headline="About nutmeg", details_json='"saffron"'))
    assert "About nutmeg" not in history("saffron")

    encrypting.WAKE_ENCRYPT_CONTENT = False

    assert "About nutmeg" in history("saffron")


def test_the_page_says_so(
    encrypting: Any, history: Callable[[str], str], make_delivery: MakeDelivery, alice: User
) -> None:
    make_delivery()

    assert NOTE in history("saffron")
    assert NOTE in text_of(Person(alice).get("/", q="saffron"))
    assert NOTE not in history("is:late")


def test_an_indexed_row_is_not_indexed_again(make_delivery: MakeDelivery) -> None:
    make_delivery()

    assert index_new(at=timezone.now()) == 1
    assert index_new(at=timezone.now()) == 0


def test_words_of_other_deliveries_are_kept(
    settings: Any, make_delivery: MakeDelivery, answer: Answer, history: Callable[[str], str]
) -> None:
    answer(make_delivery(headline="About saffron"))
    answer(make_delivery(headline="About nutmeg", details_json='"saffron"'))
    history("saffron")
    settings.WAKE_ENCRYPT_CONTENT = True

    page = history("saff")

    assert "About saffron" in page
    assert "About nutmeg" not in page
