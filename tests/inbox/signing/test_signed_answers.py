"""A person signs an approval with their passkey."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, Team, User
from tests.fixtures.signers import Signer
from tests.inbox.person import text_of
from tests.types import MakeDelivery, MakeRule
from wake.models import Delivery, Draft, Response, Vote
from wake.proof.signatures import as_text, challenge_of


def signed(row: Response | Vote) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(row.signature_json)
    return stored


def test_the_page_shows_exactly_what_is_signed_and_then_stores_the_signature(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    page = signing_alice.see(irreversible)

    asked = signing_alice.send(irreversible, feedback="  Go. ")
    nothing_yet = Response.objects.count()
    answered = signing_alice.sign(irreversible, feedback="  Go. ")

    assert "you sign with your passkey. You can reject without it." in text_of(page)
    assert asked.status_code == 200
    assert "Sign your answer" in text_of(asked)
    assert "Approved" in text_of(asked)
    assert "Go." in text_of(asked)
    assert nothing_yet == 0
    assert answered.status_code == 303
    response = Response.objects.get()
    assert (response.status, response.place, response.feedback) == ("approved", "passkey", "Go.")
    statement = signed(response)["statement"]
    assert statement == {
        "delivery_id": str(irreversible.pk),
        "digest": irreversible.content_hash,
        "edited_content_sha256": None,
        "feedback_sha256": hashlib.sha256(b"Go.").hexdigest(),
        "random": statement["random"],
        "status": "approved",
        "type": "wake-answer",
    }
    assert not Draft.objects.exists()


def test_the_page_the_history_and_the_audit_say_so(
    irreversible: Delivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    signing_alice.sign(irreversible)

    own, bobs = text_of(signing_alice.see(irreversible)), text_of(signing_bob.see(irreversible))
    history = text_of(signing_bob.browser.get("/history/"))
    audit = text_of(signing_alice.browser.get("/audit/"))

    assert "signed with your passkey; everything was in sight." in own
    assert "signed with alice's passkey; everything was in sight." in bobs
    assert "signed with alice's passkey" in history
    assert "on its page, signed with a passkey" in audit
    event = AuditEvent.objects.get(event="delivery.answered")
    assert event.detail["place"] == "passkey"


def test_the_challenge_is_the_hash_of_the_canonical_statement(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    signing_alice.sign(irreversible, feedback="Nur einmal: 180 €")

    stored = signed(Response.objects.get())
    statement = stored["statement"]
    canonical = json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    challenge = hashlib.sha256(canonical.encode()).digest()
    assert challenge_of(statement) == challenge
    assert as_text(challenge).encode() in _bytes(stored["client_data_json"])


def test_an_edit_and_a_choice_are_signed_as_the_agent_gets_them(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    fields = {"edited_as": "json", "edited_content": '{"amount": 90}'}

    asked = signing_alice.send(irreversible, "redirected", **fields)
    signing_alice.sign(irreversible, "redirected", **fields)

    assert "90" in text_of(asked)
    response = Response.objects.get()
    assert (response.status, response.edited_json) == ("redirected", '{"amount": 90}')
    hashed = hashlib.sha256(b'{"amount": 90}').hexdigest()
    assert signed(response)["statement"]["edited_content_sha256"] == hashed


def test_a_rejection_needs_no_passkey(irreversible: Delivery, alice: User) -> None:
    without = Signer(alice, has_passkey=False)

    assert without.send(irreversible, "rejected", feedback="No.").status_code == 303

    response = Response.objects.get()
    assert (response.status, response.place, response.signature_json) == ("rejected", "page", "")


def test_a_person_without_a_passkey_reads_what_to_do_and_loses_nothing(
    irreversible: Delivery, alice: User
) -> None:
    without = Signer(alice, has_passkey=False)

    page = text_of(without.see(irreversible))
    asked = without.send(irreversible, feedback="Only this one.")
    later = without.see(irreversible)

    assert "you need a passkey. Add one in your account, under Security." in page
    assert "This needs a passkey. Add one in your account, under Security" in text_of(asked)
    assert "Sign with your passkey" not in text_of(asked)
    assert not Response.objects.exists()
    assert Draft.objects.get().feedback == "Only this one."
    assert "Not sent. Your answer is kept here as a draft" in text_of(later)
    assert "Only this one." in later.content.decode()


def test_a_rule_asks_for_it_for_any_delivery_and_the_agent_then_waits(
    alice: User, make_rule: MakeRule, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    make_rule(people=[alice], needs_signature=True, must_wait=True)
    delivery = make_delivery(timeout_seconds=3600, on_timeout="proceed")

    asked = signing_alice.send(delivery)
    signing_alice.sign(delivery)

    assert delivery.on_timeout == "hold"
    assert "Sign your answer" in text_of(asked)
    assert Response.objects.get().place == "passkey"


def test_the_setting_applies_at_once_to_what_waits(
    team: Team, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    delivery = make_delivery(irreversible=True)
    Team.objects.update(signs_irreversible=True)

    assert "Sign your answer" in text_of(signing_alice.send(delivery))

    Team.objects.update(signs_irreversible=False)
    assert signing_alice.send(delivery).status_code == 303


def test_other_deliveries_are_not_signed(
    signing_team: Team, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    assert signing_alice.send(make_delivery()).status_code == 303
    assert Response.objects.get().signature_json == ""


def test_a_delivery_of_version_0_2_signs_its_hash(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    Delivery.objects.update(nonce="", content_hash="0" * 64)
    irreversible.refresh_from_db()

    assert signing_alice.sign(irreversible).status_code == 303

    assert signed(Response.objects.get())["statement"]["digest"] == "0" * 64


def test_each_vote_has_its_own_signature(
    for_two: Delivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    signing_alice.sign(for_two, feedback="Yes.")
    signing_bob.send(for_two)
    unsigned = Response.objects.count()
    signing_bob.sign(for_two)

    assert unsigned == 0
    response = Response.objects.get()
    assert (response.place, response.signature_json) == ("passkey", "")
    votes = Vote.objects.order_by("voted_at")
    statements = [signed(vote)["statement"] for vote in votes]
    assert [each["feedback_sha256"] for each in statements] == [
        hashlib.sha256(b"Yes.").hexdigest(),
        None,
    ]
    assert "signed with their passkeys" in text_of(signing_alice.see(for_two))


def test_votes_from_before_the_setting_no_longer_count(
    team: Team, make_delivery: MakeDelivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    delivery = make_delivery(irreversible=True, quorum=2)
    signing_alice.send(delivery)
    Team.objects.update(signs_irreversible=True)

    signing_bob.sign(delivery)
    after_bob = Response.objects.count()
    page = text_of(signing_alice.see(delivery))
    signing_alice.sign(delivery)

    assert after_bob == 0
    assert "Approve" in page
    assert Response.objects.get().status == "approved"
    assert all(vote.signature_json for vote in Vote.objects.all())


def test_the_page_costs_one_query_more_and_others_none(
    signing_team: Team, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    plain, needs = make_delivery(), make_delivery(irreversible=True)
    for delivery in (plain, needs):
        signing_alice.see(delivery)

    counts = []
    for delivery in (plain, needs):
        with CaptureQueriesContext(connection) as queries:
            signing_alice.see(delivery)
        counts.append(len(queries))

    assert counts[1] == counts[0] + 1


def test_taking_it_back_removes_the_signature_and_a_new_answer_needs_a_new_one(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    signing_alice.sign(irreversible, feedback="Yes.")
    first = signed(Response.objects.get())

    signing_alice.undo(irreversible)
    unsigned = signing_alice.send(irreversible, feedback="Yes.")
    signing_alice.sign(irreversible, feedback="Yes.")

    assert "Sign your answer" in text_of(unsigned)
    again = signed(Response.objects.get())
    assert again["statement"]["random"] != first["statement"]["random"]


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
