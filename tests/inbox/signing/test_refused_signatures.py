"""A signature is good for one answer of one person, once."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Passkey, User
from accounts.sign_in.passkeys import challenges
from accounts.sign_in.passkeys.challenges import LASTS, Purpose
from tests.fixtures.authenticator import Authenticator
from tests.fixtures.signers import Signer
from tests.inbox.person import text_of
from tests.types import MakeDelivery
from wake.models import Delivery, Draft, Response, Vote
from wake.proof.signatures import Signature, as_text, challenge_of, statement_of
from wake.responses import NeedsPasskey, respond

NOT_ACCEPTED = "That passkey wasn't accepted. Try again. Nothing was sent."
TOOK_TOO_LONG = "That took too long, or another tab of this browser came in between."


def assert_refused(answer: Any, reason: str) -> None:
    assert answer.status_code == 422
    assert reason in text_of(answer)
    assert "Nothing was sent." in text_of(answer)
    assert not Response.objects.exists()


def test_another_status_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    credential = signing_alice.credential(irreversible, "approved", feedback="Yes.")

    answer = signing_alice.send(irreversible, "redirected", feedback="Yes.", credential=credential)

    assert_refused(answer, NOT_ACCEPTED)
    assert Draft.objects.get().feedback == "Yes."
    assert AuditEvent.objects.filter(event="passkey.refused").exists()


def test_another_message_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    credential = signing_alice.credential(irreversible, feedback="Yes.")

    answer = signing_alice.send(irreversible, feedback="Yes!", credential=credential)

    assert_refused(answer, NOT_ACCEPTED)


def test_another_edit_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    fields = {"edited_as": "json", "edited_content": '{"amount": 90}'}
    credential = signing_alice.credential(irreversible, "redirected", **fields)

    fields["edited_content"] = '{"amount": 900}'
    answer = signing_alice.send(irreversible, "redirected", credential=credential, **fields)

    assert_refused(answer, NOT_ACCEPTED)


def test_another_delivery_is_refused(
    irreversible: Delivery, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    other = make_delivery(irreversible=True, details_json='{"amount": 180}')
    credential = signing_alice.credential(irreversible)

    assert_refused(signing_alice.send(other, credential=credential), NOT_ACCEPTED)


def test_a_forged_signature_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    """The forger knows the id of the passkey, and has another key."""
    signing_alice.phone.key = Authenticator().key

    assert_refused(signing_alice.sign(irreversible), NOT_ACCEPTED)


@pytest.mark.parametrize("text", ["x", "[]", "{}", '{"id": 1}', "é" * 30_000])
def test_nonsense_is_refused(irreversible: Delivery, signing_alice: Signer, text: str) -> None:
    signing_alice.credential(irreversible)

    assert_refused(signing_alice.send(irreversible, credential=text), NOT_ACCEPTED)


def test_a_replay_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    credential = signing_alice.credential(irreversible)
    cookie = signing_alice.browser.cookies["passkey"].value
    signing_alice.send(irreversible, credential=credential)
    first = Response.objects.get()
    again = signing_alice.send(irreversible, credential=credential)
    stays = Response.objects.get()
    signing_alice.undo(irreversible)

    signing_alice.browser.cookies["passkey"] = cookie
    replayed = signing_alice.send(irreversible, credential=credential)

    # The second press of a button gets the answer that the first press gave.
    assert (again.status_code, stays.pk, stays.signature_json) == (
        303,
        first.pk,
        first.signature_json,
    )
    assert_refused(replayed, TOOK_TOO_LONG)


def test_a_replay_with_a_new_challenge_is_refused(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    old = signing_alice.credential(irreversible)
    signing_alice.credential(irreversible)

    assert_refused(signing_alice.send(irreversible, credential=old), NOT_ACCEPTED)


def test_a_challenge_for_another_purpose_is_refused(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    signing_alice.credential(irreversible)
    options = signing_alice.browser.post("/sudo/passkey/options", by_hand=True)
    credential = json.dumps(signing_alice.phone.get(options.json()))

    assert_refused(signing_alice.send(irreversible, credential=credential), TOOK_TOO_LONG)


def test_a_device_that_did_not_check_the_person_is_refused(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    signing_alice.phone.verifies = False

    answer = signing_alice.sign(irreversible)

    assert_refused(answer, "Your device didn't check that it's you")
    assert "password" not in text_of(answer)


@pytest.mark.parametrize(
    "wrong", [{"origin": "https://evil.example.com"}, {"rp_id": "evil.example.com"}]
)
def test_another_site_is_refused(
    irreversible: Delivery, signing_alice: Signer, wrong: dict[str, str]
) -> None:
    for name, value in wrong.items():
        setattr(signing_alice.phone, name, value)

    assert_refused(signing_alice.sign(irreversible), NOT_ACCEPTED)


def test_a_counter_that_goes_back_is_refused(
    irreversible: Delivery, make_delivery: MakeDelivery, alice: User
) -> None:
    alices = Signer(alice, Authenticator(count=5))
    alices.sign(make_delivery(irreversible=True))
    Response.objects.all().delete()
    alices.phone.count = 3

    assert_refused(alices.sign(irreversible), "another device seems to have a copy of it")


def test_a_removed_passkey_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    credential = signing_alice.credential(irreversible)
    Passkey.objects.all().delete()

    answer = signing_alice.send(irreversible, credential=credential)

    assert_refused(answer, "This passkey doesn't work here. It may have been removed.")


def test_a_passkey_of_another_person_is_refused(
    irreversible: Delivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    signing_alice.phone.key = signing_bob.phone.key
    signing_alice.phone.credential_id = signing_bob.phone.credential_id

    answer = signing_alice.sign(irreversible)

    assert_refused(answer, "This passkey doesn't work here. It may have been removed.")


def test_an_old_challenge_is_refused(irreversible: Delivery, signing_alice: Signer) -> None:
    long_ago = timezone.now() - LASTS - timedelta(seconds=1)
    random, cookie = challenges.make(Purpose.ANSWER, of=signing_alice.user, at=long_ago)
    given: dict[str, Any] = {"status": "approved", "feedback": "", "edited_json": None}
    challenge = challenge_of(statement_of(irreversible, random=random, **given))
    credential = json.dumps(signing_alice.phone.get({"challenge": as_text(challenge)}))
    signing_alice.send(irreversible)
    signing_alice.browser.cookies["passkey"] = cookie

    answer = signing_alice.send(irreversible, credential=credential)

    assert_refused(answer, TOOK_TOO_LONG)


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_attempts_are_limited_like_those_at_sign_in(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    for _ in range(10):
        signing_alice.send(irreversible, credential="x")

    answer = signing_alice.sign(irreversible)

    assert_refused(answer, "Too many attempts. Try again in")


def test_a_person_who_may_not_answer_gets_no_challenge(
    irreversible: Delivery, rita: User, mallory: User
) -> None:
    form = {"status": "approved", "content_hash": irreversible.content_hash}
    path = f"/deliveries/{irreversible.pk}/response/options"
    codes = [
        Signer(person, has_passkey=False).browser.post(path, form, by_hand=True).status_code
        for person in (rita, mallory)
    ]

    assert codes == [403, 404]


def test_content_that_changed_meanwhile_is_refused(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    credential = signing_alice.credential(irreversible)
    Delivery.objects.update(content_hash="1" * 64)

    answer = signing_alice.send(irreversible, credential=credential)

    assert_refused_with(answer, "That passkey wasn't accepted")


def assert_refused_with(answer: Any, reason: str) -> None:
    assert answer.status_code == 422
    assert reason in text_of(answer)
    assert not Response.objects.exists()


def signature_of(signer: Signer, delivery: Delivery, **changes: Any) -> Signature:
    """Returns the signature that a view passes on after it has checked the request."""
    given: dict[str, Any] = {"status": "approved", "feedback": "", "edited_json": None, **changes}
    passkey = Passkey.objects.get(user=signer.user)
    return Signature(
        passkey=passkey.pk,
        random=b"1" * 32,
        statement=statement_of(delivery, random=b"1" * 32, **given),
        credential_id=b"",
        public_key=b"",
        authenticator_data=b"",
        client_data_json=b"",
        signature=b"",
    )


def approve(signer: Signer, delivery: Delivery, **given: Any) -> Response | Vote:
    return respond(
        delivery,
        by=signer.user,
        status="approved",
        content_hash=delivery.content_hash,
        at=timezone.now(),
        **given,
    )


def test_the_verb_itself_refuses_a_signature_of_something_else(
    irreversible: Delivery, make_delivery: MakeDelivery, signing_alice: Signer
) -> None:
    other = make_delivery(irreversible=True)
    for wrong in (
        signature_of(signing_alice, irreversible, status="redirected"),
        signature_of(signing_alice, irreversible, feedback="Yes."),
        signature_of(signing_alice, other),
        None,
    ):
        with pytest.raises(NeedsPasskey):
            approve(signing_alice, irreversible, signature=wrong)


def test_the_verb_refuses_a_passkey_that_was_removed_after_the_check(
    irreversible: Delivery, signing_alice: Signer
) -> None:
    checked = signature_of(signing_alice, irreversible)
    Passkey.objects.all().delete()

    with pytest.raises(NeedsPasskey):
        approve(signing_alice, irreversible, signature=checked)

    assert not Response.objects.exists()


def test_a_failed_vote_stores_nothing(
    for_two: Delivery, signing_alice: Signer, signing_bob: Signer
) -> None:
    signing_alice.sign(for_two)
    signing_bob.phone.verifies = False

    signing_bob.sign(for_two)

    assert Vote.objects.count() == 1
    assert not Response.objects.exists()
