"""Later, read marks and saved phrases where they are used: in the inbox and on the delivery's
page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from inbox.models import Preset, Reading, Snooze
from wake.models import Delivery, Response

SignedIn = Callable[[User], Client]
MakeDelivery = Callable[..., Delivery]


def put_off(client: Client, delivery: Delivery, choice: str = "hour", **more: Any) -> Any:
    return client.post(f"/deliveries/{delivery.pk}/later", {"choice": choice}, **more)


def text(page: Any) -> str:
    return str(page.content.decode())


def test_what_is_put_off_leaves_the_inbox_and_is_found_under_later(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    client, delivery = signed_in(bob), make_delivery(headline="Market report")

    inbox = put_off(client, delivery, follow=True)

    assert inbox.redirect_chain == [("/", 303)]
    assert "Put off. Back " in text(inbox)
    assert "Market report" not in text(inbox)
    assert "Market report" in text(client.get("/later/"))


def test_it_can_be_brought_back(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    client, delivery = signed_in(bob), make_delivery(headline="Market report")
    put_off(client, delivery)

    later = client.post(f"/deliveries/{delivery.pk}/later/undo", follow=True)

    assert "It is in your inbox again." in text(later)
    assert "Nothing is put off." in text(later)
    assert "Market report" in text(client.get("/"))


def test_the_menu_says_when_a_window_brings_it_back_earlier(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery(timeout_seconds=600)

    page = text(signed_in(bob).get(f"/deliveries/{delivery.pk}/"))

    assert page.count('name="choice"') == 1
    assert "Before its window closes, " in page


def test_a_reader_puts_off_for_themselves(
    alice: User, rita: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery(headline="Market report")

    put_off(signed_in(rita), delivery)

    assert "Market report" not in text(signed_in(rita).get("/"))
    assert "Market report" in text(signed_in(alice).get("/"))


def test_a_choice_that_there_is_none_of_is_told_on_the_page(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    page = put_off(signed_in(bob), delivery, "next year", follow=True)

    assert page.redirect_chain == [(f"/deliveries/{delivery.pk}/", 303)]
    assert "That time has passed already" in text(page)
    assert Snooze.objects.count() == 0


def test_what_somebody_answered_is_neither_put_off_nor_offered_to_be(
    bob: User, make_delivery: MakeDelivery, answer: Callable[..., Response], signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(bob)
    answer(delivery)

    page = put_off(client, delivery, follow=True)

    assert "This one no longer waits for anybody." in text(page)
    assert 'name="choice"' not in text(page)


@pytest.mark.parametrize("action", ["later", "later/undo", "reading", "phrases"])
def test_another_teams_delivery_is_not_there(
    action: str, mallory: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(mallory)

    answer = client.post(f"/deliveries/{delivery.pk}/{action}", {"choice": "hour"})
    not_there = client.post(f"/deliveries/{uuid4()}/{action}", {"choice": "hour"})

    assert (answer.status_code, not_there.status_code) == (404, 404)
    assert not Snooze.objects.exists()
    assert not Reading.objects.exists()


def test_opening_it_marks_it_for_who_opened_it_alone(
    alice: User, bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    signed_in(bob).get(f"/deliveries/{delivery.pk}/")

    assert "row--read" in text(signed_in(bob).get("/"))
    assert "row--read" not in text(signed_in(alice).get("/"))


def test_it_can_be_marked_as_unread_and_as_read(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery, client = make_delivery(), signed_in(bob)
    path = f"/deliveries/{delivery.pk}/reading"

    read = text(client.post(path, {"read": "yes"}, follow=True))
    unread = text(client.post(path, {"read": "no"}, follow=True))

    assert "row--read" in read
    assert "row--read" not in unread


def test_a_phrase_goes_under_what_was_typed_and_nothing_is_sent(
    bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    phrase = Preset.objects.create(user=bob, status="approved", name="Ship it", text="Go ahead.")
    delivery, client = make_delivery(), signed_in(bob)
    path = f"/deliveries/{delivery.pk}/phrases"

    asked_for_nothing = text(client.get(f"/deliveries/{delivery.pk}/"))
    offered = text(client.post(path, {"feedback": "My words <b>"}))
    filled = text(client.post(path, {"feedback": "My words <b>\r\n", "phrase": str(phrase.pk)}))

    assert ">Saved phrases</button>" in asked_for_nothing
    assert "You have none yet." not in asked_for_nothing
    assert "Ship it" in offered
    assert ">\nMy words &lt;b&gt;</textarea>" in offered
    assert ">\nMy words &lt;b&gt;\nGo ahead.</textarea>" in filled
    assert not Response.objects.exists()


def test_another_persons_phrase_cannot_be_had(
    alice: User, bob: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    theirs = Preset.objects.create(user=alice, status="approved", name="Secret", text="Her words")
    delivery = make_delivery()

    page = text(
        signed_in(bob).post(f"/deliveries/{delivery.pk}/phrases", {"phrase": str(theirs.pk)})
    )

    assert "Her words" not in page
    assert "Secret" not in page
    assert "You have none yet." in page


def test_who_may_not_answer_needs_no_phrases(
    rita: User, make_delivery: MakeDelivery, signed_in: SignedIn
) -> None:
    delivery = make_delivery()

    assert signed_in(rita).post(f"/deliveries/{delivery.pk}/phrases").status_code == 403
