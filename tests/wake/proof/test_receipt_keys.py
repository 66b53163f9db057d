"""Anyone can read the public keys of receipts. A rotated key stays, and a cut key says so."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from joserfc import jws
from joserfc.jwk import KeySet, OKPKey

from accounts.models import AuditEvent
from database.clock import database_now
from database.encrypted_columns import Ciphertext
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.types import Answer
from wake.models import Receipt, ReceiptKey
from wake.proof.receipt_keys import current_key

PATH = "/.well-known/wake-keys.json"

pytestmark = pytest.mark.django_db


def rotate(*options: str) -> str:
    out = io.StringIO()
    call_command("rotate_receipt_key", *options, stdout=out)
    return out.getvalue().strip()


def test_joserfc_reads_the_public_keys(client: Client) -> None:
    key = current_key()

    answer = client.get(PATH)

    found = KeySet.import_key_set(answer.json()).get_by_kid(key.kid)
    signed = jws.serialize_compact(
        {"alg": "Ed25519"}, b"x", OKPKey.import_key(key.private_key), algorithms=["Ed25519"]
    )
    assert jws.deserialize_compact(signed, found, algorithms=["Ed25519"]).payload == b"x"
    assert found.thumbprint() == key.kid
    assert not found.is_private
    assert answer.json()["keys"][0] == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": key.public_key,
        "kid": key.kid,
        "alg": "Ed25519",
        "use": "sig",
    }


def test_they_are_public_and_can_be_stored_for_minutes(client: Client) -> None:
    empty = client.get(PATH)
    current_key()
    answer = client.get(PATH)

    assert (empty.json(), empty["Cache-Control"]) == ({"keys": []}, "no-store")
    assert answer["Content-Type"] == "application/jwk-set+json"
    assert answer["Cache-Control"] == "public, max-age=600"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in answer
    assert client.post(PATH, by_hand=True).status_code == 405


def test_the_private_key_is_encrypted() -> None:
    key = current_key()

    with connection.cursor() as cursor:
        cursor.execute("SELECT private_key FROM wake_receiptkey")
        (stored,) = cursor.fetchone()
    assert stored.startswith("\x01fernet:")
    assert key.private_key.startswith("-----BEGIN PRIVATE KEY-----")


def test_a_rotated_key_stays_without_its_private_key(client: Client) -> None:
    first = current_key()

    kid = rotate()

    first.refresh_from_db()
    assert first.private_key == ""
    assert first.retired_at is not None
    assert current_key().kid == kid != first.kid
    keys = client.get(PATH).json()["keys"]
    assert [key["kid"] for key in keys] == [kid, first.kid]
    assert not any("revoked" in key for key in keys)
    assert AuditEvent.objects.get(event="receipt_key.rotated").object_id == kid


@pytest.mark.parametrize("is_current", [True, False])
def test_a_cut_key_names_the_size_of_the_log(client: Client, is_current: bool) -> None:
    stolen = current_key()
    if not is_current:
        rotate()

    kid = rotate(f"--cut={stolen.kid}")

    newest, *_, cut = client.get(PATH).json()["keys"]
    assert (newest["kid"], cut["kid"]) == (kid, stolen.kid)
    assert "revoked" not in newest
    assert cut["revoked"]["reason"] == "compromised"
    assert cut["revoked"]["log_size"] == 0
    assert cut["revoked"]["revoked_at"] == pytest.approx(database_now().timestamp(), abs=60)
    assert AuditEvent.objects.get(event="receipt_key.cut").object_id == stolen.kid


def test_a_key_is_cut_once_and_an_unknown_one_never() -> None:
    key = current_key()
    current = rotate(f"--cut={key.kid}")

    for kid in (key.kid, "unknown"):
        with pytest.raises(CommandError):
            rotate(f"--cut={kid}")

    assert current_key().kid == current
    assert ReceiptKey.objects.count() == 2


def test_two_keys_cannot_be_current() -> None:
    current_key()

    with pytest.raises(IntegrityError), transaction.atomic():
        ReceiptKey.objects.create(kid="other", is_current=True, created_at=database_now())


@pytest.mark.parametrize("is_current", [True, False])
def test_a_receipt_of_a_cut_key_is_made_again(
    caller: AgentClient, answer: Answer, is_current: bool
) -> None:
    pk = caller.deliver(type="question")
    answer(pk, feedback="Yes.")
    before = caller.get(f"receipt/{pk}").content
    earlier = Receipt.objects.get()
    if not is_current:
        rotate()

    rotate(f"--cut={earlier.key_id}")
    after, again = (caller.get(f"receipt/{pk}").content for _ in range(2))

    receipt = Receipt.objects.select_related("key").get()
    assert before != after == again
    assert (receipt.key.is_current, receipt.key.cut_at) == (True, None)
    assert receipt.pk != earlier.pk
    assert after.decode().startswith(f"{receipt.jwt}~")
    assert after.count(b"~") == before.count(b"~") == 3


def test_a_receipt_stays_if_the_new_one_cannot_be_signed(
    caller: AgentClient, answer: Answer
) -> None:
    pk = caller.deliver(type="question")
    answer(pk)
    caller.get(f"receipt/{pk}")
    earlier = Receipt.objects.get()
    rotate(f"--cut={earlier.key_id}")
    key = ReceiptKey.objects.get(is_current=True)
    vars(key)["private_key"] = Ciphertext("of a lost key")
    key.save(update_fields=["private_key"])

    refused = caller.get(f"receipt/{pk}")

    assert refused.status_code == 503
    assert Receipt.objects.get() == earlier
