"""Writes an audit event as a sentence: who did what; the page shows the object beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from accounts.models import AuditEvent
from inbox.answering.answer_status import picked_up
from inbox.answering.places import place_words
from wake.models import Place

Detail = Mapping[str, Any]
Say = Callable[[str, Detail], str]

CALLERS = {
    "public": "anyone",
    "key": "anyone with a caller key",
    "allowlist": "selected caller keys",
}
ANSWERS = {"approved": "approved", "rejected": "rejected"}  # all others are answers in own words


def sentence(event: AuditEvent) -> str:
    """Returns `Mira approved`, `Undone by Mira after 4 s` or `Expired without an answer`."""
    _, _, say = EVENTS.get(event.event, ("", "", None))
    actor = _actor(event)
    if say is None:
        happened = event.event.replace(".", " ").replace("_", " ")
        return f"{actor}: {happened}"
    return say(actor, event.detail)


def where(event: AuditEvent) -> str:
    """Returns where a person answered, and whether everything was in sight there: `in the list,
    without opening it; everything was in sight`. Empty if the event does not say it."""
    detail = event.detail
    if "all_in_sight" in detail:
        return place_words(str(detail.get("place")), all_in_sight=detail["all_in_sight"])
    return "in Slack" if detail.get("place") == Place.SLACK else ""


def full_sentence(event: AuditEvent) -> str:
    """Returns the sentence with where it happened, for places that have one line for both."""
    return f"{sentence(event)} {where(event)}".rstrip()


def _actor(event: AuditEvent) -> str:
    if event.actor_kind == "operator":
        return "CLI"
    if event.actor_kind == "rule":
        return f"The rule “{event.actor_name}”"
    return event.actor_name or "Someone"


def _answered(actor: str, detail: Detail) -> str:
    status = ANSWERS.get(str(detail.get("status")), "answered")
    late = " after the deadline" if detail.get("late") else ""
    return f"{actor} {status}{late}{_via(detail)}"


def _taken_back(actor: str, detail: Detail) -> str:
    seconds = detail.get("after_seconds")
    after = f" after {seconds:.0f} s" if isinstance(seconds, int | float) else ""
    return f"Undone by {actor}{after}{_via(detail)}"


def _voted(actor: str, detail: Detail) -> str:
    have, needed = detail.get("have", 1), detail.get("needed", 2)
    return f"{actor} approved it: {have} of {needed} people have{_via(detail)}"


def _via(detail: Detail) -> str:
    """Names Slack in events of earlier versions."""
    return f" via {detail['via']}" if detail.get("via") else ""


def _picked_up(actor: str, detail: Detail) -> str:
    return picked_up(str(detail.get("route")))


def _given_up(actor: str, detail: Detail) -> str:
    return f"Callback to {detail.get('host', '')} failed after {detail.get('tries', '')} attempts"


def _test_callback_sent(actor: str, detail: Detail) -> str:
    return f"{actor} sent a test callback to {detail.get('host', '')}"


def _retention_changed(actor: str, detail: Detail) -> str:
    days = detail.get("days")
    return f"{actor} set retention to {f'{days} days' if days else 'forever'}"


def _erased(actor: str, detail: Detail) -> str:
    count = detail.get("count", "some")
    return f"Content of {count} {'delivery' if count == 1 else 'deliveries'} was erased"


def _limited(actor: str, detail: Detail) -> str:
    an_hour = detail.get("an_hour")
    if an_hour is None:
        return f"{actor} removed an agent's rate limit"
    return f"{actor} limited an agent to {an_hour} deliver{'y' if an_hour == 1 else 'ies'} per hour"


def _answer_ignored(actor: str, detail: Detail) -> str:
    status = ANSWERS.get(str(detail.get("status")), "answered")
    return f"{actor} {status}, but the task had already moved on"


def _published(actor: str, detail: Detail) -> str:
    callers = CALLERS.get(str(detail.get("access")), "others")
    return f"{actor} published an agent: {callers} can call it"


def _card_changed(actor: str, detail: Detail) -> str:
    names = [str(name).replace("_", " ") for name in detail.get("changed", [])]
    change = f"{actor} changed an agent's card: {', '.join(names)}"
    if "access" not in names:
        return change
    return f"{change}; {CALLERS.get(str(detail.get('access')), 'others')} can call it now"


def _renamed(actor: str, detail: Detail) -> str:
    before = detail.get("before")
    return f"{actor} renamed the team{f' from {before}' if before else ''}"


def _role_changed(actor: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{actor} changed a member's role{f' to {role}' if role else ''}"


def _joined(actor: str, detail: Detail) -> str:
    inviter = detail.get("invited_by")
    return f"{actor} joined the team{f', invited by {inviter}' if inviter else ''}"


def _invited(actor: str, detail: Detail) -> str:
    role = detail.get("role")
    return f"{actor} invited someone{f' as {role}' if role else ''}"


def _of_agent(verb: str) -> Say:
    def say(actor: str, detail: Detail) -> str:
        agent = detail.get("agent")
        return f"{actor} {verb}{f' for {agent}' if agent else ''}"

    return say


def _granted(actor: str, detail: Detail) -> str:
    return f"{actor} added an alias for {detail.get('agent', 'an agent')}"


def _taken_away(actor: str, detail: Detail) -> str:
    return f"{actor} removed an alias of {detail.get('agent', 'an agent')}"


def _of_rule(verb: str) -> Say:
    def say(actor: str, detail: Detail) -> str:
        return f"{actor} {verb} an assignment rule (version {detail.get('version', '?')})"

    return say


def _of_answering_rule(verb: str) -> Say:
    def say(actor: str, detail: Detail) -> str:
        reason = f": “{detail['reason']}”" if detail.get("reason") else ""
        version = detail.get("version", "?")
        return f"{actor} {verb} an answering rule (version {version}){reason}"

    return say


def _back_to_shadow(actor: str, detail: Detail) -> str:
    if "contradicted" in detail:
        return "An answering rule stopped, because people disagreed with it"
    return _of_answering_rule("started a dry run of")(actor, detail)


def _does(verb: str) -> Say:
    return lambda actor, detail: f"{actor} {verb}"


def _says(words: str) -> Say:
    return lambda actor, detail: words


# The name of each event in the filter, what several are called (`6 agents registered`), and the
# sentence.
EVENTS: dict[str, tuple[str, str, Say]] = {
    "delivery.received": ("Delivered", "deliveries received", _does("delivered")),
    "delivery.answered": ("Answered", "deliveries answered", _answered),
    "blob.uploaded": ("File uploaded", "files uploaded", _does("uploaded a file")),
    "response.taken_back": ("Answer undone", "answers undone", _taken_back),
    "delivery.voted": (
        "Approved by one",
        "approvals of several people",
        _voted,
    ),
    "vote.taken_back": ("Approval undone", "approvals undone", _does("undid their approval")),
    "response.picked_up": ("Answer fetched", "answers fetched", _picked_up),
    "delivery.timed_out": (
        "Expired",
        "deliveries expired",
        _says("Expired without an answer"),
    ),
    "delivery.acknowledged": ("Acknowledged", "deliveries acknowledged", _does("acknowledged it")),
    "delivery.withdrawn": (
        "Withdrawn",
        "deliveries withdrawn",
        _says("Withdrawn by the agent"),
    ),
    "delivery.commented": ("Comment", "comments written", _does("commented")),
    "delivery.comment_removed": ("Comment removed", "comments removed", _does("removed a comment")),
    "delivery.brought_back": (
        "Moved to inbox",
        "deliveries moved to the inbox",
        _does("moved it to the inbox"),
    ),
    "delivery.taken": ("Taken", "deliveries taken", _does("took it")),
    "delivery.escalated": (
        "Escalated",
        "deliveries escalated",
        _says("Assigned to more people, because no one had answered"),
    ),
    "callback.sent_again": (
        "Callback sent again",
        "callbacks sent again",
        _does("sent the callback again"),
    ),
    "callback.rehearsed": ("Test callback sent", "test callbacks sent", _test_callback_sent),
    "callback.given_up": ("Callback failed", "callbacks failed", _given_up),
    "callbacks.rested": (
        "Callbacks suspended",
        "targets suspended",
        _says("Callbacks suspended after repeated failures"),
    ),
    "callbacks.resumed": ("Callbacks resumed", "targets resumed", _does("resumed callbacks")),
    "callback_host.allowed": (
        "Callback host added",
        "callback hosts added",
        _does("allowed callbacks to a host"),
    ),
    "callback_host.removed": (
        "Callback host removed",
        "callback hosts removed",
        _does("removed a callback host"),
    ),
    "callback_host.changed": (
        "Callback host changed",
        "callback hosts changed",
        _does("changed a callback host"),
    ),
    "agent.registered": ("Agent registered", "agents registered", _does("registered an agent")),
    "agent.paused": ("Agent paused", "agents paused", _does("paused an agent")),
    "agent.resumed": ("Agent resumed", "agents resumed", _does("resumed an agent")),
    "agent.archived": ("Agent archived", "agents archived", _does("archived an agent")),
    "agent.restored": ("Agent restored", "agents restored", _does("restored an agent")),
    "agent.limited": ("Rate limit changed", "rate limits changed", _limited),
    "agent.changed": ("Agent changed", "agents changed", _does("changed an agent")),
    "agent.removed": ("Agent removed", "agents removed", _does("removed an agent")),
    "claim.added": ("Alias added", "aliases added", _granted),
    "claim.changed": ("Alias changed", "aliases changed", _does("changed an alias of an agent")),
    "claim.removed": ("Alias removed", "aliases removed", _taken_away),
    "key.issued": ("Key created", "keys created", _of_agent("created a key")),
    "key.rotated": ("Key rotated", "keys rotated", _of_agent("rotated a key")),
    "key.revoked": ("Key revoked", "keys revoked", _of_agent("revoked a key")),
    "key.slowed_down": (
        "Rate limited",
        "rate limits exceeded",
        _does("exceeded its rate limit"),
    ),
    "secret.issued": (
        "Signing secret created",
        "signing secrets created",
        _does("created a signing secret"),
    ),
    "secret.rotated": (
        "Signing secret rotated",
        "signing secrets rotated",
        _does("rotated a signing secret"),
    ),
    "secret.switched": (
        "Old signing secret retired",
        "old signing secrets retired",
        _does("retired the old signing secret"),
    ),
    "card.published": ("Agent published", "agents published", _published),
    "card.changed": ("Card changed", "cards changed", _card_changed),
    "card.unpublished": ("Agent unpublished", "agents unpublished", _does("unpublished an agent")),
    "caller_key.issued": (
        "Caller key created",
        "caller keys created",
        _does("created a caller key"),
    ),
    "caller_key.revoked": (
        "Caller key revoked",
        "caller keys revoked",
        _does("revoked a caller key"),
    ),
    "task.received": ("Task received", "tasks received", _does("sent a task over A2A")),
    "task.continued": ("Message to a task", "messages to tasks", _does("sent a message to a task")),
    "task.completed": ("Task completed", "tasks completed", _does("completed a task")),
    "task.failed": ("Task failed", "tasks failed", _says("A task failed")),
    "task.canceled": ("Task canceled", "tasks canceled", _does("canceled a task")),
    "task.rejected": ("Task rejected", "tasks rejected", _does("rejected a task")),
    "task.answer_passed_over": ("Answer not used", "answers not used", _answer_ignored),
    "task.result_came_late": (
        "Late result",
        "late results",
        _does("sent a result after the task had ended, so it was ignored"),
    ),
    "channel.added": (
        "Channel added",
        "channels added",
        _does("added a channel for notifications"),
    ),
    "channel.changed": (
        "Channel changed",
        "channels changed",
        _does("changed what a channel tells"),
    ),
    "channel.removed": (
        "Channel removed",
        "channels removed",
        _does("removed a channel for notifications"),
    ),
    "channel.renewed": (
        "Channel renewed",
        "channels renewed",
        _does("renewed the address of a channel"),
    ),
    "channel.verified": (
        "Channel verified",
        "channels verified",
        _does("verified a channel for notifications"),
    ),
    "rule.added": ("Rule added", "rules added", _of_rule("added")),
    "rule.changed": ("Rule changed", "rules changed", _of_rule("changed")),
    "rule.moved": ("Rule moved", "rules moved", _of_rule("moved")),
    "rule.turned_on": ("Rule turned on", "rules turned on", _of_rule("turned on")),
    "rule.turned_off": ("Rule turned off", "rules turned off", _of_rule("turned off")),
    "rule.removed": ("Rule removed", "rules removed", _of_rule("removed")),
    "answering_rule.added": (
        "Answering rule added",
        "answering rules added",
        _of_answering_rule("added"),
    ),
    "answering_rule.changed": (
        "Answering rule changed",
        "answering rules changed",
        _of_answering_rule("changed"),
    ),
    "answering_rule.turned_on": (
        "Answering rule turned on",
        "answering rules turned on",
        _of_answering_rule("turned on"),
    ),
    "answering_rule.turned_off": (
        "Answering rule turned off",
        "answering rules turned off",
        _of_answering_rule("turned off"),
    ),
    "answering_rule.back_to_shadow": (
        "Answering rule back to a dry run",
        "answering rules back to a dry run",
        _back_to_shadow,
    ),
    "answering_rule.answers_again": (
        "Answering rule answers again",
        "answering rules that answer again",
        _of_answering_rule("ended the wait after a rejection for"),
    ),
    "answering_rule.removed": (
        "Answering rule removed",
        "answering rules removed",
        _of_answering_rule("removed"),
    ),
    "retention.changed": ("Retention changed", "changes of retention", _retention_changed),
    "retention.erased": ("Content erased", "erasures of content", _erased),
    "retention.erased_tasks": (
        "Task content erased",
        "erasures of task content",
        lambda actor, detail: f"Content of tasks was erased: {detail.get('count', 'some')}",
    ),
    "team.added": ("Team created", "teams created", _does("created the team")),
    "team.changed": ("Team changed", "teams changed", _does("changed the team")),
    "team.renamed": ("Team renamed", "teams renamed", _renamed),
    "team.second_factor_required": (
        "Two-step sign-in required",
        "teams required two-step sign-in",
        _does("required two-step sign-in for the team"),
    ),
    "team.second_factor_not_required": (
        "Two-step sign-in no longer required",
        "teams stopped requiring two-step sign-in",
        _does("stopped requiring two-step sign-in for the team"),
    ),
    "team.handed_over": (
        "Ownership transferred",
        "teams transferred",
        _does("transferred ownership of the team"),
    ),
    "membership.added": ("Member added", "members added", _does("added a member")),
    "membership.changed": ("Member changed", "members changed", _role_changed),
    "membership.removed": ("Member removed", "members removed", _does("removed a member")),
    "membership.left": ("Member left", "members left", _does("left the team")),
    "membership.joined": ("Member joined", "members joined", _joined),
    "invitation.made": ("Invitation created", "invitations created", _invited),
    "invitation.revoked": (
        "Invitation revoked",
        "invitations revoked",
        _does("revoked an invitation"),
    ),
}
