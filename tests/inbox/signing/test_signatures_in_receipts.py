"""A receipt carries the signatures of the people who approved, until the signatures are erased."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import person
from accounts.models import Membership, Passkey, Team, User
from accounts.people.data import removal
from accounts.sign_in.passkeys.public_keys import fingerprint
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.signers import Signer
from tests.types import MakeDelivery
from wake.models import Delivery, Receipt, Response, Retention, Vote
from wake.proof import receipts
from wake.proof.receipt_keys import key_set
from wake.responses import release
from wake.retention import erase_old
from wake_client.proof.receipts import verified
from wake_client.proof.signatures import signers

Claims = Callable[[Delivery], dict[str, Any]]


@pytest.fixture(autouse=True)
def _at_localhost(settings: Any) -> None:
    """Names the origin at which the tests use passkeys, because a receipt names it, too."""
    settings.WAKE_ORIGIN = "http://localhost"


@pytest.fixture
def claims_for_agent(caller: AgentClient) -> Claims:
    def fetch(delivery: Delivery) -> dict[str, Any]:
        response = Response.objects.get(delivery=delivery)
        if response.responded_at is None:
            release(response, at=timezone.now())
        return verified(caller.get(f"receipt/{delivery.pk}").content.decode(), key_set())

    return fetch


def test_the_agent_can_check_the_signature(
    irreversible: Delivery, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(irreversible, feedback="Yes.")

    claims = claims_for_agent(irreversible)

    assert claims["via"] == "passkey"
    assert "person" not in claims
    assert claims["feedback_sha256"] == hashlib.sha256(b"Yes.").hexdigest()
    assert signers(claims) == [fingerprint(Passkey.objects.get())]


def test_without_disclosures_it_says_only_that_a_passkey_signed(
    irreversible: Delivery, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(irreversible)
    claims_for_agent(irreversible)

    bare = verified(receipts.for_gate(Receipt.objects.get()), key_set())

    assert (bare["via"], bare["signatures"]) == ("passkey", [])


def test_a_callback_has_no_room_for_it(
    irreversible: Delivery, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(irreversible)
    claims_for_agent(irreversible)

    claims = verified(receipts.for_callback(Receipt.objects.get()), key_set())

    assert (claims["via"], claims["signatures"]) == ("passkey", [])
    assert "feedback_sha256" in claims


def test_an_edit_is_part_of_it(
    irreversible: Delivery, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(irreversible, "redirected", edited_as="json", edited_content='{"amount": 9}')

    assert len(signers(claims_for_agent(irreversible))) == 1


def test_each_vote_is_part_of_it(
    for_two: Delivery, signing_alice: Signer, signing_bob: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(for_two, feedback="One.")
    signing_bob.sign(for_two, feedback="Two.")

    claims = claims_for_agent(for_two)

    assert set(signers(claims)) == {fingerprint(each) for each in Passkey.objects.all()}
    assert [vote["via"] for vote in claims["votes"]] == ["passkey", "passkey"]


def test_a_vote_that_did_not_count_is_not_part_of_it(
    signing_team: Team,
    make_delivery: MakeDelivery,
    signing_alice: Signer,
    signing_bob: Signer,
    claims_for_agent: Claims,
) -> None:
    carol = User.objects.create_user("carol@example.com", "correct horse battery")
    Membership.objects.create(team=signing_team, user=carol, role=Membership.Role.REVIEWER)
    delivery = make_delivery(irreversible=True, quorum=3)
    signing_alice.sign(delivery)
    signing_bob.sign(delivery)
    Membership.objects.filter(user=signing_bob.user).delete()
    Team.objects.update(signs_irreversible=False)
    Signer(carol, has_passkey=False).send(delivery)

    claims = claims_for_agent(delivery)

    assert [vote["via"] for vote in claims["votes"]] == ["passkey", "page"]
    assert len(claims["signatures"]) == 1
    assert signers(claims) == []


def test_a_delivery_of_version_0_2_is_checked_by_its_hash(
    irreversible: Delivery, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    Delivery.objects.update(nonce="", content_hash="0" * 64)
    irreversible.refresh_from_db()
    signing_alice.sign(irreversible)

    claims = claims_for_agent(irreversible)

    assert claims["digest"] is None
    assert len(signers(claims)) == 1


def test_retention_erases_it(
    irreversible: Delivery, team: Team, signing_alice: Signer, claims_for_agent: Claims
) -> None:
    signing_alice.sign(irreversible)
    claims_for_agent(irreversible)
    Retention.objects.create(team=team, days=30)

    erase_old(at=timezone.now() + timedelta(days=31))

    claims = claims_for_agent(irreversible)
    assert (claims["via"], claims["signatures"]) == ("passkey", [])
    assert Response.objects.get().signature_json == ""


def test_the_removal_of_a_person_erases_theirs_only(
    signing_team: Team,
    make_delivery: MakeDelivery,
    signing_alice: Signer,
    signing_bob: Signer,
    claims_for_agent: Claims,
) -> None:
    together, alone = [make_delivery(irreversible=True, quorum=each) for each in (2, None)]
    for each in (signing_alice, signing_bob):
        each.sign(together)
    signing_bob.sign(alone)
    alices = fingerprint(Passkey.objects.get(user=signing_alice.user))
    for delivery in (together, alone):
        claims_for_agent(delivery)

    removal.remove(signing_bob.user, by=person(signing_bob.user), at=timezone.now())

    left = claims_for_agent(together)["signatures"]
    assert len(left) == 1
    assert signers({**claims_for_agent(together), "quorum": None}) == [alices]
    assert claims_for_agent(alone)["signatures"] == []
    assert Response.objects.exclude(signature_json="").count() == 0
    assert Vote.objects.exclude(signature_json="").count() == 1
