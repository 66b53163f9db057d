"""Loads agents with all figures of their pages, so that a page needs few queries."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import (
    Aggregate,
    Count,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
)
from django.shortcuts import get_object_or_404

from accounts.access.objects import agents_of
from accounts.access.viewer import Viewer
from accounts.models import Agent, ApiKey, ClaimedId, Membership, SigningSecret, User
from inbox.callbacks import callbacks
from inbox.statistics.figures import with_provider
from wake.models import Delivery

MAX_COUNTED = 1_000


def agent_with_overview(user: User, pk: UUID) -> Any:
    """Returns the agent with the person's role in its team (`role`), its secrets, aliases and
    counts, in one query. Raises Http404 unless the person belongs to the agent's team."""
    mine = Membership.objects.filter(user=user)
    secrets = SigningSecret.objects.in_use().filter(agent=OuterRef("pk")).order_by().values("agent")
    aliases = ClaimedId.objects.filter(agent=OuterRef("pk")).order_by().values("agent")
    waiting = Delivery.objects.filter(team=OuterRef("team"), agent=pk, mode=ApiKey.Mode.LIVE)
    unsent = callbacks.unfinished_of(pk, team_id=OuterRef("team"))
    agents = with_provider(agents_of(user)).select_related("team")
    return get_object_or_404(
        agents.annotate(
            role=Subquery(mine.filter(team=OuterRef("team")).values("role")[:1]),
            own_teams=_CountOf(mine.values("pk")),
            secret_count=Subquery(secrets.values(number=Count("pk"))),
            secret_created_at=Subquery(secrets.values(last=Max("created_at"))),
            alias_lines=Subquery(aliases.values(lines=_Lines("pattern"))),
            waiting=_CountOf(waiting.awaiting_response().values("pk")[:MAX_COUNTED]),
            unsent=_CountOf(unsent.values("pk")[:MAX_COUNTED]),
            failing=_CountOf(unsent.filter(tries__gt=0).values("pk")[:MAX_COUNTED]),
        ),
        pk=pk,
    )


def listed_agents(viewer: Viewer, *, text: str, is_archived: bool, at: datetime) -> QuerySet[Agent]:
    """Returns the agents whose id or provider contains the text, with the list's figures. Index:
    waiting_of_a_team for waiting deliveries."""
    agents = agents_of(viewer.user)
    agents = agents.archived() if is_archived else agents.active()
    waiting = Delivery.objects.filter(
        team=OuterRef("team"), agent=OuterRef("pk"), mode=ApiKey.Mode.LIVE
    )
    failing = callbacks.unfinished_of(OuterRef("pk"), team_id=OuterRef("team")).filter(tries__gt=0)
    ends = Q(keys__expires_at__gt=at, keys__revoked_at=None, keys__grant=None)
    over = Q(keys__grant__ends_at__gt=at, keys__revoked_at=None)
    rows = with_provider(agents).annotate(
        last_seen=Max("keys__last_used_at"),
        slowed_at=Max("keys__slowed_at"),
        key_ends_at=Min("keys__expires_at", filter=ends),
        client_ends_at=Min("keys__grant__ends_at", filter=over),
        waiting=_CountOf(waiting.awaiting_response().values("pk")[:MAX_COUNTED]),
        failing=_CountOf(failing.values("pk")[:MAX_COUNTED]),
    )
    matching = Q(agent_id__icontains=text) | Q(provider__icontains=text) if text else Q()
    return rows.filter(matching).order_by("agent_id", "pk")


class _CountOf(Subquery):
    """Counts the rows of a subquery, which may have a limit."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


class _Lines(Aggregate):
    """Joins one-line texts."""

    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "STRING_AGG(%(expressions)s, CHR(10))"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "GROUP_CONCAT(%(expressions)s, CHAR(10))"
        return self.as_sql(compiler, connection, template=template, **context)
