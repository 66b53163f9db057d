"""The page and the action behind it both check that a person owns the team."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Agent, Membership, User
from tests.inbox.person import Person
from tests.relay.pages.test_card_pages import FORM as CARD
from tests.tenancy.team_data import TeamData, everything

AGENT = "/agents/{agent.pk}"
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "rename the team": ("/settings/teams/{team.slug}/name", {"team_name": "Orchard"}),
    "keep content": ("/settings/retention/{team.slug}/keep", {"days": "90", "erase": "90"}),
    "allow a host": ("/settings/allowlist/{team.slug}/allow", {"pattern": "new.example.com"}),
    "remove a host": ("/settings/allowlist/{team.slug}/remove", {"pattern": "{host.pattern}"}),
    "end an invitation": (
        "/settings/members/{team.slug}/invitations/{invitation.pk}/revoke",
        {},
    ),
    "add a rule": (
        "/settings/rules/{team.slug}/new/",
        {"rule_name": "New", "role": "owner", "days": "9", "seen": "{team.rules_version}"},
    ),
    "remove a rule": (
        "/settings/rules/{team.slug}/{rule.pk}/remove",
        {"seen": "{team.rules_version}"},
    ),
    "pause": (AGENT + "/pause", {}),
    "resume": (AGENT + "/resume", {}),
    "limit": (AGENT + "/limit/", {"hourly_limit": "5"}),
    "grant an id": (AGENT + "/aliases/", {"pattern": "crawler-*"}),
    "remove an id": (AGENT + "/aliases/{claim.pk}/remove", {}),
    "revoke a key": (AGENT + "/keys/{key.pk}/revoke/", {}),
    "end a client": (AGENT + "/clients/{grant.pk}/end/", {}),
    "allow clients": ("/settings/clients/{team.slug}/", {"who": "no_one", "hosts": ""}),
    "publish": (AGENT + "/card/", {**CARD, "description": "Another one."}),
    "unpublish": (AGENT + "/card/unpublish", {}),
    "revoke a caller key": (AGENT + "/callers/{caller_key.pk}/revoke", {}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_owner_demoted_before_the_lock_changes_nothing(
    what: str, ours: TeamData, alices: Person
) -> None:
    """Another owner takes the role away, between the page's check and the change. The former
    owner's request used to be done all the same."""
    path, form = CHANGES[what]
    given = {name: str(value).format(**vars(ours)) for name, value in form.items()}
    if what == "resume":
        Agent.objects.filter(pk=ours.agent.pk).update(paused_at=timezone.now())
    before = everything()

    with connection.execute_wrapper(_loses_the_team(alices.user)):
        answer = alices.client.post(path.format(**vars(ours)), given)

    assert answer.status_code == 403
    assert b"You no longer own this team, so nothing was changed." in answer.content
    changed = {name for name, rows in everything().items() if rows != before[name]}
    assert changed == {"Membership"}


def _loses_the_team(user: User) -> Callable[..., Any]:
    """Takes the role away as the transaction begins. In a test, the transaction is a savepoint."""

    def run(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("SAVEPOINT"):
            owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER)
            owned.update(role=Membership.Role.REVIEWER)
        return execute(sql, *rest)

    return run
