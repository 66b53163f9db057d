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
from wake.undo import take_back

pytestmark = pytest.mark.django_db


def search(text: str) -> list[str]:
    rows = Searchable.objects.filter(words__match=text)
    return sorted(rows.values_list("delivery__headline", flat=True))


def test_deliveries_are_found_after_the_sweep(make_delivery: MakeDelivery) -> None:
    make_delivery(headline="Pricing options", details_json='{"k": ["caf\\u00e9", 12.50]}')
    make_delivery(headline="Other")
    assert search("pricing") == []

    assert index_new(at=timezone.now()) == 2

    assert search("pricing") == search("cafe") == search("50") == ["Pricing options"]
    assert index_new(at=timezone.now()) == 0


def test_feedback_is_found_until_it_is_undone(
    make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    delivery = make_delivery(headline="Report")
    index_new(at=timezone.now())
    answer(delivery, "rejected", feedback="Zanzibar is missing")
    index_new(at=timezone.now())
    assert search("zanzibar") == ["Report"]

    take_back(delivery, by=alice, at=timezone.now())

    assert search("zanzibar") == []
    assert search("report") == ["Report"]


def test_encrypted_content_is_not_found(
    make_delivery: MakeDelivery, answer: Answer, settings: Any
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = True
    delivery = make_delivery(headline="Report", summary="Monthly.", details_json='"Zanzibar"')
    answer(delivery, "rejected", feedback="Not Madagascar")

    index_new(at=timezone.now())

    assert search("report") == search("monthly") == ["Report"]
    assert search("zanzibar") == search("madagascar") == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no list of words")
def test_words_that_only_erased_content_had_are_deleted(
    make_delivery: MakeDelivery,
) -> None:
    gone = make_delivery(headline="Zanzibar report")
    make_delivery(headline="Another report")
    index_new(at=timezone.now())

    with transaction.atomic():
        forget([gone.pk])

    known = set(Word.objects.values_list("text", flat=True))
    assert {"another", "report"} <= known
    assert "zanzibar" not in known
