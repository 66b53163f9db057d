"""Creates a delivery of each kind and state, and one object for every other page."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from accounts.access import invitations
from accounts.access.key_texts import digest_of, new_text
from accounts.agents import aliases, gates
from accounts.agents.keys import mint, revoke
from accounts.audit import SYSTEM, person
from accounts.models import (
    AddressChange,
    Agent,
    ApiKey,
    AuditEvent,
    Membership,
    OAuthGrant,
    Passkey,
    User,
)
from accounts.oauth import grants, policies
from accounts.sign_in.addresses import changes as address_changes
from inbox.models import Channel, NotificationRule, SavedReply
from inbox.reading import snoozes
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import Task
from relay.protocol.dialects import Incoming
from relay.tasks import sending
from tests.fixtures.answering_rules import answering_terms
from tests.fixtures.authenticator import Authenticator
from tests.fixtures.clients import connected
from tests.fixtures.rules import terms_with
from tests.types import Answer, MakeDelivery
from tests.wake.blobs.drawing import drawn
from tests.wake.blobs.showing import file, image
from wake import claims, outcomes
from wake.answering import rules as answering_rules
from wake.assignment import rules
from wake.blobs.uploads import upload
from wake.callbacks.attempts import settle
from wake.callbacks.http_client import HttpResult
from wake.claims import Claimant
from wake.models import (
    AnsweringRule,
    Callback,
    Delivery,
    Rule,
    ServerSample,
    Trial,
    UploadedBlob,
)
from wake.server.metrics import samples

REPORT = (
    "# Report\n\nTen **competitors**, see [the sheet](https://sheets.example.com/1).\n\n"
    "1. One\n2. Two\n\n| Company | Price |\n|---|--:|\n| Alder | 49 |\n\n> quoted\n\n"
    "```py\nmedian = hours[len(hours) // 2]\n```\n"
)
BLOCKS: list[dict[str, Any]] = [
    {"type": "table", "title": "Both", "columns": ["Price", "Dearer for"], "rows": [["A", 111]]},
    {"type": "code", "language": "py", "text": "def f(x): return x  # why"},
    {"type": "diff", "before": "one two", "after": "one three"},
    {
        "type": "chart",
        "kind": "bar",
        "title": "Prices",
        "labels": ["a" * 40, "b"],
        "series": [{"name": "One", "values": [1, -2]}, {"name": "Two", "values": [3, None]}],
    },
    {"type": "hologram", "text": "Nobody knows this one."},
    {
        "type": "choice",
        "label": "Which one?",
        "options": [
            {"id": "a", "label": "One price", "recommended": True},
            {"id": "b", "label": "One a person", "text": "Fair to small teams."},
        ],
    },
    {
        "type": "choice",
        "name": "told",
        "label": "Who is told?",
        "multiple": True,
        "options": [
            {"id": "sales", "label": "Sales", "recommended": True},
            {"id": "support", "label": "Support"},
        ],
    },
    {"type": "field", "name": "floor", "label": "Floor", "kind": "number", "value": 10},
    {"type": "field", "name": "mail", "label": "Send mail", "kind": "boolean", "value": True},
]


@dataclass
class World:
    deliveries: dict[str, Delivery]
    agent: Agent
    key: ApiKey
    callback: Callback
    saved_reply: SavedReply
    task: Task
    colleague: Membership
    link: str
    rule: Rule
    answering_rule: AnsweringRule
    channel: Channel
    blob: UploadedBlob
    passkey: Passkey
    grant: OAuthGrant
    confirming: str
    undoing: str

    def path(self, name: str, rest: str = "") -> str:
        return f"/deliveries/{self.deliveries[name].pk}/{rest}"


def build(make: MakeDelivery, answer: Answer, *, key: ApiKey, alice: User, bob: User) -> World:
    now = timezone.now()
    agent = key.agent
    _operate(alice, at=now)
    task = _asked(agent, at=now)
    _gates(agent, at=now)
    aliases.grant(agent, f"{'w' * 127}*", by=SYSTEM)
    old, _ = mint(agent, by=SYSTEM, mode="test", expires_at=now + timedelta(days=1))
    revoke(old, by=SYSTEM, at=now)
    blob = upload(key, drawn(), content_type="image/png", at=now).blob
    # These deliveries are older than the others, and the stamps of an agent only increase, so these
    # come first.
    deliveries = _approved(make, answer, key=key)
    deliveries |= _waiting(make, key=key, blob=blob)
    deliveries |= _answered(make, answer, by=bob)
    snoozed = make(headline="w" * 120)
    snoozes.snooze(snoozed, by=alice, until=now + timedelta(days=400), at=now)
    for status, name, text in [
        ("approved", "Ship it", "Good, go ahead."),
        ("rejected", "x" * 40, "y" * 2000),
    ]:
        saved_reply = SavedReply.objects.create(user=alice, status=status, name=name, text=text)
    colleague = agent.team.memberships.get(user=bob)
    _, link = invitations.invite(
        agent.team, role="owner", by=alice, at=now, email=f"{'w' * 60}@example.com"
    )
    callback = _callback(make, answer)
    rule = _rule(agent, alice, at=now)
    change = address_changes.ask(alice, f"{'w' * 60}@example.com", at=now)
    return World(
        deliveries,
        agent,
        key,
        callback,
        saved_reply,
        task,
        colleague,
        link,
        rule,
        _answering_rule(agent, alice, at=now),
        _channel(agent, at=now),
        blob,
        _passkey(alice),
        _clients(agent, alice, at=now),
        confirming=address_changes.renew_link(change),
        undoing=_changed_address(bob, at=now),
    )


def _channel(agent: Agent, *, at: datetime) -> Channel:
    """Makes a channel of the team that fails."""
    channel = Channel.objects.create(
        team=agent.team,
        kind="webhook",
        name="w" * 40,
        address=f"https://{'w' * 60}.example.com/{'w' * 60}",
        created_at=at,
        verified_at=at,
        failing_since=at,
        retry_at=at,
        error="w" * 200,
    )
    NotificationRule.objects.create(channel=channel, events=["question", "alert"], since=at)
    return channel


def _operate(alice: User, *, at: datetime) -> None:
    """Lets Alice open the page of operators, with charts of two hours and a gap."""
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    now = samples.beginning(at)
    ServerSample.objects.bulk_create(
        ServerSample(
            at=now - number * samples.INTERVAL,
            deliveries=1_000 - number**2,
            responses=900 - number**2,
            pending_deliveries=40 + number % 7,
            waiting_callbacks=number % 5,
            suspended_callbacks=2,
            seconds_overdue=number / 3,
        )
        for number in range(24)
        if number not in {9, 10}
    )


def _passkey(alice: User) -> Passkey:
    key = Authenticator().public_key()
    return Passkey.objects.create(user=alice, name="w" * 80, credential_id=b"x", public_key=key)


def _rule(agent: Agent, by: User, *, at: datetime) -> Rule:
    """Creates a rule with every condition that a rule can have. The rule is created after all
    deliveries."""
    terms = terms_with(
        types=["alert"],
        agents=[str(agent.pk)],
        thread_prefix="w" * 128,
        pointer=f"/{'w' * 199}",
        operator="contains",
        value="w" * 200,
        people=[by.pk],
        role="owner",
        only_they=True,
    )
    team = agent.team
    return rules.add(team, "w" * 80, terms, rules_version=team.rules_version, by=person(by), at=at)


def _answering_rule(agent: Agent, by: User, *, at: datetime) -> AnsweringRule:
    """Creates a rule that is on and has every value that its page can show."""
    terms = answering_terms(agents=[str(agent.pk)], thread_prefix="w" * 128, at=at)
    rule = answering_rules.add(agent.team, "w" * 60, terms, by=person(by), at=at)
    answering_rules.turn_on(rule, version=1, reason="w" * 280, by=person(by), at=at)
    version, trial = rule.versions.get(), {"created_at": at}
    rejected, *others = Delivery.objects.filter(agent=agent).order_by("created_at")[:3]
    Trial.objects.create(delivery=rejected, version=version, taken_back_at=at, **trial)
    for delivery in others:
        Trial.objects.create(delivery=delivery, version=version, approved_at=at, **trial)
    return rule


def _changed_address(user: User, *, at: datetime) -> str:
    """Changes the person's address, and returns the text of the link that undoes the change."""
    text = new_text(address_changes.PREFIX)
    digest = digest_of(text)
    AddressChange.objects.create(
        user=user, old_email=user.email, digest=digest, asked_at=at, confirmed_at=at
    )
    return text


def _gates(agent: Agent, *, at: datetime) -> None:
    """Issues a gate key that works, and one that does not."""
    old, _ = gates.issue(agent.team, name="w" * 80, agents=[agent], by=SYSTEM, at=at)
    gates.revoke(old, by=SYSTEM, at=at)
    gates.issue(agent.team, name="Refund service", agents=[agent], by=SYSTEM, at=timezone.now())


def _clients(agent: Agent, alice: User, *, at: datetime) -> OAuthGrant:
    """Connects a client that was ended, and one that works, with the longest names and hosts."""
    name, host = "w" * 80, f"{'w' * 63}.{'w' * 63}.example.com"
    grants.end(connected(agent, alice, at=at), by=SYSTEM, at=at)
    policies.change(agent.team, who="owners", hosts=[host, "localhost"], by=person(alice), at=at)
    return connected(agent, alice, name=name, host=host, ends_at=at + timedelta(days=90))


def _asked(agent: Agent, *, at: datetime) -> Task:
    """Publishes the agent for two callers: the key of the first is revoked, and the second has sent
    a task."""
    caller, _ = callers.mint(agent.team, name="Build server", by=SYSTEM)
    former, _ = callers.mint(agent.team, name="w" * 80, by=SYSTEM)
    callers.revoke(former, by=SYSTEM, at=at)
    card = publish(
        agent,
        by=SYSTEM,
        at=at,
        access="allowlist",
        callers=[caller],
        description="w" * 200,
        skills=[{"id": "x", "name": "x" * 80, "description": "Finds ten.", "tags": ["market"]}],
    )
    raw = base64.b64encode(drawn()).decode()
    picture = {"raw": raw, "filename": f"{'w' * 80}.png", "mediaType": "image/png"}
    parts = [picture, {"text": "w" * 200}]
    return sending.send(card, caller, Incoming(message_id="m1", parts=parts), at=timezone.now())


def _waiting(make: MakeDelivery, *, key: ApiKey, blob: UploadedBlob) -> dict[str, Delivery]:
    files = [
        image(str(blob.pk), "A gradient", title="Picture", caption="w" * 200),
        file(str(blob.pk), f"{'w' * 80}.png"),
        image(str(uuid4()), "Nothing that is there"),
    ]
    return {
        "expired": make(timeout_seconds=60, at=timezone.now() - timedelta(hours=1)),
        "question": make(
            type="question",
            headline="Two pricing options are ready for your pick",
            details_json='{"a": "49 a month", "b": "59 a month", "share": 0.1, "final": true}',
            timeout_seconds=3000,
            assumption="I take the second one.",
            irreversible=True,
        ),
        "blocks": make(
            type="question", details_json=json.dumps({"wake_blocks": 1, "blocks": BLOCKS + files})
        ),
        "report": make(details_json=json.dumps(REPORT), timeout_seconds=7200),
        "alert": make(
            type="alert",
            headline="Paused safely after an unusual bill",
            details_json='{"vendor": "Nimbus", "lines": [{"what": "compute", "amount": 4400}]}',
        ),
        "arabic": make(
            headline="\u0627\u0643\u062a\u0645\u0644 \u0627\u0644\u062a\u0642\u0631\u064a\u0631",
            summary="\u0645\u0644\u062e\u0635 \u0628\u0627\u0644\u0639\u0631\u0628\u064a\u0629",
        ),
        "long": make(headline="w" * 120, summary="s" * 280, details_json=f'"{"x" * 9_000}"'),
        "update": make(type="update", headline="Indexing reached 80 percent"),
        "tried": make(key=key, headline="Still here"),
    }


def _answered(make: MakeDelivery, answer: Answer, *, by: User) -> dict[str, Delivery]:
    redirected = make(details_json='{"title": "Old", "same": 1}', headline="Redirected one")
    edited = '{"title": "New", "same": 1}'
    answer(redirected, "redirected", by=by, feedback="See.", edited_json=edited)
    rejected = make(headline="Rejected one")
    answer(rejected, "rejected", by=by, feedback="Too loud.")
    revision = make(
        details_json='{"title": "Newer", "same": 1}',
        headline="The redirected one again",
        supersedes=redirected.pk,
    )
    return {"redirected": redirected, "rejected": rejected, "revision": revision}


def _approved(make: MakeDelivery, answer: Answer, *, key: ApiKey) -> dict[str, Delivery]:
    """Creates approvals that were used, that failed after their use, and that were never used."""
    at = timezone.now() - timedelta(days=2)
    approved = {
        name: make(headline=headline, digest=True, at=at)
        for name, headline in (
            ("used", "Refund EUR 12 to Ada"),
            ("failed", "Refund EUR 180 to Grace"),
            ("unused", "Refund EUR 7 to Alan"),
        )
    }
    for name, delivery in approved.items():
        answer(delivery, at=at)
        if name == "unused":
            continue
        digest, used_at = delivery.content_hash, at + timedelta(minutes=11)
        claims.claim(Claimant(key=key), delivery.pk, digest=digest, at=used_at)
        outcomes.report(
            key,
            delivery.pk,
            status="failed" if name == "failed" else "done",
            summary="The bank refused the card." if name == "failed" else "refund re_3F sent",
            details_json='{"code": "card_declined"}',
            at=used_at + timedelta(minutes=1),
        )
    return approved


def _callback(make: MakeDelivery, answer: Answer) -> Callback:
    """Creates a callback that failed once."""
    delivery = make(callback_webhook="https://hooks.example.com/answers?token=1")
    callback = Callback.objects.get(response=answer(delivery))
    callback.tries, callback.lease = 1, uuid4()
    callback.save(update_fields=["tries", "lease"])
    settle([(callback, HttpResult(status_code=500))], at=timezone.now())
    return callback


def as_fields(world: World) -> dict[str, Any]:
    """Returns the arguments of `reverse` for each address that names an object."""
    delivery = {"pk": world.deliveries["report"].pk}
    team = {"slug": world.agent.team.slug}
    message = world.task.messages.get()
    file = {"pk": world.task.pk, "kind": "messages", "row": message.pk, "number": 0}
    return {
        "delivery": delivery,
        "editor": delivery,
        "raw-details": delivery,
        "receipt": delivery,
        "picture": {"pk": world.deliveries["blocks"].pk, "digest": world.blob.sha256},
        "file": {"pk": world.deliveries["blocks"].pk, "blob": world.blob.pk},
        "agent": {"pk": world.agent.pk},
        "agent-card": {"pk": world.agent.pk},
        "connect": {"pk": world.agent.pk},
        "statistics": {"pk": world.agent.pk},
        "statistics-csv": {"pk": world.agent.pk},
        "statistics-json": {"pk": world.agent.pk},
        "evidence": {"pk": world.agent.pk},
        "agent-key-new": {"pk": world.agent.pk},
        "agent-key-rotate": {"pk": world.agent.pk, "key": world.key.pk},
        "agent-key-revoke": {"pk": world.agent.pk, "key": world.key.pk},
        "agent-client-end": {"pk": world.agent.pk, "client": world.grant.pk},
        "settings-client-end": {"pk": world.grant.pk},
        "settings-client-policy": team,
        "settings-gate-new": team,
        "settings-team-signatures": team,
        "settings-gate-revoke": {**team, "pk": world.agent.team.gates.latest("created_at").pk},
        "agent-secret": {"pk": world.agent.pk},
        "agent-aliases": {"pk": world.agent.pk},
        "agent-limit": {"pk": world.agent.pk},
        "agent-test-callback": {"pk": world.agent.pk},
        "caller-keys": {"pk": world.agent.pk},
        "caller-key-new": {"pk": world.agent.pk},
        "caller-key-revoke": {
            "pk": world.agent.pk,
            "key": world.agent.team.caller_keys.filter(revoked_at=None).latest("pk").pk,
        },
        "unpublish-agent": {"pk": world.agent.pk},
        "agent-tasks": {"pk": world.agent.pk},
        "task": {"pk": world.task.pk},
        "task-file": file,
        "task-picture": file,
        "context": {"pk": world.task.context_id},
        "audit-event": {
            "pk": AuditEvent.objects.filter(team_id=world.agent.team_id).latest("pk").pk
        },
        "callback": {"pk": world.callback.pk},
        "settings-saved-reply": {"pk": world.saved_reply.pk},
        "settings-passkey": {"pk": world.passkey.pk},
        "settings-passkey-remove": {"pk": world.passkey.pk},
        "settings-leave": team,
        "settings-team-channel-new": team,
        "settings-channel": {"pk": world.channel.pk},
        "settings-channel-remove": {"pk": world.channel.pk},
        "settings-disallow": team,
        "settings-team-rules": team,
        "settings-rule-new": team,
        "settings-rules-try": team,
        "settings-rule": {**team, "pk": world.rule.pk},
        "settings-rule-remove": {**team, "pk": world.rule.pk},
        "settings-answering-rule-new": team,
        "settings-answering-rule": {**team, "pk": world.answering_rule.pk},
        "settings-answering-rule-change": {**team, "pk": world.answering_rule.pk},
        "settings-answering-rule-remove": {**team, "pk": world.answering_rule.pk},
        "settings-invite": team,
        "settings-member": {**team, "pk": world.colleague.pk},
        "join": {"token": world.link},
        "confirm-address": {"token": world.confirming},
        "restore-address": {"token": world.undoing},
    }
