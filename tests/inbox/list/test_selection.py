"""The selection is kept when a person reviews, snoozes or filters deliveries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.utils import timezone

from inbox.models import Snooze
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery
from wake.models import Delivery


def ids(*deliveries: Delivery) -> list[str]:
    return [str(delivery.pk) for delivery in deliveries]


def go(person: Person, to: str, *deliveries: Delivery, **fields: Any) -> Any:
    given = {"to": to, "id": ids(*deliveries), **fields}
    return person.client.post("/selection", given, page=f"/?id={uuid4()}")


def snooze(person: Person, choice: str, *deliveries: Delivery, **fields: Any) -> Any:
    given = {"id": ids(*deliveries), "choice": choice, **fields}
    page = f"/snoozed/choices?{urlencode({'id': given['id']}, doseq=True)}"
    return person.client.post("/snoozed/add", given, page=page, follow=True)


def test_the_selection_is_in_the_address_and_checked_on_the_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    ticked, other = make_delivery(), make_delivery()

    page = alices.get("/", id=ids(ticked))

    html = page.content.decode()
    assert "1 selected" in text_of(page)
    assert f'value="{ticked.pk}" form="triage" checked' in html
    assert f'value="{other.pk}" form="triage" aria' in html


def test_rows_on_another_page_stay_selected_and_are_counted(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    away = uuid4()

    page = alices.get("/", id=str(away), type="output")

    assert "1 selected 1 not on this page" in text_of(page)
    assert f'<input type="hidden" name="id" value="{away}">' in page.content.decode()


def test_links_to_older_pages_keep_the_selection(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    now = timezone.now()
    rows = [make_delivery(at=now - timedelta(minutes=number)) for number in range(51)]

    page = alices.get("/", id=ids(rows[0])).content.decode()

    assert f"&amp;id={rows[0].pk}" in page


@pytest.mark.parametrize(
    ("to", "path"), [("review", "/batch/"), ("later", "/snoozed/choices"), ("", "/")]
)
def test_the_selection_and_the_filter_are_kept(
    alices: Person, make_delivery: MakeDelivery, to: str, path: str
) -> None:
    delivery = make_delivery()

    answer = go(alices, to, delivery, back="q=report")

    assert answer.status_code == 303
    assert answer["Location"].startswith(f"{path}?")
    assert f"id={delivery.pk}" in answer["Location"]
    assert "report" in answer["Location"]


def test_the_longest_filter_is_kept(alices: Person, db: None) -> None:
    back = f"q={'é' * 600}"

    location = go(alices, "", back=back)["Location"]
    too_long = go(alices, "", back=f"{back}{'é' * 600}")["Location"]

    assert location == f"/?q={'%C3%A9' * 600}"
    assert too_long == "/"


@pytest.mark.parametrize(
    "back", ["a&" * 3_000, "%00", "q=%ff%fe", "id=x&id=&before=x", "q=%ed%a0%bd"]
)
def test_an_invalid_return_address_becomes_the_inbox_or_is_refused(
    alices: Person, db: None, back: str
) -> None:
    assert go(alices, "", back=back).status_code in {303, 400}


def test_an_empty_selection_redirects_back(alices: Person, db: None) -> None:
    assert go(alices, "review", back="q=report")["Location"] == "/?q=report"


def test_at_most_fifty_rows_stay_selected(alices: Person, db: None) -> None:
    many = [str(uuid4()) for _ in range(80)]

    answer = alices.client.post("/selection", {"to": "review", "id": many}, page=f"/?id={many[0]}")

    assert answer["Location"].count("id=") == 50


def test_answering_another_row_keeps_selection_and_filter(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    ticked, answered = make_delivery(), make_delivery()

    answer = alices.answer(answered, id=ids(ticked, answered), back="type=output")

    assert answer["Location"] == f"/?type=output&id={ticked.pk}&answered={answered.pk}"


def test_an_undo_keeps_the_selection_too(alices: Person, make_delivery: MakeDelivery) -> None:
    ticked, answered = make_delivery(), make_delivery()
    alices.answer(answered)

    answer = alices.undo(answered, back=f"type=output&id={ticked.pk}")

    assert answer["Location"] == f"/?type=output&id={ticked.pk}"


def test_selected_deliveries_are_snoozed_and_the_filter_stays(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(headline="Not now")

    choices = alices.get("/snoozed/choices", id=ids(delivery), back="type=output")
    page = snooze(alices, "hour", delivery, back="type=output")

    assert "Not now" in text_of(choices)
    assert f'href="/?type=output&amp;id={delivery.pk}"' in choices.content.decode()
    assert page.redirect_chain == [("/?type=output", 303)]
    assert "Snoozed. Back " in text_of(page)
    assert Snooze.objects.get().delivery == delivery


def test_several_deliveries_are_snoozed_each_before_its_own_deadline(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    soon, other = make_delivery(timeout_seconds=1200), make_delivery()

    page = snooze(alices, "tomorrow", soon, other)

    text = text_of(page)
    assert "2 snoozed. Back tomorrow at 09:00" in text
    assert "deliveries with an earlier deadline come back before it" in text
    early, late = Snooze.objects.order_by("until")
    assert early.delivery == soon
    assert early.until < soon.expires_at  # type: ignore[operator]
    assert late.delivery == other


@pytest.mark.parametrize("choice", ["", "next year"])
def test_an_unknown_time_snoozes_nothing(
    alices: Person, make_delivery: MakeDelivery, choice: str
) -> None:
    page = snooze(alices, choice, make_delivery())

    assert "Choose another" in text_of(page)
    assert not Snooze.objects.exists()


def test_another_teams_delivery_cannot_be_snoozed(alices: Person, elsewhere: Delivery) -> None:
    choices = alices.get("/snoozed/choices", id=ids(elsewhere))
    page = alices.client.post(
        "/snoozed/add", {"id": ids(elsewhere), "choice": "hour"}, follow=True, by_hand=True
    )

    assert "These deliveries no longer need an answer." in text_of(choices)
    assert "These deliveries no longer need an answer." in text_of(page)
    assert not Snooze.objects.exists()
