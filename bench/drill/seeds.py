"""Makes deliveries of every type by the functions that the server uses: they are delivered, read,
answered, sent to a receiver, picked up, acknowledged, expired and indexed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from random import Random

from accounts.audit import record
from accounts.management import operator
from accounts.models import Agent, ApiKey, Team, User
from bench.scenes.full_rules import owner
from inbox.management.synthetic_team import ANSWERED, STATUSES, TYPES
from inbox.management.synthetic_texts import SyntheticTexts
from inbox.reading.readings import mark_read
from inbox.search import index
from wake import pickups
from wake.acknowledgements import acknowledge
from wake.callbacks.sending import send_due
from wake.deadlines import time_out_overdue
from wake.deliveries import deliver
from wake.models import CallbackHost, Delivery, Response
from wake.responses import release, respond

TEAM = "drill"
AGENTS = 10
DEADLINE = timedelta(seconds=60)  # the shortest deadline that an agent may set
LONG_DEADLINE_SECONDS = 86_400
# After the last seed: the last deadline has passed, and nothing is in the future.
AFTER = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class World:
    """Holds who delivers and who answers. Callbacks go to `port` of this machine."""

    team: Team
    agents: list[Agent]
    keys: dict[Agent, ApiKey]
    people: list[User]
    port: int


def make(count: int, *, port: int, within: timedelta, since: datetime, at: datetime) -> None:
    """Makes so many deliveries, whose times are spread over `within`, and end before `at`. Their
    team is new, and exists `since` then."""
    world, random = _world(port, since), Random(1)  # noqa: S311 - nothing here is a secret
    texts = SyntheticTexts(random)
    begin, gap = at - AFTER - within, within / (count + 1)
    people, agents = cycle(world.people), cycle(world.agents)
    for number, type in zip(range(count), _drawn(TYPES, random), strict=False):
        delivered_at = begin + number * gap
        delivery = _deliver(world, next(agents), type, texts, number, at=delivered_at)
        person = next(people)
        mark_read(delivery, by=person, at=delivered_at + gap / 4)
        if delivery.timeout_seconds == DEADLINE.seconds:
            continue
        if random.random() * 100 < ANSWERED[type]:
            status = next(_drawn(STATUSES, random))
            _answer(world, delivery, person, status, texts.feedback(), gap)
        elif delivery.needs_no_answer(delivered_at):
            acknowledge([delivery.pk], by=person, at=delivered_at + gap / 3)
        else:
            _answer(world, delivery, person, "approved", "", gap)
    _end(world, at=at)


def _world(port: int, since: datetime) -> World:
    team = Team.objects.create(slug=TEAM, name="Drill", created_at=since)
    record("team.added", by=operator.OPERATOR, of=team, team=team, at=since)
    issued = [
        operator.issue_key(f"{TEAM}-{number}", team_slug=TEAM, mode=ApiKey.Mode.LIVE)
        for number in range(AGENTS)
    ]
    agents = [each.agent for each in issued]
    CallbackHost.objects.create(team=team, pattern=f"127.0.0.1:{port}")
    keys = {agent: ApiKey.objects.select_related("agent").get(agent=agent) for agent in agents}
    return World(team, agents, keys, [owner(team, number) for number in range(3)], port)


def _deliver(
    world: World, agent: Agent, type: str, texts: SyntheticTexts, number: int, *, at: datetime
) -> Delivery:
    """One in twenty results expires without an answer. Every second delivery has a callback."""
    has_deadline = type in {Delivery.Type.OUTPUT, Delivery.Type.QUESTION}
    expires = has_deadline and number % 20 == 0
    return deliver(
        agent,
        agent_id=agent.agent_id,
        provider="claude",
        type=type,
        headline=texts.headline(type),
        summary=texts.summary(),
        details_json=texts.details_json(is_old=False, number=number),
        callback_webhook=f"http://127.0.0.1:{world.port}/hook" if number % 2 else "",
        timeout_seconds=DEADLINE.seconds
        if expires
        else LONG_DEADLINE_SECONDS
        if has_deadline
        else None,
        thread=f"thread-{number // 5}" if number % 8 == 0 else "",
        at=at,
    ).delivery


def _answer(
    world: World, delivery: Delivery, person: User, status: str, feedback: str, gap: timedelta
) -> None:
    response = respond(
        delivery,
        by=person,
        status=status,
        content_hash=delivery.content_hash,
        feedback=feedback,
        at=delivery.created_at + gap / 3,
    )
    assert isinstance(response, Response)  # noqa: S101 - one approval is enough here
    release(response, at=delivery.created_at + gap / 2)
    if not delivery.callback_webhook:
        key = world.keys[delivery.agent]
        pickups.read(key, delivery.pk, at=delivery.created_at + gap * 3 / 4)


def _end(world: World, *, at: datetime) -> None:
    """Expires and acknowledges what was not answered, sends the callbacks, and indexes the
    words. Nothing waits afterwards."""
    while time_out_overdue(at=at):
        pass
    waiting = Delivery.objects.for_team(world.team).awaiting_response()
    acknowledge(waiting.values_list("pk", flat=True), by=world.people[0], at=at)
    send_due(seconds=600)
    while index.index_new(at=at):
        pass


def _drawn(weights: dict[str, int], random: Random) -> Iterator[str]:
    while True:
        yield from random.choices(list(weights), list(weights.values()))
