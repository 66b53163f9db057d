"""The admin issues and revokes gate keys; each key is shown once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Gate, Team, User
from database.clock import database_now
from tests.fixtures.strict_client import Client

ADD = "/admin/accounts/gate/add/"
KEY = re.compile(r'value="(wk_gate_[0-9A-Za-z]{36})"')


def issue(operator: Client, agent: Agent, **fields: Any) -> Any:
    given = {
        "team": agent.team_id,
        "name": "Refund service",
        "agents": [str(agent.pk)],
        "version": Gate.objects.count(),
        **fields,
    }
    return operator.post(ADD, given)


def revoke(operator: Client, gate: Gate) -> Any:
    page = reverse("admin:accounts_gate_change", args=[gate.pk])
    return operator.post(f"/admin/accounts/gate/{gate.pk}/revoke/", page=page)


def test_the_whole_life_of_a_key(operator: Client, agent: Agent, olga: User) -> None:
    shown = issue(operator, agent)

    [text] = KEY.findall(shown.content.decode())
    gate = Gate.objects.get()
    assert gates.look_up(text) == gate
    assert (gate.team, gate.name, list(gate.agents.all())) == (
        agent.team,
        "Refund service",
        [agent],
    )
    assert "no-store" in shown["Cache-Control"]
    assert AuditEvent.objects.get(event="gate.issued").actor_name == str(olga)
    page = operator.get(reverse("admin:accounts_gate_change", args=[gate.pk])).content.decode()
    assert not KEY.search(page)
    assert agent.agent_id in page

    revoked = revoke(operator, gate)

    gate.refresh_from_db()
    assert revoked.status_code == 302
    assert gate.revoked_at is not None
    assert AuditEvent.objects.get(event="gate.revoked").actor_name == str(olga)
    page = operator.get(reverse("admin:accounts_gate_change", args=[gate.pk])).content.decode()
    assert "Revoke now" not in page


def test_the_same_form_issues_one_key(operator: Client, agent: Agent) -> None:
    issue(operator, agent, version=0)

    again = issue(operator, agent, version=0)

    assert "A gate key was created since you opened this page." in again.content.decode()
    assert Gate.objects.count() == 1


def test_a_key_is_for_agents_of_its_team(operator: Client, agent: Agent) -> None:
    other = Agent.objects.create(
        team=Team.objects.create(name="Other", slug="other"), agent_id="theirs"
    )

    refused = issue(operator, agent, agents=[str(other.pk)])

    assert "A gate key needs at least one agent of its team." in refused.content.decode()
    assert not Gate.objects.exists()


def test_a_team_has_25_keys(operator: Client, agent: Agent) -> None:
    at = database_now()
    for number in range(gates.MAX_USABLE):
        gates.issue(agent.team, name=str(number), agents=[agent], by=SYSTEM, at=at)

    assert "This team has 25 gate keys that work." in issue(operator, agent).content.decode()
    assert Gate.objects.count() == gates.MAX_USABLE


@pytest.mark.parametrize(("granted", "status_code"), [("view_gate", 403), ("change_gate", 302)])
def test_support_needs_the_permission(
    olga: User, agent: Agent, granted: str, status_code: int
) -> None:
    at = database_now()
    gate = gates.issue(agent.team, name="Deploys", agents=[agent], by=SYSTEM, at=at)[0]
    olga.is_superuser = False
    olga.save()
    for codename in {"view_gate", granted}:
        olga.user_permissions.add(Permission.objects.get(codename=codename))
    client = Client()
    client.force_login(olga)

    revoked = client.post(f"/admin/accounts/gate/{gate.pk}/revoke/", by_hand=True)

    assert revoked.status_code == status_code
    assert client.get(ADD).status_code == 403
    gate.refresh_from_db()
    assert (gate.revoked_at is not None) == (status_code == 302)


def test_a_link_to_the_address_that_revokes_changes_nothing(operator: Client, agent: Agent) -> None:
    at = database_now()
    gate = gates.issue(agent.team, name="Deploys", agents=[agent], by=SYSTEM, at=at)[0]

    assert operator.get(f"/admin/accounts/gate/{gate.pk}/revoke/").status_code == 405
    gate.refresh_from_db()
    assert gate.revoked_at is None
