"""Records who did what to which object, inside the transaction of the action."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts.models import Agent, AuditEvent, Team, User
from database.clock import database_now


@dataclass(frozen=True, slots=True)
class Actor:
    """Names the actor: a person, an agent or the system itself, with their network address if there
    is one."""

    kind: str
    id: str = ""
    name: str = ""
    address: str = ""


SYSTEM = Actor("system", name="Wake")
# The member of `detail` with the server and the number of the original, in events that a team
# brought from another server (wake/management/moving/events.py).
COPIED_FROM = "copied_from"


def person(user: User, address: str = "") -> Actor:
    return Actor("person", str(user.pk), user.display_name, address)


def agent_actor(agent: Agent, address: str = "") -> Actor:
    return Actor("agent", str(agent.pk), agent.agent_id, address)


def record(
    event: str,
    *,
    by: Actor,
    of: Any,
    team: Team | int | None,
    at: datetime | None = None,
    **detail: Any,
) -> None:
    """Stores one event. `event` reads `thing.happened`; `of` is the row of the object."""
    team_id = team.pk if isinstance(team, Team) else team
    at = at or database_now()
    event_of(event, by=by, of=of, team_id=team_id, at=at, detail=detail).save(force_insert=True)


def record_many(event: str, *, by: Actor, of: Iterable[Any], at: datetime, **detail: Any) -> None:
    """Stores the same event for many rows with a `team_id`, in one statement. If a row has content,
    its event has the content's hash."""
    AuditEvent.objects.bulk_create(
        [
            event_of(
                event, by=by, of=row, team_id=row.team_id, at=at, detail=detail | _content(row)
            )
            for row in of
        ]
    )


def event_of(
    event: str, *, by: Actor, of: Any, team_id: int | None, at: datetime, detail: dict[str, Any]
) -> AuditEvent:
    """Builds one event. The caller stores the event."""
    return AuditEvent(
        at=at,
        team_id=team_id,
        event=event,
        actor_kind=by.kind,
        actor_id=by.id,
        actor_name=by.name[:150],
        address=by.address,
        object_kind=of._meta.model_name,
        object_id=str(of.pk),
        object_name=_name(of)[:150],
        detail=detail,
    )


def _content(of: Any) -> dict[str, str]:
    return {"content_hash": of.content_hash} if hasattr(type(of), "content_hash") else {}


def _name(of: Any) -> str:
    """Returns the name of an object, or an empty text for rows with content, because content may be
    erased and the audit never is."""
    return "" if hasattr(type(of), "erased_at") else str(of)
