"""Pushes of A2A tasks use the same queue and HTTP client as answers, with their own headers."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Agent, AuditEvent, User
from database import encryption
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.rows import again, due
from wake.callbacks.attempts import claim, settle
from wake.callbacks.circuit_breaker import FAILURES, requeue_orphans, resume
from wake.callbacks.http_client import HttpResult
from wake.callbacks.outbox import CallbackPost, NothingLeftToSend, queue_others, send_again
from wake.callbacks.retries import MAX_ATTEMPTS
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, FailingTarget
from wake.retention import erase_callbacks

TASK = UUID("5b1c1f0e-4a55-4c39-9d0c-5d7c4f3a2b10")
BODY = b'{"task":{"id":"%s"}}' % str(TASK).encode()
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer saffron"}

Push = Callable[..., Callback]


@pytest.fixture
def elsewhere(start_receiver: Callable[..., Receiver]) -> Receiver:
    """Starts a receiver whose host is on no allowlist."""
    return start_receiver()


@pytest.fixture
def push(agent: Agent, elsewhere: Receiver) -> Push:
    def make(*, url: str = "") -> Callback:
        post = CallbackPost(agent, TASK, url or elsewhere.url, BODY, HEADERS, due_at=timezone.now())
        (callback,) = queue_others([post], kind="push")
        return callback

    return make


def test_a_push_has_its_own_headers_and_needs_no_allowlist(push: Push, elsewhere: Receiver) -> None:
    callback = push()

    assert send_due() == 1

    (request,) = elsewhere.received
    assert request.body == BODY
    assert request.headers["Authorization"] == "Bearer saffron"
    assert request.headers["Content-Type"] == "application/json"
    ours = {
        name for name in map(str.lower, request.headers) if name.startswith(("x-wake", "webhook"))
    }
    assert ours == set()
    assert again(callback).delivered_at is not None


@pytest.mark.parametrize(
    "url",
    ["http://hooks.example.com/", "https://10.0.0.1/", "ftp://hooks.example.com/", "http://[::1]/"],
)
def test_the_checks_of_the_http_client_apply_to_pushes(push: Push, url: str) -> None:
    callback = push(url=url)

    send_due()

    attempt = callback.attempts.get()
    assert attempt.status_code is None
    assert "Callbacks go to" in attempt.error


def test_outside_development_a_push_to_loopback_is_refused(
    push: Push, elsewhere: Receiver, settings: Any
) -> None:
    callback = push()
    settings.DEVELOPMENT = False

    send_due()

    assert elsewhere.received == []
    assert "not to IP addresses" in callback.attempts.get().error


def test_a_push_is_retried_like_an_answer_and_its_end_is_audited(push: Push) -> None:
    callback = push()

    for _ in range(MAX_ATTEMPTS):
        at = due(callback)
        FailingTarget.objects.all().delete()
        settle([(each, HttpResult(status_code=500)) for each in claim(at=at)], at=at)

    assert again(callback).given_up_at == at
    event = AuditEvent.objects.get(event="callback.given_up")
    assert (event.object_kind, event.object_id) == ("callback", str(callback.pk))


def test_sending_a_push_again_does_not_record_a_picked_up_answer(
    push: Push, elsewhere: Receiver, bob: User
) -> None:
    elsewhere.then(answering(410))
    callback = push()
    send_due()

    send_again(callback, by=bob, at=timezone.now())
    send_due()

    assert [request.body for request in elsewhere.received] == [BODY, BODY]
    assert list(callback.attempts.values_list("status_code", flat=True)) == [410, 200]
    assert set(AuditEvent.objects.values_list("event", flat=True)) >= {"callback.sent_again"}
    assert not AuditEvent.objects.filter(event="response.picked_up").exists()


def test_its_headers_are_always_encrypted_and_are_rotated(push: Push, settings: Any) -> None:
    new = "another-key-of-thirty-two-characters"
    callback = push()
    settings.WAKE_ENCRYPTION_KEYS = [new, *settings.WAKE_ENCRYPTION_KEYS]

    call_command("rotate_encryption", stdout=StringIO())

    settings.WAKE_ENCRYPTION_KEYS = [new]
    row = again(callback)
    assert "saffron" not in row.headers_ciphertext
    assert json.loads(encryption.decrypt(row.headers_ciphertext.encode())) == HEADERS
    assert row.headers == HEADERS


def test_without_its_encryption_key_a_push_is_a_failed_attempt(
    push: Push, elsewhere: Receiver, settings: Any
) -> None:
    callback = push()
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-of-thirty-two-characters"]

    send_due()

    assert elsewhere.received == []
    assert "the encryption key" in callback.attempts.get().error


def test_the_pages_show_it_with_its_task_and_without_its_secrets(
    push: Push, elsewhere: Receiver, alice: User
) -> None:
    elsewhere.then(answering(500, b"no room"))
    callback = push()
    send_due()
    person = Person(alice)

    listed = text_of(person.get("/callbacks/"))
    page = person.get(f"/callbacks/{callback.pk}/")

    assert "A2A push Retrying" in listed
    assert f"task {TASK}" in listed
    text = text_of(page)
    assert f"A2A push to 127.0.0.1:{elsewhere.port}" in text
    assert f"task {TASK}" in text
    assert f'href="/tasks/{TASK}/"' in page.content.decode()
    assert "no room" in text
    assert "Authorization ••••" in text
    assert "saffron" not in page.content.decode()
    assert "allowlist" not in text


def test_the_admin_shows_its_status_without_secrets(push: Push, client: Client) -> None:
    callback = push()
    client.force_login(User.objects.create_superuser("olga@example.com", "correct horse battery"))

    page = client.get(f"/admin/wake/callback/{callback.pk}/change/").content.decode()

    assert str(TASK) in page
    assert "saffron" not in page
    assert callback.headers_ciphertext not in page


def test_a_person_sends_it_again_from_its_page(push: Push, alice: User, mallory: User) -> None:
    callback = push()
    Callback.objects.update(due_at=None, given_up_at=timezone.now())

    refused = Person(mallory).client.post(f"/callbacks/{callback.pk}/replay")
    done = Person(alice).client.post(f"/callbacks/{callback.pk}/replay")

    assert (refused.status_code, done.status_code) == (404, 303)
    assert again(callback).due_at is not None
    audit = Person(alice).get("/audit/")
    assert f'href="/callbacks/{callback.pk}/"' in audit.content.decode()
    assert "A2A push to 127.0.0.1" in text_of(audit)


def test_an_erased_push_is_never_sent(push: Push, elsewhere: Receiver, alice: User) -> None:
    elsewhere.then(answering(500, b"vanilla"))
    callback = push()
    send_due()
    at = timezone.now()

    erase_callbacks(Callback.objects.filter(about=TASK), at=at)

    row = again(callback)
    assert (row.url, row.headers, bytes(row.body)) == ("", {}, b"")
    assert (row.due_at, row.given_up_at, row.erased_at) == (None, at, at)
    assert CallbackAttempt.objects.get().answer == ""
    with pytest.raises(NothingLeftToSend):
        send_again(callback, by=alice, at=at)
    page = text_of(Person(alice).get(f"/callbacks/{callback.pk}/"))
    assert "were erased" in page
    assert "Send again" not in page


def test_failing_pushes_of_anonymous_callers_do_not_stop_answers(
    push: Push, answered: Answered, receiver: Receiver, bob: User
) -> None:
    pushes, answer = [push(url=receiver.url) for _ in range(FAILURES)], answered()
    at = due(answer)
    assert answer.host == pushes[0].host
    for callback in claim(at=at):
        outcome = HttpResult(status_code=200 if callback == answer else 500)
        settle([(callback, outcome)], at=at)
    FailingTarget.objects.update(suspended_at=at)
    later, parked = answered(), push(url=receiver.url)
    at = due(parked)

    claimed = claim(at=at)

    assert claimed == [later]
    target = FailingTarget.objects.get()
    assert target.without_answers
    assert again(parked).due_at is None
    assert requeue_orphans(at=at) == 0
    assert f"{answer.host}, A2A pushes" in text_of(Person(bob).get("/callbacks/"))
    assert resume(target, by=bob, at=at) == 1
    assert again(parked).due_at == at


def test_an_answer_and_a_push_are_sent_in_one_batch(
    push: Push, answered: Answered, receiver: Receiver, elsewhere: Receiver
) -> None:
    answer, news = answered(), push()

    assert send_due() == 2

    assert again(answer).delivered_at is not None
    assert again(news).delivered_at is not None
    assert receiver.received[0].headers["webhook-id"] == str(answer.pk)
    assert len(elsewhere.received) == 1
