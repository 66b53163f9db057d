"""After an answer on a delivery's page, the list or the next delivery opens, and offers Undo."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Team, User
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, Prefer
from wake.models import Delivery, Response

Three = tuple[Delivery, Delivery, Delivery]


@pytest.fixture
def three(make_delivery: MakeDelivery) -> Three:
    """Returns outputs in the order of the list, the newest first."""
    third, second, first = (make_delivery(headline=name) for name in ("Three", "Two", "One"))
    return first, second, third


@pytest.fixture
def alices_next(alice: User, alices: Person, prefer: Prefer) -> Person:
    prefer(alice, after_answer="next")
    return alices


def approve(person: Person, delivery: Delivery, **fields: Any) -> Any:
    """Sends the form of the page, with the values that the page put into the form."""
    page = person.see(delivery).content.decode()
    then = {"then": "next"} if 'name="then" value="next"' in page else {}
    return person.answer(delivery, **then, **fields)


def test_the_list_opens_unless_the_person_chose_otherwise(alices: Person, three: Three) -> None:
    assert approve(alices, three[1])["Location"] == f"/?answered={three[1].pk}"


def test_the_next_delivery_opens_and_says_what_was_done(alices_next: Person, three: Three) -> None:
    answer = approve(alices_next, three[1])

    assert answer["Location"] == f"/deliveries/{three[2].pk}/?answered={three[1].pk}"
    page = alices_next.client.get(answer["Location"])
    assert "Approved: Two. Goes to the agent in" in text_of(page)
    assert f'action="/deliveries/{three[1].pk}/undo"' in page.content.decode()


def test_after_the_last_one_the_one_before_opens_and_then_the_list(
    alices_next: Person, three: Three
) -> None:
    first, second, third = three

    assert approve(alices_next, third)["Location"].startswith(f"/deliveries/{second.pk}/")
    assert approve(alices_next, second)["Location"].startswith(f"/deliveries/{first.pk}/")
    assert approve(alices_next, first)["Location"] == f"/?answered={first.pk}"


def test_the_filter_by_team_holds_and_the_way_back_stays(
    alices_next: Person, three: Three, second_team: Team
) -> None:
    answer = approve(alices_next, three[0], back=f"team={three[0].team.slug}")

    assert answer["Location"].startswith(f"/deliveries/{three[1].pk}/?back=team%3D")


def test_a_row_of_the_list_leads_back_to_the_list(alices_next: Person, three: Three) -> None:
    assert alices_next.answer(three[0])["Location"] == f"/?answered={three[0].pk}"


def test_got_it_opens_the_next_delivery_too(
    alices_next: Person, make_delivery: MakeDelivery, elsewhere: Delivery
) -> None:
    update, other = make_delivery(type="update", headline="Done"), make_delivery(type="update")
    send = alices_next.client.post

    answer = send("/acknowledgements", {"deliveries": str(update.pk), "then": "next"})

    assert answer["Location"] == f"/deliveries/{other.pk}/?answered={update.pk}"
    assert "Acknowledged: Done. No answer was sent." in text_of(send_to(alices_next, answer))
    theirs = send("/acknowledgements", {"deliveries": str(elsewhere.pk), "then": "next"})
    assert theirs["Location"] == "/"
    assert send("/acknowledgements", {"deliveries": "x", "then": "next"})["Location"] == "/"


def send_to(person: Person, answer: Any) -> Any:
    return person.client.get(answer["Location"])


def test_an_answer_that_is_refused_opens_nothing(
    alices_next: Person, bobs: Person, three: Three
) -> None:
    bobs.answer(three[0])

    assert alices_next.answer(three[0], then="next").status_code == 409
    assert Response.objects.count() == 1


def test_the_choice_is_a_setting(alices: Person, alice: User) -> None:
    answer = alices.client.post("/settings/answering/", {"after_answer": "next"}, follow=True)

    assert "Open the next delivery" in text_of(alices.get("/settings/"))
    assert "Saved." in text_of(answer)
    refused = alices.client.post("/settings/answering/", {"after_answer": "elsewhere"})
    assert refused.status_code == 422
