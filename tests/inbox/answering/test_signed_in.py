"""An answer says how the person was signed in, and whether they had opened the delivery."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent, User
from accounts.sign_in.browsers.session_names import METHODS
from inbox.models import Reading
from tests.inbox.person import Person
from tests.types import MakeDelivery
from wake.models import Response, Vote


@pytest.fixture(autouse=True)
def _with_a_code(alices: Person) -> None:
    session = alices.client.session
    session[METHODS] = ["pwd", "otp"]
    session.save()


def test_an_answer_on_the_page(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()
    alices.get(f"/deliveries/{delivery.pk}/")

    alices.answer(delivery)

    response = Response.objects.get()
    assert response.amr == "pwd otp"
    assert response.auth_time is not None
    assert response.opened_at == Reading.objects.get().opened_at
    event = AuditEvent.objects.get(event="delivery.answered")
    assert event.detail["amr"] == ["pwd", "otp"]
    assert event.detail["auth_time"] == int(response.auth_time.timestamp())


def test_an_answer_in_the_list_was_not_opened(alices: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    alices.answer(delivery, place="list", back="")

    response = Response.objects.get()
    assert (response.place, response.amr, response.opened_at) == ("list", "pwd otp", None)


def test_each_vote_says_it(alices: Person, bob: User, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery(quorum=2)
    alices.get(f"/deliveries/{delivery.pk}/")

    alices.answer(delivery)

    vote = Vote.objects.get()
    assert vote.amr == "pwd otp"
    assert vote.auth_time is not None
    assert vote.opened_at is not None
    assert AuditEvent.objects.get(event="delivery.voted").detail["amr"] == ["pwd", "otp"]
