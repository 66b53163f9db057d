"""Each job of the protocol and of the mails starts while it has rows. The jobs of the relay and of
notifications have tests beside them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.access import invitations
from accounts.log import sweep
from accounts.models import AddressChange, PasskeyNotice, Team, User
from accounts.sign_in.passwords import resets
from inbox.search import index
from tests.fixtures.answering_rules import run_rules
from tests.fixtures.due_jobs import jobs_with_rows
from tests.types import MakeDelivery
from wake import deadlines, responses
from wake.models import AnsweringRule, Callback, Response
from wake.server.metrics import counting

SECOND = timedelta(seconds=1)
RELEASE, SEND = "wake.jobs.release_due_responses", "wake.jobs.send_due_callbacks"
TIME_OUT, RULES = "wake.jobs.time_out_overdue", "wake.jobs.answer_by_rules"
LOG, COUNT = "accounts.jobs.seal_new_events", "wake.jobs.count_events"
SEARCH = "inbox.jobs.index_new_words"


@pytest.mark.django_db
def test_no_job_has_rows_in_an_empty_database() -> None:
    assert jobs_with_rows(timezone.now()) == set()


def test_a_held_answer_and_its_callback(
    make_delivery: MakeDelivery, answer: Callable[..., Response], allowed_host: str
) -> None:
    at = timezone.now()
    delivery = make_delivery(at=at, callback_webhook=f"https://{allowed_host}/")
    response = answer(delivery, at=at, held=True)
    due = response.release_at
    assert due is not None

    held, over = jobs_with_rows(due - SECOND), jobs_with_rows(due)
    responses.release_due(at=due)
    released = jobs_with_rows(due)
    Callback.objects.update(leased_until=due + SECOND)

    assert not {RELEASE, SEND} & held
    assert {RELEASE, SEND} & over == {RELEASE}
    assert {RELEASE, SEND} & released == {SEND}
    assert SEND not in jobs_with_rows(due)
    assert SEND in jobs_with_rows(due + SECOND)


def test_a_deadline(make_delivery: MakeDelivery) -> None:
    at = timezone.now()
    make_delivery(at=at, timeout_seconds=60)
    over = at + 61 * SECOND

    assert TIME_OUT not in jobs_with_rows(at + 59 * SECOND)
    assert TIME_OUT in jobs_with_rows(over)
    deadlines.time_out_overdue(at=over)
    assert TIME_OUT not in jobs_with_rows(over)


def test_a_delivery_is_read_by_rules_and_search(
    make_answering_rule: Callable[..., AnsweringRule], make_delivery: MakeDelivery
) -> None:
    at = timezone.now()
    make_answering_rule(on=True, at=at - SECOND)
    make_delivery(at=at)

    assert {RULES, SEARCH} <= jobs_with_rows(at + SECOND)
    run_rules(at=at + SECOND)
    index.index_new(at=at + SECOND)
    assert not {RULES, SEARCH} & jobs_with_rows(at + SECOND)


def test_events_are_appended_to_the_log_and_counted(make_delivery: MakeDelivery) -> None:
    at = timezone.now()
    make_delivery(at=at)

    new = jobs_with_rows(at)
    sweep.append_new(at=at)
    appended = jobs_with_rows(at)
    counting.count_new()

    assert {LOG, COUNT} & new == {LOG}
    assert {LOG, COUNT} & appended == {COUNT}
    assert not {LOG, COUNT} & jobs_with_rows(at)


@pytest.mark.parametrize("kind", ["reset", "address", "passkey", "invitation"])
def test_a_mail(kind: str, team: Team, alice: User) -> None:
    at = timezone.now()
    make: dict[str, Callable[[], Any]] = {
        "reset": lambda: resets.request_reset(alice.email, address="", at=at),
        "address": lambda: AddressChange.objects.create(
            user=alice, old_email="a@example.com", asked_at=at, mail_due_at=at
        ),
        "passkey": lambda: PasskeyNotice.objects.create(user=alice, happened_at=at, due_at=at),
        "invitation": lambda: invitations.invite(
            team, role="reader", by=alice, email="new@example.com", is_mailed=True, at=at
        ),
    }
    jobs = {
        "reset": "inbox.jobs.send_due_resets",
        "address": "inbox.jobs.send_due_address_changes",
        "passkey": "inbox.jobs.send_due_passkey_notices",
        "invitation": "inbox.jobs.send_due_invitations",
    }

    make[kind]()

    assert set(jobs.values()) & jobs_with_rows(at - SECOND) == set()
    assert set(jobs.values()) & jobs_with_rows(at) == {jobs[kind]}
