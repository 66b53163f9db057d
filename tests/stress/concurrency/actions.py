"""Lists what the processes of a test do on its database (processes.py). Each action takes and
returns what JSON can say."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.utils import timezone

from accounts.access.objects import NotAllowed
from accounts.audit import person
from accounts.models import Agent, ApiKey, Membership, Team, User
from wake import pickups
from wake.answering import rules as answering_rules
from wake.answering.trials import note_and_answer
from wake.assignment import rules
from wake.assignment.escalation import escalate_due
from wake.deadlines import time_out_overdue
from wake.deliveries import deliver
from wake.models import AnsweringRule, Delivery, Response, Rule
from wake.responses import (
    AlreadyAnswered,
    ContentChanged,
    PickedUp,
    respond,
    take_back,
)

FACTS = (AlreadyAnswered, ContentChanged, NotAllowed, PickedUp, Response.DoesNotExist)


def answer(delivery: str, by: str, status: str = "approved") -> str:
    """Returns `Vote` or `Response`, or the fact that was in the way."""
    row, user = Delivery.objects.get(pk=delivery), User.objects.get(email=by)
    feedback = "" if status == "approved" else "No."
    try:
        given = respond(
            row,
            by=user,
            status=status,
            content_hash=row.content_hash,
            feedback=feedback,
            at=timezone.now(),
        )
    except FACTS as fact:
        return type(fact).__name__
    return type(given).__name__


def undo(delivery: str, by: str) -> str:
    row, user = Delivery.objects.get(pk=delivery), User.objects.get(email=by)
    try:
        take_back(row, by=user, at=timezone.now())
    except FACTS as fact:
        return type(fact).__name__
    return "undone"


def time_out(at: str) -> int:
    return time_out_overdue(at=datetime.fromisoformat(at))


def escalate(at: str) -> int:
    return escalate_due(at=datetime.fromisoformat(at))


def answer_by_rules() -> int:
    """Returns how many deliveries rules approved."""
    return note_and_answer(at=timezone.now())


def turn_off(rule: str) -> str:
    owner = person(User.objects.get(email="alice@example.com"))
    row = AnsweringRule.objects.get(pk=rule)
    answering_rules.turn_off(row, version=row.version, by=owner, at=timezone.now())
    return "off"


def demote(who: str) -> str:
    Membership.objects.filter(user__email=who).update(role=Membership.Role.READER)
    return "demoted"


def send(times: int = 1, supersedes: str | None = None) -> list[str]:
    """Delivers with the agent's key, as a web server does. Returns the ids."""
    key = ApiKey.objects.select_related("agent__team").get()
    fields: Any = {"agent_id": key.agent.agent_id, "provider": "claude", "type": "question"}
    fields |= {"summary": "Everything is green.", "supersedes": supersedes}
    headlines = [f"Ship build {uuid4()}?" for _ in range(times)]  # not all in the sample, or none
    return [
        str(deliver(key.agent, key=key, at=timezone.now(), headline=each, **fields).delivery.pk)
        for each in headlines
    ]


def swap_rules(times: int) -> str:
    """Moves the last rule of the team to its beginning, again and again."""
    owner, team_id = (
        person(User.objects.get(email="alice@example.com")),
        Agent.objects.get().team_id,
    )
    for _ in range(times):
        last = Rule.objects.filter(team=team_id).order_by("position").last()
        assert last
        version = Team.objects.get(pk=team_id).rules_version
        rules.move(last, up=True, rules_version=version, by=owner, at=timezone.now())
    return "swapped"


def poll(delivery: str, times: int) -> list[dict[str, Any]]:
    """Returns what an agent that asks all the time is told: the status and the quorum."""
    key = ApiKey.objects.select_related("agent__team").get()
    told = []
    for _ in range(times):
        row = pickups.read(key, Delivery(pk=delivery).pk, at=timezone.now())
        assert row
        quorum: Any = row.quorum
        told.append({"status": row.status, "needed": quorum.needed, "have": quorum.have})
    return told


ACTIONS: dict[str, Callable[..., Any]] = {
    action.__name__: action
    for action in (
        *(answer, undo, time_out, escalate, answer_by_rules, turn_off),
        *(demote, send, swap_rules, poll),
    )
}


def serve() -> None:
    """Does what stdin says, line by line, each at its instant of the machine's clock."""
    _say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        while time.monotonic() < order["at"]:
            pass
        try:
            said = {"outcome": ACTIONS[order["action"]](**order["arguments"])}
        except Exception as failure:
            said = {"failure": repr(failure)}
        _say(said)


def _say(words: Any) -> None:
    sys.stdout.write(f"{json.dumps(words)}\n")
    sys.stdout.flush()
