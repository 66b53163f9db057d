""" "Got it" removes from the inbox what needs no answer. Nothing is sent, and the delivery can be
brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Membership, User
from tests.inbox.person import Person, text_of
from tests.types import Age, MakeDelivery
from wake.acknowledgements import acknowledge, bring_back
from wake.models import Delivery, Response


def got_it(
    person: Person,
    *deliveries: Delivery,
    follow: bool = True,
    by_hand: bool = False,
    **fields: Any,
) -> Any:
    joined_ids = ",".join(str(delivery.pk) for delivery in deliveries)
    given = {"deliveries": joined_ids, **fields}
    return person.client.post("/acknowledgements", given, follow=follow, by_hand=by_hand)


def test_an_update_leaves_the_inbox_of_the_team_and_nothing_is_sent(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update", headline="Indexing reached 80 percent")

    page = got_it(alices, update)

    assert page.redirect_chain == [("/", 303)]
    assert "Acknowledged: Indexing reached 80 percent." in text_of(page)
    assert "You're all caught up" in text_of(page)
    assert "Indexing" not in text_of(bobs.get("/"))
    assert not Response.objects.exists()


def test_an_acknowledged_update_can_be_brought_back(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    updates = [make_delivery(type="update", headline=f"Update {number}") for number in range(3)]
    page = got_it(alices, *updates)
    assert "Acknowledged: 3 deliveries." in text_of(page)
    joined_ids = ",".join(str(update.pk) for update in updates)

    back = alices.client.post(
        "/acknowledgements/undo", {"deliveries": joined_ids, "back": "type=update"}, follow=True
    )

    assert back.redirect_chain == [("/?type=update", 303)]
    assert "Updates 3" in text_of(back)
    assert "Acknowledged: 3" not in text_of(back)


def test_the_session_stores_no_content(alices: Person, make_delivery: MakeDelivery) -> None:
    update = make_delivery(type="update", headline="About the saffron")
    got_it(alices, update, follow=False)

    session_text = str(dict(alices.client.session))

    assert str(update.pk) in session_text
    assert "saffron" not in session_text


def test_an_erased_delivery_is_not_named(alices: Person, make_delivery: MakeDelivery) -> None:
    update = make_delivery(type="update", headline="About the saffron")
    got_it(alices, update, follow=False)
    Delivery.objects.update(headline="Erased on 3 Dec 2026")

    page = text_of(alices.get("/"))

    assert "Acknowledged: Erased on 3 Dec 2026." in page


def test_a_former_member_does_not_see_the_headline(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update", headline="About the saffron")
    got_it(alices, update, follow=False)
    Membership.objects.all().delete()

    page = text_of(alices.get("/"))

    assert "Acknowledged: 1 delivery." in page
    assert "saffron" not in page


def test_deliveries_that_need_an_answer_stay_and_are_counted(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    update, alert = make_delivery(type="update"), make_delivery(type="alert")
    question = make_delivery(type="question", headline="Which one?")

    page = text_of(got_it(alices, update, alert, question))

    assert "Acknowledged: 2 deliveries." in page
    assert "One needs an answer, so it stays in the inbox." in page
    assert "Which one?" in page


def test_an_expired_delivery_can_be_acknowledged(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    delivery = make_delivery(type="question", timeout_seconds=60, headline="Which one?")
    age(delivery, minutes=5)

    assert "Acknowledged: Which one?." not in text_of(alices.get("/"))
    assert "Acknowledged: Which one?" in text_of(got_it(alices, delivery))


def test_without_a_row_the_selection_is_acknowledged(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    ticked, other = make_delivery(type="update"), make_delivery(type="update")

    page = alices.client.post(
        "/acknowledgements", {"id": [str(ticked.pk)], "back": ""}, follow=True
    )

    assert "Updates 1" in text_of(page)
    assert str(other.pk) in page.content.decode()


def test_acting_on_another_row_keeps_the_selection(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    ticked, other = make_delivery(), make_delivery(type="update")

    page = got_it(alices, other, id=[str(ticked.pk)], back="type=output")

    assert page.redirect_chain == [(f"/?type=output&id={ticked.pk}", 303)]
    assert f'value="{ticked.pk}" form="triage" checked' in page.content.decode()


def test_an_empty_selection_shows_a_message(alices: Person, db: None) -> None:
    page = alices.client.post("/acknowledgements", {}, follow=True, page=f"/?id={uuid4()}")

    assert "Nothing selected" in text_of(page)


def test_the_second_person_sees_that_it_is_acknowledged(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    update = make_delivery(type="update")
    bobs.get("/")
    got_it(alices, update)

    assert "Someone else has already dealt with it" in text_of(got_it(bobs, update))


def test_a_reader_cannot_acknowledge(ritas: Person, make_delivery: MakeDelivery) -> None:
    update = make_delivery(type="update", headline="Indexing reached 80 percent")

    got_it(ritas, update, by_hand=True)

    page = ritas.get("/").content.decode()
    assert "Indexing reached 80 percent" in page
    assert "Got it" not in page


def test_another_teams_delivery_stays_where_it_is(
    alices: Person, elsewhere: Delivery, browser: Callable[[User], Person], mallory: User
) -> None:
    Delivery.objects.update(type="update")

    page = got_it(alices, elsewhere, by_hand=True)

    assert "secret plan" not in page.content.decode()
    assert "secret plan" in browser(mallory).get("/").content.decode()


@pytest.mark.parametrize("back", ["//evil.example", "q=%0d%0aX: y", "https://evil.example/?q=1"])
def test_the_return_address_never_leaves_the_inbox(
    alices: Person, make_delivery: MakeDelivery, back: str
) -> None:
    answer = got_it(alices, make_delivery(type="update"), follow=False, back=back)

    assert answer.status_code == 303
    assert answer["Location"].split("?")[0] == "/"
    assert "\n" not in answer["Location"]
    assert "evil" not in answer["Location"]


def test_overlapping_rows_are_always_locked_in_the_same_order(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """Two people who acknowledged the same rows in different orders could deadlock."""
    updates = [make_delivery(type="update") for _ in range(6)]
    ids = [update.pk for update in updates]

    with CaptureQueriesContext(connection) as queries:
        taken = acknowledge(ids, by=alices.user, at=timezone.now())
        returned = bring_back(reversed(ids), by=alices.user, at=timezone.now())

    assert [row.pk for row in taken] == [row.pk for row in returned] == sorted(ids)
    locking = [each["sql"] for each in queries if "FOR UPDATE" in each["sql"]]
    if connection.features.has_select_for_update:
        assert len(locking) == 2
    assert all('ORDER BY "wake_delivery"."id" ASC' in sql for sql in locking)
