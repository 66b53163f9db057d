"""Content is encrypted in the database when the setting is on. Pages and agents read the same
content with and without encryption."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import checks
from django.utils import timezone

from accounts.agents.signing_secrets import ensure_secret
from accounts.audit import SYSTEM
from accounts.models import SigningSecret, User
from database.encrypted_columns import CIPHER, MARK, PLAIN
from inbox.models import SavedReply
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.retention.stored import KEY, stored, tables_with
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, Delivery, Draft, Response
from wake.responses import release_due, release_due_of
from wake.undo import take_back

OTHER_KEY = "another-key-of-thirty-two-characters"


def deliver_content(caller: AgentClient, **fields: Any) -> str:
    """Creates a delivery with a word of its own in each place that is content."""
    return caller.deliver(
        type="question",
        headline="The headline stays",
        summary="The summary stays",
        details={"ingredient": "saffron"},
        assumption="I take the cardamom.",
        timeout_seconds=3600,
        x_spice={"hidden": "turmeric"},
        **fields,
    )


CONTENT = ["saffron", "cardamom", "turmeric", "paprika", "oregano", "vanilla", "nutmeg"]


@pytest.mark.django_db(transaction=True)
def test_no_content_is_stored_unencrypted(
    encrypting: Any, receiver: Receiver, caller: AgentClient, answer: Answer
) -> None:
    receiver.behaviours.append(answering(500, b"vanilla"))
    delivery_id = deliver_content(caller, callback_webhook=f"{receiver.url}?token=nutmeg")
    answer(delivery_id, "redirected", feedback="More paprika.", edited_json='{"a": "oregano"}')
    send_due()

    row = {word: tables_with(word) for word in CONTENT}

    assert row == {word: set() for word in CONTENT}
    assert "wake_delivery" in tables_with("The headline stays")
    assert "wake_delivery" in tables_with("The summary stays")


@pytest.mark.django_db(transaction=True)
def test_reading_encrypted_content_is_unchanged(
    encrypting: Any, receiver: Receiver, caller: AgentClient, answer: Answer, alice: User
) -> None:
    receiver.behaviours.append(answering(500, b"vanilla"))
    delivery_id = deliver_content(caller, callback_webhook=f"{receiver.url}?token=nutmeg")
    answer(delivery_id, "redirected", feedback="More paprika.", edited_json='{"a": "oregano"}')
    send_due()

    polled = caller.get(f"response/{delivery_id}")
    swept = caller.sweep()["deliveries"]
    page = text_of(Person(alice).see(Delivery.objects.get()))
    callback = text_of(Person(alice).get(f"/callbacks/{Callback.objects.get().pk}/"))

    assert polled.json()["feedback"] == "More paprika."
    assert polled.json()["edited_content"] == {"a": "oregano"}
    assert swept == [polled.json()]
    assert receiver.received[0].body == polled.content
    assert receiver.received[0].path.endswith("?token=nutmeg")
    for word in ["saffron", "cardamom", "paprika", "oregano"]:
        assert word in page
    assert "vanilla" in callback
    assert "Callback to 127.0.0.1" in callback
    assert Delivery.objects.get().extensions == {"x_spice": {"hidden": "turmeric"}}


def test_an_undone_answer_is_an_encrypted_draft(
    encrypting: Any, make_delivery: MakeDelivery, answer: Answer, alice: User
) -> None:
    delivery = make_delivery()
    answer(delivery, "rejected", feedback="Not the paprika.", held=True)

    take_back(delivery, by=alice, at=timezone.now())

    assert tables_with("paprika") == set()
    assert Draft.objects.get().feedback == "Not the paprika."


def test_a_saved_reply_is_encrypted_and_used_as_it_was_written(
    encrypting: Any, make_delivery: MakeDelivery, alice: User
) -> None:
    person = Person(alice)
    fields = {"status": "rejected", "name": "Too hot", "text": "No paprika."}

    person.client.post("/settings/saved-replies/", fields)

    assert tables_with("paprika") == set()
    saved_reply = SavedReply.objects.get()
    assert "No paprika." in text_of(person.get("/settings/saved-replies/"))
    assert (
        "No paprika." in person.get(f"/settings/saved-replies/{saved_reply.pk}/").content.decode()
    )
    path = f"/deliveries/{make_delivery().pk}/saved-replies"
    page = person.client.post(path, {"feedback": "Less.", "saved_reply": saved_reply.pk})
    assert "Less.\nNo paprika.</textarea>" in page.content.decode()


def test_the_note_of_a_batch_is_encrypted_in_the_session(
    encrypting: Any, make_delivery: MakeDelivery, alice: User
) -> None:
    delivery = make_delivery()
    person = Person(alice)
    fields = {"id": delivery.pk, f"answer-{delivery.pk}": "rejected", "note": "No paprika."}
    person.get("/batch/", id=delivery.pk)

    sent = person.client.post("/batch/answer", {**fields, f"hash-{delivery.pk}": "0" * 64})

    assert "paprika" not in str(dict(person.client.session))
    assert "No paprika." in text_of(person.client.get(sent["Location"]))
    encrypting.WAKE_ENCRYPTION_KEYS = ["another key, since the old one was rotated out"]
    page = person.client.get(sent["Location"])
    assert (page.status_code, "can no longer be read" in text_of(page)) == (200, True)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_switching_needs_no_downtime(
    before: bool, after: bool, settings: Any, caller: AgentClient, answer: Answer, alice: User
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = before
    first = deliver_content(caller)
    answer(first, "rejected", feedback="Less paprika.")

    settings.WAKE_ENCRYPT_CONTENT = after
    second = deliver_content(caller)
    answer(second, "rejected", feedback="No paprika.")

    assert [caller.poll(pk)["feedback"] for pk in (first, second)] == [
        "Less paprika.",
        "No paprika.",
    ]
    for pk in (first, second):
        assert "saffron" in text_of(Person(alice).get(f"/deliveries/{pk}/"))


@pytest.mark.parametrize("encrypts", [True, False])
@pytest.mark.parametrize(
    "text", [f"{CIPHER}gAAAAA", f"{PLAIN}x", f"{PLAIN}{CIPHER}x", MARK, "\x01\x01", "fernet:"]
)
def test_sent_text_is_never_taken_for_a_ciphertext(
    encrypts: bool, text: str, settings: Any, make_delivery: MakeDelivery, answer: Answer
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = encrypts
    delivery = make_delivery(assumption=text, details_json=json.dumps(text), extensions={"x": text})
    response = answer(delivery, "rejected", feedback=text + "!")
    callback = Callback(
        response=response,
        agent=delivery.agent,
        team_id=delivery.team_id,
        body=text.encode(),
    )
    callback.save()

    row = Delivery.objects.get()

    assert (row.assumption, row.details, row.extensions) == (text, text, {"x": text})
    assert Response.objects.get().feedback == f"{text}!".strip()
    assert Callback.objects.get().body == text.encode()


def test_a_stolen_ciphertext_sent_as_text_stays_a_text(
    encrypting: Any, caller: AgentClient, make_delivery: MakeDelivery
) -> None:
    make_delivery(assumption="The secret of another team.")
    stolen = stored(Delivery, "assumption")
    assert stolen.startswith(CIPHER)

    for encrypts in (True, False):
        encrypting.WAKE_ENCRYPT_CONTENT = encrypts
        delivery_id = caller.deliver(assumption=stolen)
        assert Delivery.objects.get(pk=delivery_id).assumption == stolen


def test_the_same_text_is_never_stored_the_same_twice(
    encrypting: Any, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery(assumption="I wait.")
    first = stored(Delivery, "assumption")

    delivery.save(update_fields=["assumption"])

    assert stored(Delivery, "assumption") != first
    assert Delivery.objects.get().assumption == "I wait."


def test_empty_content_needs_no_key(encrypting: Any, make_delivery: MakeDelivery) -> None:
    make_delivery(details_json=None)
    encrypting.WAKE_ENCRYPTION_KEYS = [OTHER_KEY]

    row = Delivery.objects.get()

    assert (row.details, row.assumption, row.extensions) == (None, "", {})


# A key that is gone -------------------------------------------------------------------------------


@pytest.fixture
def unreadable(
    encrypting: Any, caller: AgentClient, answer: Answer, make_delivery: MakeDelivery
) -> str:
    """Returns the id of an answered delivery whose encryption key is gone."""
    delivery_id = deliver_content(caller)
    answer(delivery_id, "rejected", feedback="Less paprika.")
    encrypting.WAKE_ENCRYPTION_KEYS = [OTHER_KEY]
    return delivery_id


def test_a_page_reports_a_missing_encryption_key(unreadable: str, alice: User) -> None:
    person = Person(alice)

    for path in (f"/deliveries/{unreadable}/", f"/deliveries/{unreadable}/raw"):
        page = person.get(path)

        assert page.status_code == 503
        assert "can't be decrypted" in text_of(page)
        assert "The encryption key" in text_of(page)


def test_one_unreadable_row_does_not_break_a_list(
    unreadable: str, alice: User, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="Another one")

    assert "Another one" in text_of(Person(alice).get("/"))
    assert "The headline stays" in text_of(Person(alice).get("/history/"))


def test_an_agent_gets_a_503_and_never_half_an_answer(
    unreadable: str, caller: AgentClient, encrypting: Any
) -> None:
    for path in (f"response/{unreadable}", "responses"):
        refused = caller.get(path)

        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "unreadable"
        assert int(refused["Retry-After"]) >= 1
    assert Response.objects.get().picked_up_at is None

    encrypting.WAKE_ENCRYPTION_KEYS.append(KEY)
    assert caller.poll(unreadable)["feedback"] == "Less paprika."


@pytest.mark.django_db(transaction=True)
def test_an_unreadable_callback_delays_no_other(
    encrypting: Any, receiver: Receiver, caller: AgentClient, answer: Answer
) -> None:
    gone = caller.deliver(callback_webhook=receiver.url)
    answer(gone, "rejected", feedback="Less paprika.")
    encrypting.WAKE_ENCRYPTION_KEYS = [OTHER_KEY]
    SigningSecret.objects.all().delete()
    ensure_secret(caller.key.agent, by=SYSTEM)
    there = caller.deliver(callback_webhook=receiver.url)
    answer(there, "rejected", feedback="More paprika.")

    send_due()

    assert [received.json["delivery_id"] for received in receiver.received] == [there]
    attempt = CallbackAttempt.objects.get(callback__response__delivery_id=gone)
    assert "the encryption key" in attempt.error
    encrypting.WAKE_ENCRYPTION_KEYS.append(KEY)
    assert b"Less paprika." in Callback.objects.get(response__delivery_id=gone).body


@pytest.mark.django_db(transaction=True)
def test_an_answer_with_an_unreadable_address_is_released(
    encrypting: Any,
    receiver: Receiver,
    caller: AgentClient,
    answer: Answer,
    age: Age,
) -> None:
    delivery_id = caller.deliver(callback_webhook=f"{receiver.url}?token=nutmeg")
    encrypting.WAKE_ENCRYPTION_KEYS = [OTHER_KEY]
    answer(delivery_id, "rejected", feedback="Less paprika.", held=True)
    age(delivery_id, seconds=60)

    assert release_due(at=timezone.now()) == 1

    assert caller.poll(delivery_id)["feedback"] == "Less paprika."
    send_due()
    assert "the encryption key" in CallbackAttempt.objects.get().error
    encrypting.WAKE_ENCRYPTION_KEYS.append(KEY)
    Callback.objects.update(due_at=timezone.now())
    send_due()
    assert receiver.received[0].path.endswith("?token=nutmeg")
    assert receiver.received[0].json["feedback"] == "Less paprika."


@pytest.fixture
def many_unreadable(
    encrypting: Any,
    caller: AgentClient,
    answer: Answer,
    age: Age,
    allowed_host: str,
) -> str:
    """Returns the id of a delivery whose answer is due. Ten earlier answers are due as well and
    cannot be sent."""
    ids = [caller.deliver(callback_webhook=f"https://{allowed_host}/") for _ in range(10)]
    for pk in ids:
        answer(pk, "rejected", feedback="Less paprika.", held=True)
        age(pk, seconds=90)
    encrypting.WAKE_ENCRYPTION_KEYS = [OTHER_KEY]
    good = caller.deliver()
    answer(good, "rejected", feedback="More paprika.", held=True)
    age(good, seconds=60)
    return good


def test_many_unreadable_answers_delay_no_other(
    many_unreadable: str, encrypting: Any, caplog: pytest.LogCaptureFixture
) -> None:
    now = timezone.now()

    assert [release_due(at=now, at_once=4) for _ in range(4)] == [0, 0, 1, 0]

    messages = [
        record.getMessage() for record in caplog.records if record.name == "database.sweeps"
    ]
    assert [message.split(" held answers")[0] for message in messages] == ["4", "4", "2"]
    encrypting.WAKE_ENCRYPTION_KEYS.append(KEY)
    later = now + timedelta(minutes=1)
    assert sum(release_due(at=later, at_once=4) for _ in range(3)) == Callback.objects.count() == 10


def test_unreadable_answers_do_not_delay_a_poll_without_workers(
    many_unreadable: str, caller: AgentClient
) -> None:
    agent, now = caller.key.agent_id, timezone.now()

    assert [release_due_of(agent, at=now, at_once=4) for _ in range(3)] == [0, 0, 1]
    assert caller.poll(many_unreadable)["status"] == "rejected"


# Whether the server may start ---------------------------------------------------------------------


def test_content_is_not_encrypted_without_a_key(encrypting: Any) -> None:
    encrypting.WAKE_ENCRYPTION_KEYS = []

    (message,) = [one for one in checks.run_checks() if one.id == "wake.E005"]

    assert message.is_serious()
    assert "WAKE_ENCRYPT_CONTENT" in message.msg
    assert "WAKE_ENCRYPTION_KEYS" in (message.hint or "")
