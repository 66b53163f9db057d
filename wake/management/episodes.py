"""Plays the stories of demo/*.toml: each delivery, answer and callback at its own time, through the
real verbs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.agents import keys, registration
from accounts.audit import Actor
from accounts.models import Agent, ApiKey, ClaimedId, Team, User
from database.idempotency import Idempotency
from wake import claims, outcomes, pickups
from wake.acknowledgements import acknowledge
from wake.answering import rules as answering_rules
from wake.assignment.rules import LONGEST_DAYS
from wake.callbacks import allowlist, attempts
from wake.callbacks.http_client import HttpResult
from wake.deadlines import time_out_overdue
from wake.deliveries import deliver
from wake.management.drawings import drawn
from wake.models import AnsweringRule, Callback, Delivery, Response
from wake.responses import release, respond

FOLDER = Path(__file__).with_name("demo")
# Lengths of time are written like `2d 3h`, the longest unit first. Each length is subtracted from
# now, or added to the time of another event.
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
AMOUNT = re.compile(r"(\d+)([dhms])")
DRAWING = re.compile(r"drawn:(\w+)")

Event = tuple[datetime, Callable[[], object]]
Script = dict[str, Any]


@transaction.atomic
def play(team: Team, *, people: dict[str, User], by: Actor, at: datetime) -> int:
    """Adds the deliveries that do not exist yet and returns how many. All of this is one
    transaction, so that no page shows half of the deliveries and no worker claims a callback whose
    attempts are still being written."""
    episodes = [
        Episode(script, cast=cast, people=people, now=at)
        for cast in casts(team, by=by, at=at)
        for script in cast.deliveries
    ]
    new = [episode for episode in episodes if not episode.is_there()]
    events = [event for episode in new for event in episode.events()]
    for _, happen in sorted(events, key=lambda event: event[0]):
        happen()
    if new and not AnsweringRule.objects.filter(team=team).exists():
        _try_a_rule(team, by=by, at=min(each.begins for each in new) - timedelta(days=1))
    return len(new)


def _try_a_rule(team: Team, *, by: Actor, at: datetime) -> None:
    """Adds a rule that has been in shadow since before the first delivery, so that its page has
    results."""
    terms: answering_rules.AnsweringTerms = {
        "agents": [],
        "types": [Delivery.Type.OUTPUT],
        "thread_prefix": "",
        "pointer": "",
        "operator": "",
        "value": "",
        "most_a_day": 50,
        "ask_people_days": 1,
        "expires_at": at + timedelta(days=LONGEST_DAYS),
    }
    answering_rules.add(team, "Routine outputs", terms, by=by, at=at)


def casts(team: Team, *, by: Actor, at: datetime) -> list[Cast]:
    return [
        Cast(tomllib.loads(path.read_text()), team, by=by, at=at)
        for path in sorted(FOLDER.glob("*.toml"))
    ]


class Cast:
    """Holds the content of one file: an agent, a key of each mode that it uses, and its
    deliveries."""

    def __init__(self, script: Script, team: Team, *, by: Actor, at: datetime) -> None:
        self.provider: str = script["provider"]
        self.deliveries: list[Script] = script["delivery"]
        since = at - max(length(one["ago"]) for one in self.deliveries) - timedelta(days=2)
        self.agent = _registered(script, team, by=by, since=since)
        plain = self.agent.keys.without_grants()
        self.keys = {
            mode: plain.usable(at).filter(mode=mode).first() or self._key(mode, by, since)
            for mode in {story.get("mode", ApiKey.Mode.LIVE) for story in self.deliveries}
        }
        for url in {one["webhook"] for one in self.deliveries if "webhook" in one}:
            allowlist.allow(allowlist.parse(url).name, team=team, by=by)

    def _key(self, mode: str, by: Actor, since: datetime) -> ApiKey:
        """Mints a key whose text is discarded, because the demo does not deliver over HTTP."""
        key, _ = keys.mint(self.agent, by=by, mode=mode)
        key.created_at = since
        key.save(update_fields=["created_at"])
        return key


def _registered(script: Script, team: Team, *, by: Actor, since: datetime) -> Agent:
    agent = Agent.objects.filter(team=team, agent_id=script["agent"]).first()
    if agent is None:
        agent = Agent(team=team, agent_id=script["agent"], created_at=since)
        registration.register(agent, by=by)
        if "may_also_be" in script:
            ClaimedId.objects.create(agent=agent, pattern=script["may_also_be"])
    return agent


class Episode:
    """Plays one delivery and its story, as events with their times."""

    def __init__(
        self, script: Script, *, cast: Cast, people: dict[str, User], now: datetime
    ) -> None:
        self.script, self.cast, self.people, self.now = script, cast, people, now
        self.begins = now - length(script["ago"])

    @property
    def mark(self) -> str:
        return f"demo-{self.script['name']}"

    @property
    def delivery(self) -> Delivery:
        return self.cast.agent.deliveries.get(idempotency_key=self.mark)

    def is_there(self) -> bool:
        return self.cast.agent.deliveries.filter(idempotency_key=self.mark).exists()

    def events(self) -> Iterator[Event]:
        yield self.begins, self._deliver
        if "timeout" in self.script:
            ends = self.begins + length(self.script["timeout"])
            if ends <= self.now:
                yield ends, partial(time_out_overdue, at=ends)
        if "acknowledged_after" in self.script:
            at = self.begins + length(self.script["acknowledged_after"])
            yield at, partial(self._acknowledge, at)
        if "answer" in self.script:
            yield from self._answered(self.script["answer"])

    def _answered(self, answer: Script) -> Iterator[Event]:
        at = self.begins + length(answer["after"])
        yield at, partial(self._respond, answer, at)
        for attempt in answer.get("attempts", []):
            tried_at = at + length(attempt["after"]) + timedelta(seconds=30)  # the longest hold
            yield tried_at, partial(self._try, attempt, tried_at)
        if "picked_up" in answer:
            asked_at = at + timedelta(minutes=4)
            yield asked_at, partial(self._pick_up, answer["picked_up"], asked_at)
        if "outcome" in answer:
            acts_at = at + length(answer["outcome"]["after"])
            yield acts_at, partial(self._act, answer["outcome"], acts_at)

    def _deliver(self) -> None:
        script, key = self.script, self.cast.keys[self.script.get("mode", ApiKey.Mode.LIVE)]
        details = (
            json.dumps(script["markdown"], ensure_ascii=False) if "markdown" in script else None
        )
        earlier = self.cast.agent.deliveries.filter(
            idempotency_key=f"demo-{script.get('supersedes')}"
        )
        deliver(
            self.cast.agent,
            agent_id=script.get("as", self.cast.agent.agent_id),
            provider=self.cast.provider,
            type=script["type"],
            headline=script["headline"],
            summary=script["summary"],
            details_json=_with_drawings(script["json"].strip()) if "json" in script else details,
            callback_webhook=script.get("webhook", ""),
            timeout_seconds=int(length(script.get("timeout", "")).total_seconds()) or None,
            assumption=script.get("assumption", ""),
            on_timeout=script.get("on_timeout", ""),
            thread=script.get("thread", ""),
            priority=script.get("priority", Delivery.Priority.NORMAL),
            quorum=script.get("quorum"),
            irreversible=script.get("irreversible", False),
            supersedes=earlier.values_list("pk", flat=True).first(),
            key=key,
            idempotency=Idempotency(self.mark, self.mark),
            at=self.begins,
        )
        keys.touch(key, at=self.begins)

    def _acknowledge(self, at: datetime) -> None:
        acknowledge([self.delivery.pk], by=self.people["owner"], at=at)

    def _respond(self, answer: Script, at: datetime) -> None:
        delivery = self.delivery
        response = respond(
            delivery,
            by=self.people[answer.get("by", "owner")],
            status=answer["status"],
            content_hash=delivery.content_hash,
            feedback=answer.get("feedback", ""),
            edited_json=answer["edited"].strip() if "edited" in answer else None,
            at=at,
        )
        if isinstance(response, Response):
            release(response, at=response.release_at)

    def _try(self, attempt: Script, at: datetime) -> None:
        """Settles an attempt as a sender would, without sending anything."""
        of_this = Callback.objects.filter(response__delivery=self.delivery)
        of_this.update(tries=F("tries") + 1)
        Response.objects.not_sent().filter(callback__in=of_this).update(sent_at=at)
        outcome = HttpResult(
            status_code=attempt.get("status"),
            error=attempt.get("error", ""),
            answer=attempt.get("answer", ""),
            took_ms=10_000 if "error" in attempt else 180,
        )
        attempts.settle([(of_this.get(), outcome)], at=at)

    def _pick_up(self, route: str, at: datetime) -> None:
        key = self.cast.keys[ApiKey.Mode.LIVE]
        if route == Response.Route.POLL:
            pickups.read(key, self.delivery.pk, at=at)
        else:
            pickups.sweep(key, pickups.SweepQuery(), at=at)
        keys.touch(key, at=at)

    def _act(self, outcome: Script, at: datetime) -> None:
        """Uses the approval, and reports what came of it."""
        key, delivery = self.cast.keys[ApiKey.Mode.LIVE], self.delivery
        claims.claim(claims.Claimant(key), delivery.pk, digest=delivery.content_hash, at=at)
        summary = outcome["summary"]
        outcomes.report(key, delivery.pk, status=outcome["status"], summary=summary, at=at)
        keys.touch(key, at=at)


def _with_drawings(json_text: str) -> str:
    """Returns the JSON with pictures in place of their names, such as `drawn:harbour`."""
    return DRAWING.sub(lambda name: drawn(name[1]), json_text)


def length(text: str) -> timedelta:
    """Reads a length of time such as `1d 3h 20m 5s`. An empty text means zero."""
    return timedelta(**{UNITS[unit]: int(count) for count, unit in AMOUNT.findall(text)})
