"""What an audit event says, in plain words: who did what; the thing itself stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.urls import reverse

from accounts.models import AuditEvent
from wake.models import Response

Detail = Mapping[str, Any]
Say = Callable[[str, Detail], str]

KINDS = {
    "person": "person",
    "agent": "agent",
    "caller": "caller over A2A",
    "system": "Wake",
    "operator": "command line",
}
ROUTES = dict(Response.Route.choices)
CALLERS = {
    "public": "anybody",
    "key": "anybody with a caller key",
    "allowlist": "who has a caller key on its list",
}
ANSWERS = {key: label.lower() for key, label in Response.Status.choices}


def words(event: AuditEvent) -> str:
    """`Mira approved`; `Undone by Mira after 4 s`; `Window passed; no answer`."""
    _, say = EVENTS.get(event.event, ("", None))
    who = event.actor_name or "Somebody"
    if say is None:
        happened = event.event.replace(".", " ").replace("_", " ")
        return f"{who}: {happened}"
    return say(who, event.detail)


def kind(event: AuditEvent) -> str:
    return KINDS.get(event.actor_kind, "")


def link(event: AuditEvent) -> str:
    """Where what it happened to can be looked at; empty where there is no such page."""
    match event.object_kind:
        case "delivery" | "agent" | "callback" | "task" | "card":
            name = "agent" if event.object_kind == "card" else event.object_kind
            try:
                return reverse(name, args=[UUID(event.object_id)])
            except ValueError:
                return ""
        case "callbackhost":
            return reverse("settings-allowlist")
        case "membership" | "invitation":
            return reverse("settings-members")
        case "failingtarget":
            return reverse("callbacks")
    return ""


def short(address: str) -> str:
    """An IPv6 address by its two ends."""
    groups = address.split(":")
    if len(groups) <= 4:
        return address
    return f"{groups[0]}:{groups[1]}:…:{groups[-1]}"


def _answered(who: str, detail: Detail) -> str:
    status = ANSWERS.get(str(detail.get("status")), "answered")
    return f"{who} {status}{' after the window' if detail.get('late') else ''}"


def _taken_back(who: str, detail: Detail) -> str:
    seconds = detail.get("after_seconds")
    after = f" after {seconds:.0f} s" if isinstance(seconds, int | float) else ""
    return f"Undone by {who}{after}"


def _picked_up(who: str, detail: Detail) -> str:
    return f"Picked up by {ROUTES.get(str(detail.get('route')), 'the agent')}"


def _given_up(who: str, detail: Detail) -> str:
    return f"Webhook to {detail.get('host', '')} stopped after {detail.get('tries', '')} tries"


def _rehearsed(who: str, detail: Detail) -> str:
    return f"{who} sent a test callback to {detail.get('host', '')}"


def _kept(who: str, detail: Detail) -> str:
    days = detail.get("days")
    return f"{who} set what was written to be kept {f'for {days} days' if days else 'for ever'}"


def _erased(who: str, detail: Detail) -> str:
    count = detail.get("count", "some")
    return f"What was written was erased in {count} {'delivery' if count == 1 else 'deliveries'}"


def _limited(who: str, detail: Detail) -> str:
    an_hour = detail.get("an_hour")
    if an_hour is None:
        return f"{who} took the limit of an agent's deliveries away"
    return f"{who} limited an agent to {an_hour} deliver{'y' if an_hour == 1 else 'ies'} an hour"


def _passed_over(who: str, detail: Detail) -> str:
    status = ANSWERS.get(str(detail.get("status")), "answered")
    return f"{who} {status}, but the task had moved on"


def _published(who: str, detail: Detail) -> str:
    return (
        f"{who} published an agent: {CALLERS.get(str(detail.get('access')), 'others')} may call it"
    )


def _card_changed(who: str, detail: Detail) -> str:
    names = [str(name).replace("_", " ") for name in detail.get("changed", [])]
    words = f"{who} changed an agent's card: {', '.join(names)}"
    if "access" not in names:
        return words
    return f"{words}; {CALLERS.get(str(detail.get('access')), 'others')} may call it now"


def _renamed(who: str, detail: Detail) -> str:
    before = detail.get("before")
    return f"{who} renamed the team{f', which was {before}' if before else ''}"


def _role_changed(who: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{who} changed a member's role{f' to {role}' if role else ''}"


def _joined(who: str, detail: Detail) -> str:
    inviter = detail.get("invited_by")
    return f"{who} joined the team{f', invited by {inviter}' if inviter else ''}"


def _invited(who: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{who} invited somebody{f' as {role}' if role else ''}"


def _of_agent(verb: str) -> Say:
    def say(who: str, detail: Detail) -> str:
        agent = detail.get("agent")
        return f"{who} {verb}{f' of {agent}' if agent else ''}"

    return say


def _granted(who: str, detail: Detail) -> str:
    return f"{who} let {detail.get('agent', 'an agent')} deliver under another id"


def _taken_away(who: str, detail: Detail) -> str:
    return f"{who} took an id away from {detail.get('agent', 'an agent')}"


def _does(verb: str) -> Say:
    return lambda who, detail: f"{who} {verb}"


# The name of each event in the filter, and what it says.
EVENTS: dict[str, tuple[str, Say]] = {
    "delivery.received": ("Delivered", _does("delivered")),
    "delivery.answered": ("Answered", _answered),
    "response.taken_back": ("Answer undone", _taken_back),
    "response.picked_up": ("Answer picked up", _picked_up),
    "delivery.timed_out": ("Window passed", lambda who, detail: "Window passed; no answer"),
    "delivery.acknowledged": ("Got it", _does("said “Got it”")),
    "delivery.withdrawn": ("Withdrawn", lambda who, detail: "Withdrawn; nothing to answer"),
    "delivery.brought_back": ("Brought back", _does("brought it back to the inbox")),
    "callback.sent_again": ("Webhook sent again", _does("sent the webhook again")),
    "callback.rehearsed": ("Test callback sent", _rehearsed),
    "callback.given_up": ("Webhook stopped", _given_up),
    "callbacks.rested": (
        "Webhooks rest",
        lambda who, detail: "Webhooks rest after days without a success",
    ),
    "callbacks.resumed": ("Webhooks resumed", _does("resumed the webhooks")),
    "callback_host.allowed": ("Callback host added", _does("let callbacks go there")),
    "callback_host.removed": ("Callback host removed", _does("took a callback host away")),
    "callback_host.changed": ("Callback host changed", _does("changed a callback host")),
    "agent.registered": ("Agent registered", _does("registered an agent")),
    "agent.paused": ("Agent paused", _does("paused an agent")),
    "agent.resumed": ("Agent resumed", _does("let an agent deliver again")),
    "agent.limited": ("Agent limited", _limited),
    "agent.changed": ("Agent changed", _does("changed an agent")),
    "agent.removed": ("Agent removed", _does("removed an agent")),
    "claim.added": ("Other id granted", _granted),
    "claim.changed": ("Other id changed", _does("changed an id that an agent delivers under")),
    "claim.removed": ("Other id removed", _taken_away),
    "key.issued": ("Key issued", _of_agent("issued a key")),
    "key.rotated": ("Key rotated", _of_agent("rotated a key")),
    "key.revoked": ("Key revoked", _of_agent("revoked a key")),
    "key.slowed_down": (
        "Slowed down",
        lambda who, detail: f"{who} delivered more than it may, and was slowed down",
    ),
    "secret.issued": ("Signing secret issued", _does("issued a signing secret")),
    "secret.rotated": ("Signing secret rotated", _does("rotated a signing secret")),
    "secret.switched": ("Signing secret switched", _does("switched to the new signing secret")),
    "card.published": ("Agent published", _published),
    "card.changed": ("Card changed", _card_changed),
    "card.unpublished": ("Agent unpublished", _does("let nobody call the agent any more")),
    "caller_key.issued": ("Caller key issued", _does("issued a caller key")),
    "caller_key.revoked": ("Caller key revoked", _does("revoked a caller key")),
    "task.received": ("Task received", _does("asked the agent over A2A")),
    "task.continued": ("Message to a task", _does("wrote to a task")),
    "task.completed": ("Task completed", _does("completed a task")),
    "task.failed": ("Task failed", lambda who, detail: "A task failed"),
    "task.canceled": ("Task canceled", _does("canceled a task")),
    "task.rejected": ("Task rejected", _does("rejected a task")),
    "task.answer_passed_over": ("Answer passed over", _passed_over),
    "task.result_came_late": (
        "Result came late",
        lambda who, detail: f"{who} sent a result after the task had ended; it was dropped",
    ),
    "retention.changed": ("Retention changed", _kept),
    "retention.erased": ("Content erased", _erased),
    "retention.erased_tasks": (
        "Content of tasks erased",
        lambda who, detail: f"What was said in tasks was erased: {detail.get('count', 'some')}",
    ),
    "team.added": ("Team added", _does("added the team")),
    "team.changed": ("Team changed", _does("changed the team")),
    "team.renamed": ("Team renamed", _renamed),
    "team.handed_over": ("Team handed over", _does("handed the team over, and reviews now")),
    "membership.added": ("Member added", _does("added a member")),
    "membership.changed": ("Member changed", _role_changed),
    "membership.removed": ("Member removed", _does("removed a member")),
    "membership.left": ("Member left", _does("left the team")),
    "membership.joined": ("Member joined", _joined),
    "invitation.made": ("Invitation made", _invited),
    "invitation.revoked": ("Invitation revoked", _does("took an invitation back")),
}
