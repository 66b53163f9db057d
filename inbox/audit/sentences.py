"""Registers the words for what happens to deliveries, callbacks, rules and channels, and says where
a person answered."""

from __future__ import annotations

from accounts.audit.sentences import Detail, Say, Words, does, says, sentence
from accounts.models import AuditEvent
from inbox.answering.answer_status import picked_up
from inbox.answering.places import place_words
from wake.models import Place

OUTCOMES = {"done": "done", "failed": "failed", "skipped": "not done"}
# All other answers are shown in the person's own words.
ANSWERS = {"approved": "approved", "rejected": "rejected"}


def where(event: AuditEvent) -> str:
    """Returns where a person answered, and whether everything was in sight there: `in the list,
    without opening it; everything was in sight`. Returns an empty text if the event has no
    place."""
    detail = event.detail
    if "all_in_sight" in detail:
        return place_words(str(detail.get("place")), all_in_sight=detail["all_in_sight"])
    return "in Slack" if detail.get("place") == Place.SLACK else ""


def full_sentence(event: AuditEvent) -> str:
    """Returns the sentence with its place, for uses that have only one line."""
    return f"{sentence(event)} {where(event)}".rstrip()


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


def _outcome(actor: str, detail: Detail) -> str:
    return f"{actor} reported: {OUTCOMES.get(str(detail.get('status')), 'an outcome')}"


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


def _evidence(actor: str, detail: Detail) -> str:
    days = f"{detail.get('first_day', '')} to {detail.get('last_day', '')}"
    return f"{actor} exported the evidence of an agent, {days}"


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


EVENTS = {
    "delivery.received": Words("Delivered", "deliveries received", does("delivered")),
    "delivery.answered": Words("Answered", "deliveries answered", _answered),
    "blob.uploaded": Words("File uploaded", "files uploaded", does("uploaded a file")),
    "response.taken_back": Words("Answer undone", "answers undone", _taken_back),
    "delivery.voted": Words(
        "Approved by one",
        "approvals of several people",
        _voted,
    ),
    "vote.taken_back": Words("Approval undone", "approvals undone", does("undid their approval")),
    "response.picked_up": Words("Answer fetched", "answers fetched", _picked_up),
    "response.claimed": Words("Approval used", "approvals used", does("used the approval")),
    "delivery.outcome": Words("Outcome", "outcomes reported", _outcome),
    "delivery.timed_out": Words(
        "Expired",
        "deliveries expired",
        says("Expired without an answer"),
    ),
    "delivery.acknowledged": Words(
        "Acknowledged", "deliveries acknowledged", does("acknowledged it")
    ),
    "delivery.withdrawn": Words(
        "Withdrawn",
        "deliveries withdrawn",
        says("Withdrawn by the agent"),
    ),
    "delivery.commented": Words("Comment", "comments written", does("commented")),
    "delivery.comment_removed": Words(
        "Comment removed", "comments removed", does("removed a comment")
    ),
    "delivery.brought_back": Words(
        "Moved to inbox",
        "deliveries moved to the inbox",
        does("moved it to the inbox"),
    ),
    "delivery.taken": Words("Taken", "deliveries taken", does("took it")),
    "delivery.escalated": Words(
        "Escalated",
        "deliveries escalated",
        says("Assigned to more people, because no one had answered"),
    ),
    "callback.sent_again": Words(
        "Callback sent again",
        "callbacks sent again",
        does("sent the callback again"),
    ),
    "callback.rehearsed": Words("Test callback sent", "test callbacks sent", _test_callback_sent),
    "callback.given_up": Words("Callback failed", "callbacks failed", _given_up),
    "callbacks.rested": Words(
        "Callbacks suspended",
        "targets suspended",
        says("Callbacks suspended after repeated failures"),
    ),
    "callbacks.resumed": Words("Callbacks resumed", "targets resumed", does("resumed callbacks")),
    "callback_host.allowed": Words(
        "Callback host added",
        "callback hosts added",
        does("allowed callbacks to a host"),
    ),
    "callback_host.removed": Words(
        "Callback host removed",
        "callback hosts removed",
        does("removed a callback host"),
    ),
    "callback_host.changed": Words(
        "Callback host changed",
        "callback hosts changed",
        does("changed a callback host"),
    ),
    "evidence.exported": Words("Evidence exported", "exports of evidence", _evidence),
    "evidence.completed": Words(
        "Evidence complete",
        "completed exports of evidence",
        says("The export of evidence was complete"),
    ),
    "receipt_key.rotated": Words(
        "Receipt key rotated", "receipt keys rotated", does("made a new key for receipts")
    ),
    "receipt_key.cut": Words(
        "Receipt key cut",
        "receipt keys cut",
        does("cut a key for receipts, because another party had it"),
    ),
    "log_key.rotated": Words(
        "Log key rotated", "log keys rotated", does("made a new key for checkpoints of the log")
    ),
    "gate.issued": Words("Gate key created", "gate keys created", does("created a gate key")),
    "gate.revoked": Words("Gate key revoked", "gate keys revoked", does("revoked a gate key")),
    "channel.added": Words(
        "Channel added",
        "channels added",
        does("added a channel for notifications"),
    ),
    "channel.changed": Words(
        "Channel changed",
        "channels changed",
        does("changed what a channel sends"),
    ),
    "channel.removed": Words(
        "Channel removed",
        "channels removed",
        does("removed a channel for notifications"),
    ),
    "channel.renewed": Words(
        "Channel renewed",
        "channels renewed",
        does("renewed the address of a channel"),
    ),
    "channel.verified": Words(
        "Channel verified",
        "channels verified",
        does("verified a channel for notifications"),
    ),
    "rule.added": Words("Rule added", "rules added", _of_rule("added")),
    "rule.changed": Words("Rule changed", "rules changed", _of_rule("changed")),
    "rule.moved": Words("Rule moved", "rules moved", _of_rule("moved")),
    "rule.turned_on": Words("Rule turned on", "rules turned on", _of_rule("turned on")),
    "rule.turned_off": Words("Rule turned off", "rules turned off", _of_rule("turned off")),
    "rule.removed": Words("Rule removed", "rules removed", _of_rule("removed")),
    "answering_rule.added": Words(
        "Answering rule added",
        "answering rules added",
        _of_answering_rule("added"),
    ),
    "answering_rule.changed": Words(
        "Answering rule changed",
        "answering rules changed",
        _of_answering_rule("changed"),
    ),
    "answering_rule.turned_on": Words(
        "Answering rule turned on",
        "answering rules turned on",
        _of_answering_rule("turned on"),
    ),
    "answering_rule.turned_off": Words(
        "Answering rule turned off",
        "answering rules turned off",
        _of_answering_rule("turned off"),
    ),
    "answering_rule.back_to_shadow": Words(
        "Answering rule back to a dry run",
        "answering rules back to a dry run",
        _back_to_shadow,
    ),
    "answering_rule.answers_again": Words(
        "Answering rule answers again",
        "answering rules that answer again",
        _of_answering_rule("ended the wait after a rejection for"),
    ),
    "answering_rule.removed": Words(
        "Answering rule removed",
        "answering rules removed",
        _of_answering_rule("removed"),
    ),
    "retention.changed": Words("Retention changed", "changes of retention", _retention_changed),
    "retention.erased": Words("Content erased", "erasures of content", _erased),
}
