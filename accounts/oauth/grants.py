"""Begins, continues and ends what people granted to clients. A grant is a key of its agent
(docs/decisions/0084-a-grant-is-a-key.md)."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from oauth2_provider.models import Application, RefreshToken

from accounts.access.key_texts import digest_of
from accounts.agents import keys
from accounts.agents.topics import topic_of
from accounts.audit import SYSTEM, Actor, agent_actor, event_of, record
from accounts.models import Agent, ApiKey, AuditEvent, Membership, OAuthGrant, User
from accounts.oauth.clients import Client
from accounts.oauth.policies import may_connect
from accounts.oauth.tokens import is_access_token
from database import clock
from database.compiled_queries import CompiledQuery, parameter
from database.notifications import notify

# The client has this long to exchange its code for a token.
UNUSED_FOR = timedelta(minutes=10)
MAX_OPEN = keys.MAX_USABLE
MAX_HINT_NAME = 17  # a hint has 24 characters

# Explains the button that ends a grant.
ENDING = (
    "The client stops working immediately, and this can't be undone. To use it again, connect it "
    "again in the client. Its deliveries are kept."
)


class TooManyGrants(Exception):
    """This agent has 25 connected clients. End one that is no longer needed, then try again."""


class NotExchangeable(Exception):
    """This code or token does not work any more."""


@transaction.atomic
def begin(
    agent: Agent,
    *,
    client: Client,
    application: Application,
    person: User,
    by: Actor,
    at: datetime,
    ends_at: datetime | None,
) -> OAuthGrant:
    """Stores a grant without a token. Raises TooManyGrants."""
    Agent.objects.select_for_update(no_key=True).get(pk=agent.pk)  # only one grant at a time
    if OAuthGrant.objects.open(at).of_agent(agent).count() >= MAX_OPEN:
        raise TooManyGrants(TooManyGrants.__doc__)
    pk = uuid4()
    key = ApiKey.objects.create(
        pk=pk,
        agent=agent,
        hint=_hint(client, pk),
        digest=digest_of(secrets.token_hex(32)),  # no one has this text
        issued_by=by.name[:80],
        expires_at=at + UNUSED_FOR,
    )
    grant = OAuthGrant.objects.create(
        key=key,
        application=application,
        client_name=client.name,
        client_host=client.host,
        person=person,
        created_at=at,
        ends_at=ends_at,
        code_digest=key.digest,  # until there is a code
    )
    record(
        "client.connected",
        by=by,
        of=key,
        team=agent.team_id,
        at=at,
        agent=agent.agent_id,
        client=client.name,
        host=client.host,
        until=ends_at.isoformat() if ends_at else None,
    )
    return grant


def _hint(client: Client, pk: UUID) -> str:
    """Returns the client's name with an ending, because deliveries name their key by its hint and
    an agent may have two clients of one name."""
    return f"{client.name[:MAX_HINT_NAME].rstrip()} {pk.hex[:6]}"


def remember_code(grant: OAuthGrant, code: str) -> None:
    OAuthGrant.objects.filter(pk=grant.pk).update(code_digest=digest_of(code))


@transaction.atomic
def end(grant: OAuthGrant, *, by: Actor, at: datetime) -> None:
    """Ends the grant immediately and permanently. A second call changes nothing."""
    key = grant.key
    if keys.stop(key, at=at):
        team = key.agent.team_id
        record("client.ended", by=by, of=key, team=team, at=at, **_detail(grant))


@transaction.atomic
def end_all(grants: list[OAuthGrant], *, at: datetime, by: Actor | None = None) -> None:
    """Ends the grants in a few statements. Without `by`, the audit names the agent of each grant.
    The grants come with their agents, as from `open_of`."""
    ended = [grant.key for grant in grants]
    ApiKey.objects.filter(pk__in=[key.pk for key in ended]).update(revoked_at=at)
    AuditEvent.objects.bulk_create(
        event_of(
            "client.ended",
            by=by or agent_actor(grant.key.agent),
            of=grant.key,
            team_id=grant.key.agent.team_id,
            at=at,
            detail=_detail(grant),
        )
        for grant in grants
    )
    notify(*{topic_of(key.agent_id) for key in ended})


def _detail(grant: OAuthGrant) -> dict[str, str]:
    return {"agent": grant.key.agent.agent_id, "client": grant.client_name}


def open_of(client_id: str, *, at: datetime) -> QuerySet[OAuthGrant]:
    """Returns the grants of this client that have not ended, with their agents."""
    open_grants = OAuthGrant.objects.open(at).filter(application__client_id=client_id)
    return open_grants.select_related("key__agent")


def cut_off(at: datetime) -> QuerySet[OAuthGrant]:
    """Returns the grants that have not ended, but whose client can get no token any more: its token
    has expired, and it has no refresh token. Their agents come along."""
    refresh_tokens = RefreshToken.objects.filter(
        token_family=OuterRef("family"), revoked__isnull=True
    )
    exchanged = OAuthGrant.objects.open(at).filter(family__isnull=False, key__expires_at__lt=at)
    return exchanged.filter(~Exists(refresh_tokens)).select_related("key__agent")


def of_code(code: str, application: Application) -> OAuthGrant | None:
    grants = OAuthGrant.objects.filter(code_digest=digest_of(code), application=application)
    return grants.select_related("key__agent").first()


def of_family(family: UUID | None) -> OAuthGrant | None:
    if family is None:
        return None
    return OAuthGrant.objects.filter(family=family).select_related("key__agent").first()


def of_access_token(text: str, application: Application) -> OAuthGrant | None:
    grants = OAuthGrant.objects.filter(key__digest=digest_of(text), application=application)
    return grants.select_related("key__agent").first()


def may_continue(grant: OAuthGrant, *, at: datetime) -> bool:
    """Returns whether the client may have another token: the grant has not ended, and its person
    may still connect this client to the agent's team. If they may not, the grant ends."""
    if not OAuthGrant.objects.open(at).filter(pk=grant.pk).exists():
        return False
    person, team = grant.person, grant.key.agent.team
    if person is not None and may_connect(person, team, host=grant.client_host):
        return True
    end(grant, by=SYSTEM, at=at)
    return False


def hold(grant: OAuthGrant, *, at: datetime) -> OAuthGrant:
    """Locks the grant inside the caller's transaction. Raises NotExchangeable if it has ended."""
    grants = OAuthGrant.objects.open(at).filter(pk=grant.pk)
    held = grants.select_for_update(of=("self",)).first()
    if held is None:
        raise NotExchangeable(NotExchangeable.__doc__)
    return held


def renew(grant: OAuthGrant, *, digest: str, expires_at: datetime) -> None:
    """Makes this the access token of the grant. The token before stops working at once, and a token
    never outlives its grant."""
    ends = min(expires_at, grant.ends_at) if grant.ends_at else expires_at
    ApiKey.objects.filter(pk=grant.pk).update(digest=digest, expires_at=ends)


def look_up(text: str) -> ApiKey | None:
    """Returns the key with its agent, usable or not, for a client's access token. The same query
    reads the database's clock. Returns None if the person who granted it has left the team."""
    if not is_access_token(text):
        return None
    asked_at = clock.ticks()
    found: list[ApiKey] = _by_digest().objects(digest=digest_of(text))
    if not found:
        return None
    clock.record(vars(found[0])["now"], asked_at=asked_at)
    return found[0]


@cache
def _by_digest() -> CompiledQuery:
    members = Membership.objects.filter(
        team=OuterRef("agent__team"), user=OuterRef("grant__person"), user__is_active=True
    )
    granted = ApiKey.objects.filter(
        Exists(members),
        digest=parameter("digest", ApiKey, "digest"),
        grant__isnull=False,
    )
    return CompiledQuery(lambda: granted.select_related("agent").annotate(now=Now()))
