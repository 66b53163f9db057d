"""After `manage.py rotate_encryption` an old key can be removed."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.agents.signing_secrets import secrets_of
from accounts.models import Agent, SecondFactor, SigningSecret, User
from database import encryption
from database.encrypted_columns import CIPHER
from inbox.models import SavedReply
from inbox.search import index
from tests.fixtures.agent_client import AgentClient
from tests.inbox.many import many_like
from tests.types import Answer, MakeDelivery
from tests.wake.retention.stored import KEY, stored, tables_with
from wake.management import reencryption
from wake.models import Callback, Delivery, Response

NEW_KEY = "another-key-of-thirty-two-characters"


def rotate(*words: str) -> str:
    out = StringIO()
    call_command("rotate_encryption", *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def answered(
    encrypting: Any, caller: AgentClient, agent: Agent, answer: Answer, allowed_host: str
) -> str:
    """Returns the id of an answered delivery. The only key encrypts the callback, and the secret
    that signs the callback."""
    delivery_id = caller.deliver(
        details={"ingredient": "saffron"},
        x_spice="turmeric",
        callback_webhook=f"https://{allowed_host}/?token=nutmeg",
    )
    answer(delivery_id, "rejected", feedback="Less paprika.")
    return delivery_id


def test_after_a_rotation_the_old_key_is_not_needed(
    answered: str, encrypting: Any, agent: Agent, caller: AgentClient
) -> None:
    secrets = secrets_of(agent.pk)
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]

    printed = rotate()

    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    assert secrets_of(agent.pk) == secrets
    assert caller.poll(answered)["feedback"] == "Less paprika."
    assert Delivery.objects.get().details == {"ingredient": "saffron"}
    assert Delivery.objects.get().extensions == {"x_spice": "turmeric"}
    assert b"Less paprika." in Callback.objects.get().body
    assert Callback.objects.get().url == Delivery.objects.get().callback_webhook
    assert Callback.objects.get().url.endswith("?token=nutmeg")
    assert "deliveries: 1 read, 1 rewritten, 0 unreadable" in printed
    assert "signing secrets: 1 read, 1 rewritten" in printed


def test_a_second_rotation_writes_nothing(answered: str, encrypting: Any) -> None:
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]
    rotate()
    before = stored(Delivery, "details_json")

    printed = rotate()

    assert "deliveries: 1 read, 0 rewritten" in printed
    assert stored(Delivery, "details_json") == before


def test_a_rotation_covers_all_rows_in_batches(
    encrypting: Any, make_delivery: MakeDelivery
) -> None:
    count = 2 * reencryption.ROWS_AT_ONCE + 1
    many_like(make_delivery(assumption="I take the cardamom."), count - 1)
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]

    printed = rotate()

    assert f"deliveries: {count} read, {count} rewritten" in printed


def test_content_stored_before_the_switch_is_encrypted(
    encrypting: Any, make_delivery: MakeDelivery, answer: Answer
) -> None:
    encrypting.WAKE_ENCRYPT_CONTENT = False
    answer(make_delivery(details_json='"saffron"'), "rejected", feedback="Less paprika.")
    assert tables_with("saffron")

    encrypting.WAKE_ENCRYPT_CONTENT = True
    rotate()

    assert tables_with("saffron") == tables_with("paprika") == set()
    assert stored(Response, "feedback").startswith(CIPHER)
    assert Delivery.objects.get().details == "saffron"


def test_the_search_index_forgets_content_from_before_the_switch(
    encrypting: Any, make_delivery: MakeDelivery
) -> None:
    encrypting.WAKE_ENCRYPT_CONTENT = False
    make_delivery(details_json='"saffron"')
    index.index_new(at=timezone.now())
    encrypting.WAKE_ENCRYPT_CONTENT = True

    rotate()
    index.index_new(at=timezone.now())

    assert tables_with("saffron") == set()


def test_with_encryption_off_content_is_decrypted_only_on_request(
    answered: str, encrypting: Any
) -> None:
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]
    encrypting.WAKE_ENCRYPT_CONTENT = False

    rotate()
    assert stored(Delivery, "details_json").startswith(CIPHER)
    rotate("--decrypt")

    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    assert stored(Delivery, "details_json") == '{"ingredient": "saffron"}'
    assert stored(Response, "feedback") == "Less paprika."
    assert "whsec_" not in stored(SigningSecret, "ciphertext")
    assert Delivery.objects.get().extensions == {"x_spice": "turmeric"}


def test_content_that_stays_encrypted_is_not_decrypted(answered: str) -> None:
    with pytest.raises(CommandError, match="WAKE_ENCRYPT_CONTENT is on"):
        rotate("--decrypt")

    assert stored(Response, "feedback").startswith(CIPHER)


def test_data_that_no_key_decrypts_is_reported_and_left_unchanged(
    answered: str, encrypting: Any, make_delivery: MakeDelivery
) -> None:
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    make_delivery(assumption="I take the cardamom.")

    with pytest.raises(CommandError, match="4 rows cannot be read"):
        rotate()

    encrypting.WAKE_ENCRYPTION_KEYS.append(KEY)
    assert Response.objects.get().feedback == "Less paprika."


def test_the_secret_of_a_second_factor_is_rotated_too(encrypting: Any, alice: User) -> None:
    secret = encryption.encrypt(b"a secret of an app").decode()
    factor = SecondFactor.objects.create(user=alice, ciphertext=secret, last_step=0)
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]

    rotate()

    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    factor.refresh_from_db()
    assert encryption.decrypt(factor.ciphertext.encode()) == b"a secret of an app"


def test_saved_replies_are_rotated_too(encrypting: Any, alice: User) -> None:
    encrypting.WAKE_ENCRYPT_CONTENT = False
    SavedReply.objects.create(user=alice, status="rejected", name="Too hot", text="No paprika.")
    encrypting.WAKE_ENCRYPT_CONTENT = True

    rotate()
    assert stored(SavedReply, "text").startswith(CIPHER)
    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY, KEY]
    rotate()

    encrypting.WAKE_ENCRYPTION_KEYS = [NEW_KEY]
    assert SavedReply.objects.get().text == "No paprika."
