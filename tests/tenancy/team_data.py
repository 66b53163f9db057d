"""Creates a team with one object for every address."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.apps import apps
from django.db.models import Model
from django.utils import timezone

from accounts.access import invitations
from accounts.agents import aliases, gates, keys, signing_secrets
from accounts.audit import SYSTEM, person, record
from accounts.models import (
    Agent,
    ApiKey,
    AuditEvent,
    CheckpointSending,
    ClaimedId,
    DirectoryAccount,
    DirectoryGroup,
    Gate,
    Invitation,
    LogCheckpoint,
    Membership,
    OAuthGrant,
    Passkey,
    Team,
    User,
)
from inbox.answering.batches.batches import AnswerBatch
from inbox.models import Channel, Comment, NotificationRule, PushKey, SavedReply
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card, Task
from relay.protocol.dialects import Incoming
from relay.tasks import sending
from tests.fixtures.answering_rules import answering_terms
from tests.fixtures.authenticator import Authenticator
from tests.fixtures.clients import connected
from tests.fixtures.rules import terms_with
from tests.inbox.person import Person
from tests.wake.blobs.drawing import drawn
from wake.answering import rules as answering_rules
from wake.assignment import rules
from wake.blobs.uploads import upload
from wake.deliveries import deliver
from wake.models import (
    AnsweringRule,
    Attachment,
    Callback,
    CallbackAttempt,
    CallbackHost,
    Delivery,
    FailingTarget,
    Response,
    Rule,
    UploadedBlob,
)
from wake.responses import release, respond


@dataclass
class TeamData:
    """Holds the objects of one team; all content in it contains `words`."""

    words: str
    team: Team
    owner: User
    agent: Agent
    key: ApiKey
    key_text: str
    delivery: Delivery
    response: Response
    callback: Callback
    attempt: CallbackAttempt
    target: FailingTarget
    host: CallbackHost
    saved_reply: SavedReply
    comment: Comment
    event: AuditEvent
    batch: UUID
    caller_key: CallerKey
    claim: ClaimedId
    card: Card
    task: Task
    membership: Membership
    invitation: Invitation
    rule: Rule
    answering_rule: AnsweringRule
    blob: UploadedBlob
    channel: Channel
    passkey: Passkey
    gate: Gate
    grant: OAuthGrant
    checkpoint: LogCheckpoint
    sending: CheckpointSending
    account: DirectoryAccount
    group: DirectoryGroup

    def row_of(self, model: type[Model]) -> Any:
        """Returns the id of the object of this model, for the admin."""
        for value in vars(self).values():
            if isinstance(value, model):
                return value.pk
        raise AssertionError(
            f"{model.__name__} has pages in the admin: put one into tests/tenancy/team_data.py."
        )

    def ids(self) -> list[str]:
        return [str(self.delivery.pk), str(self.agent.pk), self.team.slug, str(self.owner.pk)]


def build(team: Team, *, words: str) -> TeamData:
    """Creates the objects as the first owner of the team."""
    membership = team.memberships.filter(role=Membership.Role.OWNER)[0]
    owner = membership.user
    agent = Agent.objects.create(team=team, agent_id=f"{team.slug}-{words}-agent")
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    key, text = keys.mint(agent, by=SYSTEM)
    host = CallbackHost.objects.create(team=team, pattern=f"{words}.example.com")
    delivery = _delivery(agent, words)
    answered = _delivery(agent, words, callback_webhook=f"https://{words}.example.com/")
    response = respond(
        answered,
        by=owner,
        status="approved",
        content_hash=answered.content_hash,
        feedback=words,
        at=timezone.now(),
    )
    assert isinstance(response, Response)
    release(response, at=response.answered_at)
    callback = Callback.objects.get(response=response)
    attempt = CallbackAttempt.objects.create(
        callback=callback, number=1, started_at=timezone.now(), took_ms=9, status_code=500
    )
    target = FailingTarget.objects.create(
        team=team, host=host.pattern, failing_since=timezone.now(), suspended_at=timezone.now()
    )
    saved_reply = SavedReply.objects.create(user=owner, status="approved", name=words, text=words)
    comment = Comment.objects.create(
        delivery=delivery, author=owner, author_name=words, text=words, written_at=timezone.now()
    )
    record("team.changed", by=person(owner), of=team, team=team, note=words)
    event = AuditEvent.objects.filter(team_id=team.pk).latest("pk")
    batch = _batch(owner, response)
    claim = aliases.grant(agent, f"{words}-*", by=SYSTEM)
    caller_key, _ = callers.mint(team, name=f"{words} caller", by=SYSTEM)
    card = publish(agent, by=SYSTEM, at=timezone.now(), callers=[caller_key], description=words)
    raw = base64.b64encode(drawn()).decode()
    parts = [{"raw": raw, "filename": words, "mediaType": "image/png"}, {"text": words}]
    task = sending.send(card, caller_key, Incoming(message_id="m1", parts=parts), at=timezone.now())
    invitation, _ = invitations.invite(team, role="reader", by=owner, at=timezone.now())
    rule = rules.add(
        team,
        f"{words} rule",
        terms_with(people=[owner.pk], thread_prefix=words),
        rules_version=0,
        by=person(owner),
        at=timezone.now(),
    )
    answering_rule = answering_rules.add(
        team,
        f"{words} answers",
        answering_terms(thread_prefix=words),
        by=person(owner),
        at=timezone.now(),
    )
    team.refresh_from_db()
    blob = upload(key, drawn(), content_type="image/png", at=timezone.now()).blob
    Attachment.objects.create(delivery=delivery, blob=blob)
    return TeamData(
        words, team, owner, agent, key, text, delivery, response, callback, attempt, target, host,
        saved_reply, comment, event, batch, caller_key, claim, card, task, membership, invitation,
        rule, answering_rule, blob, _channel(team, words), _passkey(owner, words),
        _gate(agent, words), connected(agent, owner, name=f"{words} client"), *_checkpoint(team),
        *_directory(owner, words),
    )  # fmt: skip


def _gate(agent: Agent, words: str) -> Gate:
    name = f"{words} gate"
    return gates.issue(agent.team, name=name, agents=[agent], by=SYSTEM, at=timezone.now())[0]


def _checkpoint(team: Team) -> tuple[LogCheckpoint, CheckpointSending]:
    """Stores a checkpoint and its sending, which belong to the server, for the admin."""
    checkpoint = LogCheckpoint.objects.create(
        size=team.pk, root="0" * 64, note="A note.", made_at=timezone.now()
    )
    return checkpoint, checkpoint.sendings.create(kind=CheckpointSending.Kind.GIT)


def _directory(owner: User, words: str) -> tuple[DirectoryAccount, DirectoryGroup]:
    account = DirectoryAccount.objects.create(user=owner, user_name=words, user_key=words)
    group = DirectoryGroup.objects.create(display_name=words)
    group.members.add(account)
    return account, group


def _passkey(owner: User, words: str) -> Passkey:
    credential_id = words.encode()
    return Passkey.objects.create(
        user=owner, name=words, credential_id=credential_id, public_key=Authenticator().public_key()
    )


def _channel(team: Team, words: str) -> Channel:
    now = timezone.now()
    channel = Channel.objects.create(
        team=team,
        kind="ntfy",
        name=words,
        address=f"https://ntfy.sh/{words}",
        created_at=now,
        verified_at=now,
    )
    NotificationRule.objects.create(channel=channel, events=["question"], since=now)
    return channel


def everything() -> dict[str, list[dict[str, Any]]]:
    """Returns every row of the project, by model. Leaves out the server's own key of web push,
    because the key belongs to no one, and is made when the page that needs it is first opened."""
    models = [model for app in ("accounts", "wake", "inbox", "relay") for model in _models(app)]
    models.remove(PushKey)
    return {model.__name__: list(model._base_manager.order_by("pk").values()) for model in models}


def without_own_channels(rows: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the channels that people added for themselves, and what these channels send."""
    of_teams = [row for row in rows["Channel"] if row["team_id"] is not None]
    ids = {row["id"] for row in of_teams}
    rules = [row for row in rows["NotificationRule"] if row["channel_id"] in ids]
    return {**rows, "Channel": of_teams, "NotificationRule": rules}


def _models(app: str) -> list[type[Model]]:
    return list(apps.get_app_config(app).get_models())


def _delivery(agent: Agent, words: str, **fields: Any) -> Delivery:
    return deliver(
        agent,
        agent_id=agent.agent_id,
        provider="claude",
        type="output",
        headline=f"{words} is the headline",
        summary=f"{words} in short.",
        details_json=f'{{"title": "{words} in full"}}',
        at=timezone.now(),
        **fields,
    ).delivery


def _batch(owner: User, response: Response) -> UUID:
    """Stores a batch in the owner's session."""
    session = Person(owner).client.session
    batch = AnswerBatch(uuid4(), "", [(response.delivery_id, "approved", "sent")])
    batch.store(session)
    session.save()
    return batch.id
