"""The pages of a chain of tasks lead from each to the next, and back."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from relay.cards import callers, publishing
from relay.models import Card, Task, TaskReference
from relay.pages.tasks import MAX_LINKS
from tests.inbox.person import Person, text_of
from tests.relay.calling import Caller


def published(team: Team, name: str) -> Card:
    agent = Agent.objects.create(team=team, agent_id=name)
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    return publishing.publish(agent, by=SYSTEM, at=timezone.now())


@pytest.fixture
def second(team: Team) -> Caller:
    """Calls another agent of the team with the key of the first agent."""
    _, text = callers.mint(team, name="research-agent-01", by=SYSTEM)
    return Caller(published(team, "summary-agent"), "1.0", text)


@pytest.fixture
def foreign(mallory: User) -> Caller:
    """Calls an agent of another team."""
    team = mallory.memberships.get().team
    _, text = callers.mint(team, name="Elsewhere", by=SYSTEM)
    return Caller(published(team, "foreign-agent"), "1.0", text)


def links_on(page: Any) -> list[str]:
    return re.findall(r'<a href="/tasks/([^/]+)/">', page.content.decode())


@pytest.mark.parametrize("follow_up", [False, True], ids=["first-message", "later-message"])
def test_a_task_and_the_task_that_it_refers_to_link_to_each_other(
    newer: Caller, second: Caller, ritas: Person, follow_up: bool
) -> None:
    earlier = newer.send("Compare the prices.")["id"]
    if follow_up:
        later = second.send("Sum up.")["id"]
        second.send("And this.", taskId=later, referenceTaskIds=[earlier])
    else:
        later = second.send("Sum up.", referenceTaskIds=[earlier])["id"]

    of_earlier, of_later = (ritas.get(f"/tasks/{pk}/") for pk in (earlier, later))

    assert links_on(of_earlier) == [later]
    assert "Referred to by Task of summary-agent" in text_of(of_earlier)
    assert links_on(of_later) == [earlier]
    assert "Refers to Task of research-agent-01" in text_of(of_later)


def test_a_task_that_a_push_started_links_to_its_cause(
    newer: Caller, second: Caller, ritas: Person
) -> None:
    earlier = newer.send("Compare the prices.")["id"]
    artifact = {"artifactId": "report", "parts": [{"text": "All ten."}]}
    status = {"state": "TASK_STATE_COMPLETED"}
    ended = {"id": earlier, "contextId": "c", "status": status, "artifacts": [artifact]}

    later = second.post({"task": ended}).json()["taskId"]

    assert links_on(ritas.get(f"/tasks/{earlier}/")) == [later]
    assert links_on(ritas.get(f"/tasks/{later}/")) == [earlier]


def test_only_tasks_that_the_person_may_see_are_linked(
    newer: Caller, foreign: Caller, ritas: Person, mallory: User
) -> None:
    ours = newer.send("Compare the prices.")["id"]
    theirs = foreign.send("Sum up.", referenceTaskIds=[ours])["id"]

    of_ours, of_theirs = ritas.get(f"/tasks/{ours}/"), Person(mallory).get(f"/tasks/{theirs}/")

    assert of_ours.status_code == of_theirs.status_code == 200
    assert links_on(of_ours) == links_on(of_theirs) == []
    assert "foreign-agent" not in text_of(of_ours)
    assert "research-agent-01" not in text_of(of_theirs)


def test_ids_of_other_servers_and_repeated_ids_are_no_links_of_their_own(
    newer: Caller, second: Caller
) -> None:
    earlier = newer.send("Compare the prices.")["id"]
    named = [str(uuid4()), "elsewhere-7", earlier, earlier.upper()]

    later = second.send("Sum up.", referenceTaskIds=named)["id"]
    second.send("Once more.", taskId=later, referenceTaskIds=[earlier, later])

    assert [(str(row.task_id), str(row.earlier_id)) for row in TaskReference.objects.all()] == [
        (later, earlier)
    ]


def test_links_take_a_query_for_each_direction(
    newer: Caller, second: Caller, ritas: Person
) -> None:
    task = newer.send("Compare the prices.")["id"]
    with CaptureQueriesContext(connection) as without:
        ritas.get(f"/tasks/{task}/")
    later = [second.send("Sum up.", referenceTaskIds=[task])["id"] for _ in range(MAX_LINKS + 1)]

    with CaptureQueriesContext(connection) as queries:
        page = ritas.get(f"/tasks/{task}/")

    assert len(queries) == len(without) + 2
    assert links_on(page) == later[:0:-1]


@pytest.mark.skipif(not settings.DATABASE_URL, reason="about PostgreSQL")
def test_links_are_found_by_their_indexes(newer: Caller) -> None:
    task = Task.objects.get(pk=newer.send("Compare the prices.")["id"])
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        later = Task.objects.that_refer_to(task)[:20].explain()
        earlier = Task.objects.referred_to_by(task)[:20].explain()

    assert "tasks_that_refer_to_a_task" in later
    assert "Sort" not in later
    assert "one_reference_to_a_task" in earlier
