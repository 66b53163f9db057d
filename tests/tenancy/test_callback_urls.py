"""The URL of a callback may be a secret, and no page, export, log or mail has it
(docs/decisions/0080-callback-urls-are-masked.md)."""

from __future__ import annotations

import io
import json
import logging
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.db import transaction

from accounts.models import AuditEvent, User
from tests.inbox.person import Person, text_of
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData
from tests.tenancy.test_other_teams import ELSEWHERE, both_ways, fields
from tests.wake.callbacks.receiver import Receiver, answering
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt, Delivery
from wake.server.telemetry.lines import LineFormatter

pytestmark = pytest.mark.slow

SECRET = "kfh93hsdf8hd72"
PATH = f"/waitpoints/{SECRET}a/callback/{SECRET}b?signature={SECRET}c%2F"


def echo(request: BaseHTTPRequestHandler) -> None:
    """Answers as servers do that do not know a path."""
    body = f"Cannot POST {request.path}\n{json.dumps({'path': request.path})}"
    answering(404, body.encode())(request)


@pytest.fixture
def planted(ours: TeamData, receiver: Receiver) -> TeamData:
    """Gives every delivery and callback of the team a URL with the secret, and sends what is
    due."""
    url = receiver.url.replace("/hook", PATH)
    for delivery in Delivery.objects.all():
        delivery.callback_webhook = url
        delivery.save(update_fields=["callback_webhook"])
    for callback in Callback.objects.all():
        callback.url, callback.host = url, f"127.0.0.1:{receiver.port}"
        callback.save(update_fields=["url", "host"])
    receiver.then(echo)
    send_due()
    assert SECRET in receiver.received[0].path
    return ours


@pytest.fixture
def lines() -> Any:
    """Collects what every logger writes, as the server formats it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    yield stream
    root.removeHandler(handler)


def test_no_page_or_export_has_the_url_of_a_callback(
    lines: io.StringIO,
    alice: User,
    rita: User,
    planted: TeamData,
    subtests: pytest.Subtests,
) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    alice.refresh_from_db()
    form = fields(planted)
    people = [Person(alice).client, Person(rita).client]
    looked_at = 0

    for address in [*addresses.WITH_AN_OBJECT, *addresses.WITHOUT]:
        if address.route in ELSEWHERE:
            continue
        with subtests.test(address.route), transaction.atomic():
            for client in people:
                for answer in both_ways(client, address.path_in(planted), form):
                    assert SECRET not in answer.getvalue().decode(errors="replace")
                    assert SECRET not in str(answer.headers)
                    looked_at += 1
            transaction.set_rollback(True)

    assert looked_at > 400
    assert SECRET not in str(list(AuditEvent.objects.values()))
    assert all(SECRET not in sent.message().as_string() for sent in mail.outbox)
    assert SECRET not in lines.getvalue()


def test_the_pages_show_the_host_and_the_end(
    alice: User, planted: TeamData, receiver: Receiver
) -> None:
    masked = f"http://127.0.0.1:{receiver.port}/…c%2F"
    browser = Person(alice)

    delivery = browser.see(planted.delivery).content.decode()
    callback = browser.get(f"/callbacks/{planted.callback.pk}/")

    assert masked in delivery
    assert f"POST {masked}" in text_of(callback)
    assert "Cannot POST …" in text_of(callback)


def test_a_response_that_quotes_the_url_is_stored_without_it(planted: TeamData) -> None:
    attempt = CallbackAttempt.objects.latest("pk")

    assert attempt.status_code == 404
    assert "Cannot POST" in attempt.answer
    assert SECRET not in attempt.answer


def test_a_callback_that_fails_inside_is_logged_without_its_url(
    lines: io.StringIO, planted: TeamData
) -> None:
    Callback.objects.update(due_at=planted.callback.created_at, url=f"https://[{SECRET}/")

    send_due()

    assert SECRET not in lines.getvalue()
    assert SECRET not in str(list(CallbackAttempt.objects.values("error", "answer")))


def test_the_download_of_a_person_has_no_url_of_a_callback(
    tmp_path: Any, alice: User, planted: TeamData
) -> None:
    file = tmp_path / "alice.json"

    call_command("export_person", alice.email, file)

    assert planted.words in file.read_text()
    assert SECRET not in file.read_text()
