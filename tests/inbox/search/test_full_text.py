"""A sweep indexes every delivery for search after its commit."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from inbox.models import Searchable, Word
from inbox.search.index import forget, index_new
from tests.types import Answer, MakeDelivery
from wake.responses import take_back

pytestmark = pytest.mark.django_db


def found(text: str) -> list[str]:
    rows = Searchable.objects.filter(words__match=text)
    return sorted(rows.values_list("delivery__headline", flat=True))


def test_words_are_found_after_the_sweep(make_delivery: MakeDelivery) -> None:
    make_delivery(headline="Pricing options", details_json='{"k": ["caf\\u00e9", 12.50]}')
    make_delivery(headline="Other")
    assert found("pricing") == []

    assert index_new() == 2

    assert found("pricing") == found("cafe") == found("50") == ["Pricing options"]
    assert index_new() == 0


def test_feedback_is_found_until_it_is_taken_back(
    make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    delivery = make_delivery(headline="Report")
    index_new()
    answer(delivery, "rejected", feedback="Zanzibar is missing")
    index_new()
    assert found("zanzibar") == ["Report"]

    take_back(delivery, by=alice, at=timezone.now())

    assert found("zanzibar") == []
    assert found("report") == ["Report"]


def test_what_is_encrypted_is_not_found_by_its_words(
    make_delivery: MakeDelivery, answer: Answer, settings: Any
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = True
    delivery = make_delivery(headline="Report", summary="Monthly.", details_json='"Zanzibar"')
    answer(delivery, "rejected", feedback="Not Madagascar")

    index_new()

    assert found("report") == found("monthly") == ["Report"]
    assert found("zanzibar") == found("madagascar") == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no list of words")
def test_words_of_what_was_erased_are_forgotten_where_they_stand_nowhere_else(
    make_delivery: MakeDelivery,
) -> None:
    gone = make_delivery(headline="Zanzibar report")
    make_delivery(headline="Another report")
    index_new()

    with transaction.atomic():
        forget([gone.pk])

    known = set(Word.objects.values_list("text", flat=True))
    assert {"another", "report"} <= known
    assert "zanzibar" not in known
