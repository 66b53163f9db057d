"""Generates two years of a synthetic team: its deliveries and the answers of its people."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from accounts.audit import SYSTEM, Actor, agent_actor, person
from accounts.models import Agent, ApiKey, AuditEvent, User
from database.clock import microseconds
from inbox.management.synthetic_texts import SyntheticTexts
from inbox.models import Searchable
from inbox.search import index
from wake.models import Delivery, Response

SPAN = timedelta(days=730)
TYPES = {"update": 45, "output": 36, "question": 14, "alert": 5}
STATUSES = {"approved": 72, "redirected": 18, "rejected": 10}
# In percent: how many deliveries have a deadline, and how many are answered. Unanswered deliveries
# are acknowledged.
HAVE_DEADLINE = {"update": 2, "output": 40, "question": 85, "alert": 30}
ANSWERED = {"update": 3, "output": 93, "question": 96, "alert": 30}
DEADLINE_HOURS = [1, 2, 4, 8, 24, 72]
# People see half of the deliveries within forty minutes, and one in fifty after more than a day.
MEDIAN_MINUTES, SPREAD = 40, 1.75
# The busiest tenth of the agents retired early, and the first of the people left halfway.
RETIRED, RETIRED_AT, LEFT_AT = 0.1, 0.4, 0.5


@dataclass(slots=True)
class SyntheticRows:
    """Holds rows that are written together, in this order."""

    deliveries: list[Delivery] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    searchable: list[Searchable] = field(default_factory=list)
    events: list[AuditEvent] = field(default_factory=list)


class SyntheticTeam:
    def __init__(
        self, agents: list[Agent], people: list[User], *, until: datetime, seed: str
    ) -> None:
        self.random = Random(seed)  # noqa: S311 - nothing here is a secret
        self.texts = SyntheticTexts(self.random)
        self.agents, self.people, self.until = agents, people, until
        self.weights = [1 / (rank + 5) for rank in range(len(agents))]
        self.retired = agents[: int(len(agents) * RETIRED)]

    def batches(self, count: int, *, size: int) -> Iterator[SyntheticRows]:
        """Yields batches, oldest first, and sets the `activity_us` of each agent to the agent's
        last cursor stamp."""
        for start in range(0, count, size):
            batch = SyntheticRows()
            for number in range(start, min(start + size, count)):
                self._add(batch, number, number / count)
            yield batch

    def _add(self, batch: SyntheticRows, number: int, progress: float) -> None:
        delivery = self._delivery(number, progress)
        batch.deliveries.append(delivery)
        agent = delivery.agent
        batch.events.append(
            _event("received", delivery, delivery.created_at, by=agent_actor(agent))
        )
        seen_at = self._later(delivery.created_at, minutes=self._delay())
        if delivery.expires_at and delivery.expires_at <= min(seen_at, self.until):
            delivery.timed_out_at = delivery.expires_at
            batch.events.append(_event("timed_out", delivery, delivery.expires_at, by=SYSTEM))
        feedback = ""
        if seen_at < self.until:
            feedback = self._answer_or_acknowledge(delivery, batch, seen_at, progress)
        batch.searchable.append(index.searchable(delivery, feedback=feedback))
        agent.activity_us = max(agent.activity_us, microseconds(delivery.activity_at))

    def _delivery(self, number: int, progress: float) -> Delivery:
        # All times of a delivery have the same microseconds, and other deliveries have other
        # microseconds, because the cursor stamps of an agent must be unique.
        created_at = self.until - SPAN * (1 - progress)
        created_at = created_at.replace(microsecond=number % 1_000_000)
        agent = self._agent(progress)
        type = self._draw(TYPES)
        headline, hours = self.texts.headline(type), self.random.choice(DEADLINE_HOURS)
        seconds = hours * 3600 if self._happens(HAVE_DEADLINE[type]) else None
        return Delivery(
            id=uuid.UUID(int=self.random.getrandbits(128), version=4),
            team_id=agent.team_id,
            agent=agent,
            key_hint="wk_live_filled",
            mode=ApiKey.Mode.TEST if self._happens(1) else ApiKey.Mode.LIVE,
            claimed_agent_id=agent.agent_id,
            provider="claude" if number % 3 else "gpt",
            type=type,
            headline=headline,
            summary=self.texts.summary(),
            details_json=self.texts.details_json(is_old=agent in self.retired, number=number),
            timeout_seconds=seconds,
            on_timeout=self.random.choice(Delivery.OnTimeout.values) if seconds else "",
            thread=f"{headline.split()[0].lower()}-{number // 5000}" if self._happens(12) else "",
            content_hash=hashlib.sha256(str(number).encode()).hexdigest(),
            created_at=created_at,
            expires_at=created_at + timedelta(seconds=seconds) if seconds else None,
            activity_at=created_at,
        )

    def _answer_or_acknowledge(
        self, delivery: Delivery, batch: SyntheticRows, at: datetime, progress: float
    ) -> str:
        """Returns the feedback of the answer, if there is one."""
        by = self.random.choice(self.people if progress < LEFT_AT else self.people[1:])
        if not self._happens(ANSWERED[delivery.type]):
            delivery.acknowledged_at, delivery.acknowledged_by = at, by.display_name
            batch.events.append(_event("acknowledged", delivery, at, by=person(by)))
            return ""
        response = self._response(delivery, by, at)
        delivery.answered_at = at
        late = delivery.is_past_deadline(at)
        batch.responses.append(response)
        batch.events.append(
            _event("answered", delivery, at, by=person(by), status=response.status, late=late)
        )
        if response.responded_at:
            delivery.status, delivery.activity_at = response.status, response.responded_at
        return response.feedback

    def _response(self, delivery: Delivery, by: User, at: datetime) -> Response:
        status = self._draw(STATUSES)
        is_edited = status == Response.Status.REDIRECTED and self._happens(50)
        says = self._happens(30) or (status == Response.Status.REDIRECTED and not is_edited)
        release_at = self._later(at, minutes=1 / 6)
        is_released = release_at <= self.until
        picked_up_at = self._later(release_at, minutes=1) if is_released else None
        return Response(
            id=uuid.UUID(int=self.random.getrandbits(128), version=4),
            delivery=delivery,
            status=status,
            feedback=self.texts.feedback() if says else "",
            edited_json='{"sections": ["Key findings"]}' if is_edited else None,
            by=by,
            by_name=by.display_name,
            answered_at=at,
            release_at=release_at,
            responded_at=release_at if is_released else None,
            sent_at=picked_up_at,
            picked_up_at=picked_up_at,
            picked_up_by=Response.Route.SWEEP if picked_up_at else "",
        )

    def _agent(self, progress: float) -> Agent:
        first = 0 if progress < RETIRED_AT else len(self.retired)
        (agent,) = self.random.choices(self.agents[first:], self.weights[first:])
        return agent

    def _delay(self) -> float:
        return min(self.random.lognormvariate(0, SPREAD) * MEDIAN_MINUTES, 7 * 24 * 60)

    def _later(self, at: datetime, *, minutes: float) -> datetime:
        return at + timedelta(seconds=int(minutes * 60) + 1)

    def _draw(self, weights: dict[str, int]) -> str:
        (drawn,) = self.random.choices(list(weights), list(weights.values()))
        return drawn

    def _happens(self, in_a_hundred: float) -> bool:
        return self.random.random() * 100 < in_a_hundred


def _event(name: str, delivery: Delivery, at: datetime, *, by: Actor, **detail: Any) -> AuditEvent:
    return AuditEvent(
        at=at,
        team_id=delivery.team_id,
        event=f"delivery.{name}",
        actor_kind=by.kind,
        actor_id=by.id,
        actor_name=by.name,
        object_kind="delivery",
        object_id=str(delivery.pk),
        detail=detail,
    )
