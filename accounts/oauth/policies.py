"""Decides who may connect clients to the agents of a team, which clients, and when a client's
metadata document is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.access import members
from accounts.audit import Actor, record
from accounts.models import ClientPolicy, Membership, Team, User
from accounts.oauth.clients import EDITORS, LOCAL, THIS_COMPUTER

Who = ClientPolicy.Who
_Role = Membership.Role
# The roles that may connect clients.
ROLES: dict[str, tuple[str, ...]] = {
    Who.OWNERS: (_Role.OWNER,),
    Who.REVIEWERS: (_Role.OWNER, _Role.REVIEWER),
}


class OnlyAtConsent:
    """Lets django-oauth-toolkit fetch a client's metadata document only for the consent page, which
    people see after they signed in. The token endpoint would fetch for anyone."""

    def has_permission(self, request: Any, client_id: str) -> bool:
        asked: str = request.uri
        return urlsplit(asked).path == reverse("oauth2_provider:authorize")


def teams_that_allow(person: User, *, host: str | None) -> QuerySet[Team]:
    """Returns the teams to whose agents this person may connect a client that sends people back to
    `host`. It is None for a terminal, which sends people nowhere, so that the team's list of hosts
    says nothing about it."""
    mine = Team.objects.filter(_may_connect(person)).select_related("client_policy")
    allowed = [team.pk for team in mine if allows(policy_of(team), host)]
    return Team.objects.filter(pk__in=allowed).order_by("name", "pk")


def refusals(person: User) -> list[str]:
    """Returns a sentence for each team of the person: who may connect clients to it, or else which
    hosts the team allows."""
    mine = Membership.objects.filter(user=person).select_related("team__client_policy")
    return [_refusal(membership) for membership in mine.order_by("team__name", "team_id")]


def _refusal(membership: Membership) -> str:
    team, policy = membership.team, policy_of(membership.team)
    roles = ROLES.get(policy.who, ())
    if not roles:
        return f"No one may connect clients to {team}."
    if membership.role not in roles:
        return f"Only {policy.get_who_display().lower()} may connect clients to {team}."
    hosts = [THIS_COMPUTER if host == LOCAL else host for host in policy.hosts.splitlines()]
    return f"{team} allows only clients that go back to {_any_of(hosts)}."


def _any_of(hosts: Sequence[str]) -> str:
    *others, last = hosts
    return f"{', '.join(others)} or {last}" if others else last


def policy_of(team: Team) -> ClientPolicy:
    """Returns the stored policy, or the policy of a team that has stored none."""
    stored: ClientPolicy | None = getattr(team, "client_policy", None)
    return stored or ClientPolicy(team=team)


def allows(policy: ClientPolicy, host: str | None) -> bool:
    """Returns whether clients that send people back to this host (accounts/oauth/clients.py) are
    allowed. LOCAL stands for programs on people's own computers. A terminal has no host, so the
    list says nothing about it."""
    if host is None:
        return True
    hosts = policy.hosts.splitlines()
    is_local = host == THIS_COMPUTER or host in EDITORS.values()
    return not hosts or (LOCAL if is_local else host.lower()) in hosts


@transaction.atomic
def change(team: Team, *, who: str, hosts: Sequence[str], by: Actor, at: datetime) -> None:
    """Stores who may connect clients, and to which hosts, which come from `read_hosts`. No host
    means any. Storing the same policy again is not recorded. Raises NoLongerOwner."""
    members.hold_as_owner(team.pk, by=by)
    before = ClientPolicy.objects.filter(team=team).first() or ClientPolicy(team=team)
    lines = "\n".join(hosts)
    if (before.who, before.hosts) == (who, lines):
        return
    policy, _ = ClientPolicy.objects.update_or_create(
        team=team, defaults={"who": who, "hosts": lines}
    )
    record("clients.changed", by=by, of=policy, team=team, at=at, who=who, hosts=list(hosts))


def may_connect(person: User, team: Team, *, host: str | None) -> bool:
    return teams_that_allow(person, host=host).filter(pk=team.pk).exists()


def _may_connect(person: User) -> Q:
    memberships = Membership.objects.filter(user=person, user__is_active=True)
    allowed = Q(client_policy__isnull=True, pk__in=_teams(memberships, Who.OWNERS))
    for who in ROLES:
        allowed |= Q(client_policy__who=who, pk__in=_teams(memberships, who))
    return allowed


def _teams(memberships: QuerySet[Membership], who: str) -> Any:
    return memberships.filter(role__in=ROLES[who]).values("team")
