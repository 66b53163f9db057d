"""The statistics of an agent say what became of its approvals."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Agent, ApiKey, Membership, User
from inbox.statistics.approval_use import MAX_LISTED, ApprovalUse, approval_use
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake import claims, outcomes
from wake.claims import Claimant
from wake.models import Delivery

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
Approve = Callable[..., Delivery]


@pytest.fixture
def approve(key: ApiKey, make_delivery: MakeDelivery, answer: Answer) -> Approve:
    """Approves a delivery some days ago. With `use`, the approval was used afterwards. With
    `report`, the agent reported this status afterwards."""

    def make(*, days: float = 2, use: bool = False, report: str = "", **fields: Any) -> Delivery:
        at = timezone.now() - timedelta(days=days)
        status, feedback = fields.pop("status", "approved"), fields.pop("feedback", "")
        delivery = make_delivery(**{"at": at, "digest": True, **fields})
        answer(delivery, status, at=at, feedback=feedback)
        if use:
            digest = delivery.content_hash
            claims.claim(Claimant(key=key), delivery.pk, digest=digest, at=at + HOUR)
        if report:
            summary = "card declined"
            outcomes.report(key, delivery.pk, status=report, summary=summary, at=at + HOUR)
        return delivery

    return make


def _counts(use: ApprovalUse) -> tuple[int, int, int]:
    return use.now.used, use.now.failed, use.now.unused


def test_each_approval_counts_once(agent: Agent, approve: Approve) -> None:
    approve(use=True)
    approve(use=True, report="done")
    approve(use=True, report="failed")
    approve(use=False, report="failed")
    approve()
    approve(status="redirected", feedback="Half of it")
    approve(status="rejected")
    approve(digest=False)
    approve(days=0.5)
    approve(days=9, use=True)
    approve(days=15)

    week = approval_use(agent, days=7, at=timezone.now())

    assert _counts(week) == (2, 2, 2)
    assert (week.before.used, week.before.unused) == (1, 0)
    day = next(column for column in week.columns if column.segments)
    assert day.words == "2 used, 2 failed, 2 never used"
    assert week.busiest == 6


def test_a_failure_that_ended_counts_as_used(agent: Agent, key: ApiKey, approve: Approve) -> None:
    delivery = approve(use=True, report="failed")
    outcomes.report(key, delivery.pk, status="done", at=timezone.now())

    assert _counts(approval_use(agent, days=7, at=timezone.now())) == (1, 0, 0)


def test_test_deliveries_do_not_count(
    agent: Agent, in_test_mode: AgentClient, answer: Answer
) -> None:
    answer(in_test_mode.deliver(digest=True))

    tomorrow = timezone.now() + timedelta(days=2)
    assert approval_use(agent, days=7, at=tomorrow).is_empty


def test_it_takes_one_query(agent: Agent, approve: Approve) -> None:
    for _ in range(3):
        approve(use=True)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        approval_use(agent, days=30, at=timezone.now())

    assert len(queries) == 1


def test_the_page_shows_the_chart_and_its_table(
    bobs: Person, agent: Agent, approve: Approve
) -> None:
    approve(use=True)
    approve(use=True, report="failed")
    approve()

    page = bobs.get(f"/agents/{agent.pk}/statistics/", days="7")

    text = text_of(page)
    assert "Use of approvals" in text
    assert "Used 1 Failed 1 Never used 1" in text
    day = timezone.localdate() - timedelta(days=2)
    assert f"Day Used Failed Never used {day.day} {day:%b} 1 1 1" in text
    assert "1 used, 1 failed, 1 never used" in text
    assert "Approvals and their use 3 0" in text


def test_an_agent_that_uses_no_approvals_has_no_chart_of_them(
    alices: Person, agent: Agent, approve: Approve
) -> None:
    approve(digest=False)

    text = text_of(alices.get(f"/agents/{agent.pk}/statistics/"))

    assert "Use of approvals" not in text
    assert "Approvals and their use" not in text


def test_an_owner_sees_approvals_that_were_never_used(
    alices: Person, bobs: Person, bob: User, agent: Agent, approve: Approve
) -> None:
    approve(headline="Refund EUR 180")
    approve(headline="Sent anyway", report="done")
    approve(headline="Used", use=True)
    approve(headline="Still young", days=0.5)
    approve(headline="Long ago", days=40)

    own = text_of(alices.get(f"/agents/{agent.pk}/statistics/", days="30"))
    of_a_reviewer = text_of(bobs.get(f"/agents/{agent.pk}/statistics/", days="30"))
    Membership.objects.filter(user=bob).update(role=Membership.Role.OWNER)

    assert "Approvals that were never used" in own
    assert "Refund EUR 180 You approved" in own
    assert "reported as done without use: card declined" in own
    assert "Still young" not in own
    assert "Long ago" not in own
    assert "Refund EUR 180" not in of_a_reviewer
    assert "Refund EUR 180 alice approved" in text_of(bobs.get(f"/agents/{agent.pk}/statistics/"))


def test_the_list_of_unused_approvals_takes_two_queries_for_any_number(
    alices: Person, agent: Agent, approve: Approve
) -> None:
    path = f"/agents/{agent.pk}/statistics/"
    approve(report="done")
    alices.get(path)
    with CaptureQueriesContext(connection) as one:
        alices.get(path)
    for number in range(MAX_LISTED + 1):
        approve(report="done", headline=f"Number {number:02}")

    with CaptureQueriesContext(connection) as many:
        page = text_of(alices.get(path))

    assert len(many) == len(one)
    assert page.count("reported as done without use") == MAX_LISTED


def test_the_counts_are_exported(alices: Person, agent: Agent, approve: Approve) -> None:
    approve(use=True)
    approve(days=9)

    path = f"/agents/{agent.pk}/statistics/export"
    sheet, record = alices.get(f"{path}.csv", days="7"), alices.get(f"{path}.json", days="7")

    rows = csv.DictReader(StringIO(sheet.content.decode(), newline=""))
    figures = {(row["period"], row["figure"]): row["value"] for row in rows}
    assert figures["now", "approvals_used"] == "1"
    assert figures["before", "approvals_never_used"] == "1"
    assert json.loads(record.content)["now"]["approvals_failed"] == 0


def test_days_begin_where_the_person_is(agent: Agent, approve: Approve) -> None:
    approve(use=True, days=0)
    now: datetime = timezone.now()

    use = approval_use(agent, days=7, at=now)

    assert use.columns[-1].date == timezone.localdate(now)
    assert use.columns[-1].counts["used"] == 1
