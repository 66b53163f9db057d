"""The outbox sends each released answer to the right receiver, in time and once."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.agents.signing_secrets import rotate_secret, secrets_of
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Team, User
from tests.types import Answer, Answered, MakeDelivery
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.rows import again, answer_in, due
from tests.wake.callbacks.sending import FakeDns
from tests.wake.callbacks.verifying import verify_standard
from wake.callbacks import sending
from wake.callbacks.attempts import claim, settle
from wake.callbacks.http_client import HttpClient, HttpResult
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, CallbackHost, Delivery
from wake.undo import PickedUp, take_back

ODD_JSON = '{"b": 1.10, "a": [1e2, "é\\u00e9 \\ud83d\\ude00 漢"], "c": {"": null}}'


# Requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("approved", {}),
        ("rejected", {"feedback": "Nein, “so” nicht.\n\t\u2028</script>"}),
        ("redirected", {"feedback": "Shorter.", "edited_json": ODD_JSON}),
        ("redirected", {"edited_json": '"# Only a text \\u0041"'}),
    ],
)
def test_the_body_is_byte_for_byte_what_a_get_answers(
    receiver: Receiver,
    caller: Any,
    answer: Answer,
    status: str,
    words: dict[str, str],
) -> None:
    delivery_id = caller.deliver(callback_webhook=receiver.url, timeout_seconds=60)
    answer(delivery_id, status, **words)

    send_due()

    assert receiver.received[0].body == caller.get(f"response/{delivery_id}").content
    assert receiver.received[0].json["status"] == status


def test_the_specifications_verifier_accepts_a_callback(
    receiver: Receiver, answered: Answered, secret: str
) -> None:
    callback = answered("rejected", feedback="No.")

    send_due()

    (request,) = receiver.received
    expected = hmac.new(secret.encode("utf-8"), request.body, hashlib.sha256).hexdigest()
    assert request.headers["X-Wake-Signature"] == f"sha256={expected}"
    assert request.headers["X-Wake-Delivery-Id"] == str(answer_in(callback).delivery_id)
    assert request.headers["X-Wake-Delivery-Id"] == request.json["delivery_id"]
    assert request.headers["Content-Type"] == "application/json"
    arrived = again(callback).delivered_at
    assert arrived
    assert verify_standard(request.body, request.headers, secret=secret, at=arrived)


def test_a_callback_is_due_at_the_release(
    receiver: Receiver,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    held = answer(make_delivery(callback_webhook=receiver.url), held=True)
    released = answer(make_delivery(callback_webhook=receiver.url))
    due_at = released.callback.due_at

    send_due()

    assert not Callback.objects.filter(response=held).exists()
    assert due_at == released.responded_at
    assert [request.json["delivery_id"] for request in receiver.received] == [
        str(released.delivery_id)
    ]


def test_without_a_callback_address_nothing_is_queued(
    make_delivery: MakeDelivery, answer: Answer
) -> None:
    answer(make_delivery())

    assert not Callback.objects.exists()
    assert send_due() == 0


def test_a_2xx_answer_is_a_pick_up(receiver: Receiver, answered: Answered) -> None:
    callback = answered()
    receiver.then(answering(204, b""))

    assert send_due() == 1
    assert send_due() == 0

    callback = again(callback)
    assert callback.delivered_at is not None
    assert (callback.due_at, callback.lease, callback.leased_until) == (None, None, None)
    response = answer_in(callback)
    assert response.picked_up_by == "webhook"
    assert response.picked_up_at == callback.delivered_at
    assert response.sent_at is not None
    assert response.sent_at <= response.picked_up_at
    event = AuditEvent.objects.get(event="response.picked_up")
    assert event.object_id == str(response.delivery_id)
    content_hash = response.delivery.content_hash
    assert event.detail == {"route": "webhook", "content_hash": content_hash}
    attempt = CallbackAttempt.objects.get()
    assert (attempt.number, attempt.status_code, attempt.error) == (1, 204, "")
    assert attempt.started_at <= callback.delivered_at


def test_a_poll_that_was_earlier_stays_the_pick_up(
    receiver: Receiver, answered: Answered, caller: Any
) -> None:
    callback = answered()
    caller.poll(answer_in(callback).delivery_id)

    send_due()

    assert again(callback).delivered_at is not None
    assert answer_in(again(callback)).picked_up_by == "poll"
    assert AuditEvent.objects.filter(event="response.picked_up").count() == 1


def test_a_failed_attempt_is_no_pick_up_but_makes_the_answer_final(
    receiver: Receiver, answered: Answered, alice: User
) -> None:
    callback = answered()
    receiver.then(answering(500, b"Traceback: \x00 no"))

    send_due()

    response = answer_in(again(callback))
    assert (response.picked_up_at, response.picked_up_by) == (None, "")
    attempt = CallbackAttempt.objects.get()
    assert (attempt.status_code, attempt.answer) == (500, "Traceback:  no")
    with pytest.raises(PickedUp):
        take_back(response.delivery, by=alice, at=timezone.now())


def test_claiming_a_callback_makes_the_answer_final(
    receiver: Receiver, answered: Answered, alice: User
) -> None:
    callback = answered()

    claim(at=due(callback))

    assert receiver.received == []
    with pytest.raises(PickedUp):
        take_back(answer_in(callback).delivery, by=alice, at=timezone.now())


def test_an_undone_answer_is_never_sent(
    receiver: Receiver, answered: Answered, alice: User
) -> None:
    callback = answered()

    take_back(answer_in(callback).delivery, by=alice, at=timezone.now())

    assert send_due() == 0
    assert receiver.received == []


def test_every_attempt_carries_the_same_id_and_body_and_its_own_time(
    receiver: Receiver, answered: Answered, secret: str
) -> None:
    callback = answered()
    receiver.then(answering(500))
    first = due(callback)
    second = first + timedelta(seconds=60)

    send_due(clock=lambda: first)
    send_due(clock=lambda: second)

    one, two = receiver.received
    assert one.body == two.body
    for header in ("webhook-id", "X-Wake-Signature", "X-Wake-Delivery-Id"):
        assert one.headers[header] == two.headers[header]
    assert int(two.headers["webhook-timestamp"]) - int(one.headers["webhook-timestamp"]) == 60
    assert verify_standard(two.body, two.headers, secret=secret, at=second)


def test_a_secret_rotated_between_two_attempts_signs_the_second(
    receiver: Receiver, answered: Answered, agent: Agent, secret: str
) -> None:
    callback = answered()
    receiver.then(answering(500))
    at = due(callback)
    send_due(clock=lambda: at)
    later = at + timedelta(seconds=60)

    rotate_secret(agent, by=SYSTEM)
    send_due(clock=lambda: later)

    _, newer = secrets_of(agent.pk)
    request = receiver.received[1]
    assert request.headers["X-Wake-Signature"] == receiver.received[0].headers["X-Wake-Signature"]
    for each in (secret, newer):
        assert verify_standard(request.body, request.headers, secret=each, at=later)


# Where a callback may go, and what it needs -------------------------------------------------------


def test_an_address_taken_off_the_list_is_a_failed_attempt_and_tried_again(
    receiver: Receiver, answered: Answered, team: Team
) -> None:
    callback = answered()
    CallbackHost.objects.all().delete()

    send_due()

    assert receiver.received == []
    assert "is not one of this team's callback hosts" in CallbackAttempt.objects.get().error
    due_at = due(callback)

    CallbackHost.objects.create(team=team, pattern=callback.host)
    send_due(clock=lambda: due_at)

    assert again(callback).delivered_at == due_at


def test_a_secret_that_cannot_be_read_is_a_failed_attempt_and_no_crash(
    receiver: Receiver, answered: Answered, settings: Any
) -> None:
    callback = answered()
    keys = settings.WAKE_ENCRYPTION_KEYS
    settings.WAKE_ENCRYPTION_KEYS = ["another key than the one it was stored with"]

    send_due()

    assert receiver.received == []
    assert "WAKE_ENCRYPTION_KEYS" in CallbackAttempt.objects.get().error
    due_at = due(callback)

    settings.WAKE_ENCRYPTION_KEYS = keys
    send_due(clock=lambda: due_at)

    assert again(callback).delivered_at is not None


def test_without_a_secret_nothing_is_sent(
    receiver: Receiver, answered: Answered, agent: Agent
) -> None:
    answered()
    agent.signing_secrets.all().delete()

    send_due()

    assert receiver.received == []
    assert "no signing secret" in CallbackAttempt.objects.get().error


class Buggy(HttpClient):
    """Raises unexpected errors for some addresses."""

    async def post(self, url: str, **rest: Any) -> HttpResult:
        if "/raises" in url:
            raise RuntimeError("a bug")
        if "/unwritable" in url:
            return HttpResult(status_code=-1)
        return await super().post(url, **rest)


def test_one_bad_row_stops_no_other(
    receiver: Receiver, answered: Answered, caplog: pytest.LogCaptureFixture
) -> None:
    raises = answered(url=receiver.url + "/raises")
    unwritable = answered(url=receiver.url + "/unwritable")
    unlisted = answered()
    Callback.objects.filter(pk=unlisted.pk).update(url="gopher://\x7f")
    good = answered()

    send_due(open_client=Buggy)

    assert again(good).delivered_at is not None
    assert "Wake failed to send" in raises.attempts.get().error
    assert "must not contain spaces" in unlisted.attempts.get().error
    # The callback keeps its lease, so that it is tried again when the lease runs out.
    assert again(unwritable).lease is not None
    assert not unwritable.attempts.exists()
    assert "a bug" in caplog.text
    assert str(unwritable.pk) in caplog.text


# Several senders ----------------------------------------------------------------------------------


def test_an_erased_callback_is_settled_without_effect(answered: Answered) -> None:
    at = due(answered())
    claimed = claim(at=at)
    Callback.objects.all().delete()

    settle([(callback, HttpResult(status_code=200)) for callback in claimed], at=at)

    assert not CallbackAttempt.objects.exists()


def test_a_host_with_a_private_address_is_a_failed_attempt(
    receiver: Receiver, answered: Answered
) -> None:
    CallbackHost.objects.create(team=answered().team, pattern="inside.example.com")
    callback = answered(url="https://inside.example.com/hook")

    send_due(open_client=lambda: HttpClient(dns=FakeDns(["10.0.0.1"])))

    assert "private or reserved" in callback.attempts.get().error
    assert again(callback).due_at is not None


def test_the_stored_body_is_json_that_fits_the_schema_of_an_answer(answered: Answered) -> None:
    body = json.loads(bytes(answered().body))

    assert list(body)[:5] == [
        "delivery_id",
        "status",
        "feedback",
        "edited_content",
        "responded_at",
    ]


def test_a_url_that_newer_rules_refuse_delays_no_answer(
    make_delivery: MakeDelivery, receiver: Receiver, answer: Answer
) -> None:
    delivery = make_delivery(callback_webhook=receiver.url)
    Delivery.objects.filter(pk=delivery.pk).update(callback_webhook="https://10.0.0.1/")

    response = answer(str(delivery.pk))

    assert response.responded_at is not None
    assert response.callback.host == ""
    assert sending.send_due() == 1
    assert "not to IP addresses" in response.callback.attempts.get().error
