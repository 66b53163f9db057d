"""Begins, approves, refuses and completes the sign-in of a terminal.

A sign-in locks its own row first, then the team, then the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from oauth2_provider.models import DeviceGrant
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError, OAuth2Error
from oauthlib.oauth2.rfc8628.errors import (
    AccessDenied,
    AuthorizationPendingError,
    ExpiredTokenError,
    SlowDownError,
)

from accounts.access import members
from accounts.access.key_texts import digest_of
from accounts.agents import keys
from accounts.audit import Actor, person, record
from accounts.models import Agent, ApiKey, DeviceSignIn, User
from accounts.oauth.clients import clean_name
from accounts.oauth.device.codes import read_user_code
from accounts.oauth.policies import may_connect

CLIENT_ID = "wake-client"
SCOPE = "deliver"
EXPIRES_IN = timedelta(minutes=10)
INTERVAL = 5
SLOW_DOWN = 5  # seconds that each request that came too soon adds (RFC 8628, 3.5)
# A terminal waits from the answer on, but the next request may be faster on its way.
EARLY = timedelta(seconds=1)
MAX_ID = 128
REFUSED = "The sign-in was refused in the browser."
NOT_ALLOWED = "The person who approved this may not connect terminals any more."
ARCHIVED = "The agent was archived."


class CodeNotOpen(Exception):
    """This code was used already, or it has expired. Run `wake login` again for another one."""


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """Holds the key of a terminal, and its text, which cannot be read again."""

    key: ApiKey
    text: str


@transaction.atomic
def begin(
    *, user_code: str, device_code: str, machine: str, proposed_id: str, address: str, at: datetime
) -> DeviceSignIn:
    """Stores that a terminal asks for a key. `machine` and `proposed_id` are its own words."""
    grant = DeviceGrant.objects.create(
        client_id=CLIENT_ID,
        # The code is worth a key once a person has approved it, so only its digest is stored.
        device_code=digest_of(device_code),
        user_code=read_user_code(user_code),
        scope=SCOPE,
        interval=INTERVAL,
        expires=at + EXPIRES_IN,
    )
    return DeviceSignIn.objects.create(
        device_grant=grant,
        machine=clean_name(machine),
        proposed_id=clean_name(proposed_id, longest=MAX_ID),
        address=address,
        created_at=at,
    )


def find(typed: str, *, at: datetime) -> DeviceSignIn | None:
    """Returns the sign-in that waits for a decision about this code. Count the attempt first
    (accounts/oauth/limits.py)."""
    code = read_user_code(typed)
    if code is None:
        return None
    waiting = DeviceSignIn.objects.select_related("device_grant").filter(
        device_grant__user_code=code,
        device_grant__status=DeviceGrant.AUTHORIZATION_PENDING,
        device_grant__expires__gt=at,
    )
    found = list(waiting[:2])
    return found[0] if len(found) == 1 else None  # two with one code look the same


def hold(sign_in: DeviceSignIn, *, at: datetime) -> DeviceSignIn:
    """Locks the sign-in, inside the caller's transaction. Raises CodeNotOpen if it was decided, or
    has expired."""
    rows = DeviceSignIn.objects.select_for_update(of=("self", "device_grant"))
    held = rows.select_related("device_grant").filter(pk=sign_in.pk).first()
    if held is None or not _is_open(held.device_grant, at):
        raise CodeNotOpen(CodeNotOpen.__doc__)
    return held


def approve(
    held: DeviceSignIn,
    agent: Agent,
    *,
    approved_by: User,
    by: Actor,
    ends_at: datetime | None,
    at: datetime,
) -> None:
    """Lets the terminal fetch a key of the agent, which ends at `ends_at`. Call it with the lock of
    the sign-in. Raises keys.TooManyKeys."""
    keys.check_room(agent, at=at)
    held.agent, held.person, held.ends_at = agent, approved_by, ends_at
    held.save(update_fields=["agent", "person", "ends_at"])
    _decide(held.device_grant, DeviceGrant.AUTHORIZED)
    record(
        "terminal.connected",
        by=by,
        of=agent,
        team=agent.team_id,
        at=at,
        agent=agent.agent_id,
        machine=held.machine,
        address=held.address,
        until=ends_at.isoformat() if ends_at else None,
    )


@transaction.atomic
def refuse(sign_in: DeviceSignIn, *, at: datetime) -> None:
    """Tells the terminal that it gets no key. Raises CodeNotOpen."""
    _decide(hold(sign_in, at=at).device_grant, DeviceGrant.DENIED)


@transaction.atomic
def exchange(device_code: str, *, at: datetime) -> IssuedKey | OAuth2Error:
    """Returns the key of an approved sign-in, and forgets the sign-in, so that there is no second
    key. Returns why there is none otherwise: the errors of RFC 8628, 3.5, and `invalid_grant` for
    an unknown code or one that was used."""
    rows = DeviceSignIn.objects.select_for_update(of=("self", "device_grant"))
    sign_in = (
        rows.select_related("device_grant")
        .filter(device_grant__device_code=digest_of(device_code))
        .first()
    )
    if sign_in is None:
        return InvalidGrantError(description="This device_code does not work.")
    grant = sign_in.device_grant
    if grant.expires <= at:
        return ExpiredTokenError()
    if grant.status == DeviceGrant.AUTHORIZED:
        return _issue(sign_in, at=at)
    if grant.status == DeviceGrant.AUTHORIZATION_PENDING:
        return _ask_again(sign_in, at=at)
    return AccessDenied(description=REFUSED)


def _issue(sign_in: DeviceSignIn, *, at: datetime) -> IssuedKey | OAuth2Error:
    agent, approved_by = sign_in.agent, sign_in.person
    if agent is None or approved_by is None:
        return InvalidGrantError(description="This device_code does not work.")
    team = members.hold(agent.team_id)
    if not may_connect(approved_by, team, host=None):
        return AccessDenied(description=NOT_ALLOWED)
    if not Agent.objects.active().filter(pk=agent.pk).exists():
        return AccessDenied(description=ARCHIVED)
    by = person(approved_by, sign_in.address)
    try:
        key, text = keys.mint(agent, by=by, expires_at=sign_in.ends_at)
    except keys.TooManyKeys as reason:
        return AccessDenied(description=str(reason))
    sign_in.device_grant.delete()
    return IssuedKey(key, text)


def _ask_again(sign_in: DeviceSignIn, *, at: datetime) -> OAuth2Error:
    grant, before = sign_in.device_grant, sign_in.last_asked_at
    sign_in.last_asked_at = at
    sign_in.save(update_fields=["last_asked_at"])
    if before is None or at - before >= timedelta(seconds=grant.interval) - EARLY:
        return AuthorizationPendingError()
    grant.interval += SLOW_DOWN
    grant.save(update_fields=["interval"])
    return SlowDownError()


def _is_open(grant: DeviceGrant, at: datetime) -> bool:
    return bool(grant.status == DeviceGrant.AUTHORIZATION_PENDING and grant.expires > at)


def _decide(grant: DeviceGrant, status: str) -> None:
    grant.status = status
    grant.save(update_fields=["status"])
