"""Lists the actions that the processes of a test can do on the test's database (processes.py). The
arguments and results of an action are JSON."""

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
from accounts.models import Agent, ApiKey, Gate, Membership, Team, User
from wake import claims, pickups, retention
from wake.answering import rules as answering_rules
from wake.answering.trials import record_and_answer
from wake.assignment import rules
from wake.assignment.escalation import escalate_due
from wake.deadlines import time_out_overdue
from wake.deliveries import deliver
from wake.models import AnsweringRule, Delivery, Response, Rule
from wake.responses import AlreadyAnswered, ContentChanged, respond
from wake.undo import PickedUp, take_back

FACTS = (
    *(AlreadyAnswered, ContentChanged, NotAllowed, PickedUp, Response.DoesNotExist),
    *(claims.AlreadyClaimed, claims.NotApproved, claims.ApprovalExpired),
)


def answer(delivery: str, by: str, status: str = "approved") -> str:
    """Returns `Vote` or `Response`, or the exception that prevented it."""
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


def claim(delivery: str, idempotency_key: str = "", by: str = "agent", at: str = "") -> str:
    """Uses the approval with the key of the agent or of a gate, now or at an instant. Returns
    the id of the claim, or the exception that prevented it."""
    row = Delivery.objects.get(pk=delivery)
    claimant = claims.Claimant(key=ApiKey.objects.select_related("agent__team").get())
    if by == "gate":
        claimant = claims.Claimant(gate=Gate.objects.get())
    try:
        made = claims.claim(
            claimant,
            row.pk,
            digest=row.content_hash,
            idempotency_key=idempotency_key,
            at=datetime.fromisoformat(at) if at else timezone.now(),
        )
    except FACTS as fact:
        return type(fact).__name__
    assert made
    return str(made[0].pk)


def erase(at: str) -> int:
    return retention.erase_old(at=datetime.fromisoformat(at))


def time_out(at: str) -> int:
    return time_out_overdue(at=datetime.fromisoformat(at))


def escalate(at: str) -> int:
    return escalate_due(at=datetime.fromisoformat(at))


def answer_by_rules() -> int:
    """Runs the rules once, and returns how many deliveries they approved."""
    return record_and_answer(at=timezone.now())


def turn_off(rule: str) -> str:
    owner = person(User.objects.get(email="alice@example.com"))
    row = AnsweringRule.objects.get(pk=rule)
    answering_rules.turn_off(row, version=row.version, by=owner, at=timezone.now())
    return "off"


def demote(who: str) -> str:
    Membership.objects.filter(user__email=who).update(role=Membership.Role.READER)
    return "demoted"


def send(times: int = 1, supersedes: str | None = None) -> list[str]:
    """Delivers with the agent's key, as a web server does, and returns the ids."""
    key = ApiKey.objects.select_related("agent__team").get()
    fields: Any = {"agent_id": key.agent.agent_id, "provider": "claude", "type": "question"}
    fields |= {"summary": "Everything is green.", "supersedes": supersedes}
    # The headlines differ, so that only some deliveries are in the sample.
    headlines = [f"Ship build {uuid4()}?" for _ in range(times)]
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
    """Returns the status and the quorum that a constantly polling agent reads."""
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
        *(demote, send, swap_rules, poll, claim, erase),
    )
}


def serve() -> None:
    """Runs the actions that stdin names, line by line, each at its instant of the machine's
    clock."""
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
