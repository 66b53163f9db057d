"""A delivery that a person has to sign can be answered on its page only. Every other way to answer
says why it refuses."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import Team, User
from tests.fixtures.answering_rules import run_rules
from tests.fixtures.signers import Signer
from tests.inbox.person import text_of
from tests.types import MakeAnsweringRule, MakeDelivery, MakeRule
from wake.models import Delivery, Place, Response, Sight
from wake.responses import NeedsPasskey, respond


@pytest.fixture
def of_rule(alice: User, make_rule: MakeRule, make_delivery: MakeDelivery) -> Delivery:
    """Returns a delivery that is short enough for the list and for Slack."""
    make_rule(people=[alice], needs_signature=True, must_wait=True)
    return make_delivery()


def test_the_list(of_rule: Delivery, irreversible: Delivery, signing_alice: Signer) -> None:
    inbox = signing_alice.browser.get("/")

    posted = signing_alice.send(of_rule, place="list")

    assert text_of(inbox).count("needs your passkey: open it to approve") == 2
    assert f"/deliveries/{of_rule.pk}/response" not in inbox.content.decode()
    assert posted.status_code == 422
    assert "The list does not show all of this delivery." in text_of(posted)
    assert "you sign with your passkey" in text_of(posted)


@pytest.mark.parametrize("answer", ["approved", "rejected"])
def test_several_together(of_rule: Delivery, signing_alice: Signer, answer: str) -> None:
    browser = signing_alice.browser
    page = browser.get("/batch/", {"id": str(of_rule.pk)})
    form = {
        "id": of_rule.pk,
        "read": of_rule.pk,
        f"answer-{of_rule.pk}": answer,
        f"hash-{of_rule.pk}": of_rule.content_hash,
    }
    result = browser.post("/batch/answer", form, follow=True, by_hand=True)

    assert f"answer-{of_rule.pk}" not in page.content.decode()
    assert "It needs your passkey. Answer it on its page." in text_of(result)
    assert not Response.objects.exists()


def test_rules_that_answer(
    alice: User,
    make_rule: MakeRule,
    make_answering_rule: MakeAnsweringRule,
    make_delivery: MakeDelivery,
) -> None:
    make_rule(people=[alice], thread_prefix="signed", needs_signature=True, must_wait=True)
    make_answering_rule(on=True)
    signed, other = make_delivery(thread="signed-1"), make_delivery(thread="other")

    approved = run_rules(at=timezone.now())

    assert (signed.needs_signature, other.needs_signature) == (True, False)
    assert approved == 1
    assert Response.objects.get().delivery_id == other.pk


@pytest.mark.parametrize("place", [Place.LIST, Place.BULK, Place.SLACK])
@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_the_verb_itself(irreversible: Delivery, alice: User, place: Place, status: str) -> None:
    with pytest.raises(NeedsPasskey):
        respond(
            irreversible,
            by=alice,
            status=status,
            content_hash=irreversible.content_hash,
            sight=Sight(place, ()),
            at=timezone.now(),
        )


def test_a_team_without_the_setting_answers_as_before(
    team: Team, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    short = make_delivery()

    assert "needs your passkey" not in text_of(signing_alice.browser.get("/"))
    assert signing_alice.send(short, place="list").status_code == 303
