"""Creates the first team, owner and agent of a new server."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from accounts.management import operator
from accounts.models import ApiKey, Membership, User

FIRST_AGENT = "my-first-agent"


@dataclass(frozen=True, slots=True)
class Welcome:
    """Holds the credentials of a new server, which are shown once."""

    email: str
    password: str
    agent_id: str
    key: str
    signing_secret: str


@transaction.atomic
def set_up(*, email: str, password: str) -> Welcome | None:
    """Creates the first team, its owner and an agent with a live key, or returns None if the server
    has people already. Raises ValidationError.

    Everything is created in one transaction. If the process is killed before the end, the next
    start begins again.
    """
    if User.objects.exists():
        return None
    operator.add_person(email, team_slug=None, role=Membership.Role.OWNER, password=password)
    issued = operator.issue_key(FIRST_AGENT, team_slug=None, mode=ApiKey.Mode.LIVE)
    return Welcome(email, password, FIRST_AGENT, issued.key, issued.signing_secret)
