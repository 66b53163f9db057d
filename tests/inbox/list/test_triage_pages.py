"""Snoozes, read marks and saved replies work in the inbox and on the delivery's page."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from database.clock import database_now
from inbox.models import Reading, SavedReply, Snooze
from tests.fixtures.strict_client import Client
from tests.types import Answer, MakeDelivery, SignedIn
from wake.models import Delivery, Response


def snooze(client: Client, delivery: Delivery, choice: str = "hour", **more: Any) -> Any:
    return client.post(f"/deliveries/{delivery.pk}/snooze", {"choice": choice}, **more)


def text(page: Any) -> str:
    return str(page.content.decode())


def test_a_snoozed_delivery_leaves_the_inbox_and_is_listed_under_later(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    client, delivery = signed_in(bob), make_delivery(headline="Market report")

    inbox = snooze(client, delivery, follow=True)

    assert inbox.redirect_chain == [("/", 303)]
    assert "Snoozed. Back " in text(inbox)
    assert "Market report" not in text(inbox)
    assert "Market report" in text(client.get("/snoozed/"))


def test_an_acknowledged_update_can_be_brought_back(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    client, delivery = signed_in(bob), make_delivery(headline="Market report")
    snooze(client, delivery)

    path = f"/deliveries/{delivery.pk}/snooze/undo"
    later = client.post(path, page="/snoozed/", follow=True)

    assert "Back in your inbox." in text(later)
    assert "Nothing is snoozed." in text(later)
    assert "Market report" in text(client.get("/"))


def test_the_menu_says_when_a_deadline_ends_the_snooze_earlier(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    # In a time zone where the afternoon begins within ten minutes, the menu also offers the
    # afternoon.
    bob.time_zone = "UTC" if database_now().hour != 14 else "Asia/Tokyo"
    bob.save(update_fields=["time_zone"])
    delivery = make_delivery(timeout_seconds=600)

    page = text(signed_in(bob).get(f"/deliveries/{delivery.pk}/"))

    assert page.count('name="choice"') == 1
    assert "Before the deadline, " in page


def test_a_reader_snoozes_for_themselves(
    alice: User, rita: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery(headline="Market report")

    snooze(signed_in(rita), delivery)

    assert "Market report" not in text(signed_in(rita).get("/"))
    assert "Market report" in text(signed_in(alice).get("/"))


def test_an_unknown_choice_shows_an_error_on_the_page(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    page = snooze(signed_in(bob), delivery, "next year", follow=True)

    assert page.redirect_chain == [(f"/deliveries/{delivery.pk}/", 303)]
    assert "That time has already passed" in text(page)
    assert Snooze.objects.count() == 0


def test_an_answered_delivery_cannot_be_snoozed(
    bob: User, make_delivery: MakeDelivery, answer: Answer, signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(bob)
    client.get(f"/deliveries/{delivery.pk}/")
    answer(delivery)

    page = snooze(client, delivery, follow=True)

    assert "This delivery no longer needs an answer." in text(page)
    assert 'name="choice"' not in text(page)


@pytest.mark.parametrize("action", ["snooze", "snooze/undo", "reading", "saved-replies"])
def test_another_teams_delivery_is_a_404(
    action: str, mallory: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(mallory)

    answer = client.post(f"/deliveries/{delivery.pk}/{action}", {"choice": "hour"})
    not_there = client.post(f"/deliveries/{uuid4()}/{action}", {"choice": "hour"})

    assert (answer.status_code, not_there.status_code) == (404, 404)
    assert not Snooze.objects.exists()
    assert not Reading.objects.exists()


def test_opening_a_delivery_marks_it_as_read_for_one_person(
    alice: User, bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    signed_in(bob).get(f"/deliveries/{delivery.pk}/")

    assert "row--read" in text(signed_in(bob).get("/"))
    assert "row--read" not in text(signed_in(alice).get("/"))


def test_an_opened_delivery_can_be_marked_as_unread(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(bob)
    client.get(f"/deliveries/{delivery.pk}/")
    assert "row--read" in text(client.get("/"))

    page = client.post(f"/deliveries/{delivery.pk}/reading", follow=True)

    assert "row--read" not in text(page)


def test_a_saved_reply_is_added_below_the_text_and_not_sent(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    saved_reply = SavedReply.objects.create(
        user=bob, status="approved", name="Ship it", text="Go ahead."
    )
    delivery, client = make_delivery(), signed_in(bob)
    path = f"/deliveries/{delivery.pk}/saved-replies"

    asked_for_nothing = text(client.get(f"/deliveries/{delivery.pk}/"))
    offered = text(client.post(path, {"feedback": "My words <b>"}))
    filled = text(
        client.post(path, {"feedback": "My words <b>\r\n", "saved_reply": str(saved_reply.pk)})
    )

    assert ">Saved replies</button>" in asked_for_nothing
    assert "No saved replies yet." not in asked_for_nothing
    assert "Ship it" in offered
    assert ">\nMy words &lt;b&gt;</textarea>" in offered
    assert ">\nMy words &lt;b&gt;\nGo ahead.</textarea>" in filled
    assert not Response.objects.exists()


def test_another_persons_saved_reply_cannot_be_used(
    alice: User, bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    theirs = SavedReply.objects.create(
        user=alice, status="approved", name="Secret", text="Her words"
    )
    delivery = make_delivery()

    page = text(
        signed_in(bob).post(
            f"/deliveries/{delivery.pk}/saved-replies", {"saved_reply": str(theirs.pk)}
        )
    )

    assert "Her words" not in page
    assert "Secret" not in page
    assert "No saved replies yet." in page


def test_a_reader_sees_no_saved_replies(
    rita: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    assert signed_in(rita).post(f"/deliveries/{delivery.pk}/saved-replies").status_code == 403
