"""Makes what a new server needs before anybody can use it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from accounts import operator
from accounts.models import ApiKey, Membership, User

FIRST_AGENT = "my-first-agent"


@dataclass(frozen=True, slots=True)
class Welcome:
    """To be shown once: the key, the signing secret and a generated password are not kept."""

    email: str
    password: str
    agent_id: str
    key: str
    signing_secret: str


@transaction.atomic
def set_up(*, email: str, password: str) -> Welcome | None:
    """The first team, its owner, and an agent with a live key; None where somebody is here already.

    All of it or nothing: killed half-way, the next start begins again. Raises ValidationError.
    """
    if User.objects.exists():
        return None
    operator.add_person(email, team_slug=None, role=Membership.Role.OWNER, password=password)
    issued = operator.issue_key(FIRST_AGENT, team_slug=None, lane=ApiKey.Lane.LIVE)
    return Welcome(email, password, FIRST_AGENT, issued.key, issued.signing_secret)
