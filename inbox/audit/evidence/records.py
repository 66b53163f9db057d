"""Builds the record of one delivery: what was asked, who answered, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from inbox.audit.evidence import missing
from inbox.audit.evidence.missing import MissingParts
from inbox.audit.evidence.roles import Roles
from wake import wire
from wake.blobs.references import blob_ids
from wake.models import (
    AnsweringVersion,
    Claim,
    Delivery,
    Outcome,
    Response,
    RuleVersion,
    Vote,
    claimable_until,
)
from wake.proof.digest import content_digest, content_of

Values = dict[str, Any]


class WrittenByPerson(NamedTuple):
    """Holds what a person wrote: the feedback, and the JSON text of the edit, if any."""

    feedback: str
    edited_json: str | None


@dataclass(slots=True)
class DeliveryRecord:
    """Holds the parts of a record. `content` has the members of the digest. `answer` is the body
    that the agent got. A part that cannot be read any more is None. `receipt` and `proof` are
    filled in later."""

    delivery: Delivery
    values: Values
    content: Values | None
    answer: bytes | None
    response: Response | None
    missing: MissingParts
    receipt: str = ""
    proof: str | None = None
    role: str = ""
    files: list[str] = field(default_factory=list)


def record_of(delivery: Delivery, roles: Roles) -> DeliveryRecord:
    """Builds the record of a delivery from `scope.batches_of`. Makes no query."""
    gone = MissingParts()
    response = _released(delivery, gone)
    content = _content(delivery, gone)
    words = _words(response, gone) if response else None
    can_be_repeated = content is not None or delivery.erased_at is not None
    answer = _answer(delivery, response, words) if response and words and can_be_repeated else None
    record = DeliveryRecord(delivery, {}, content, answer, response, gone)
    record.values = {
        "delivery_id": str(delivery.pk),
        "agent_id": delivery.claimed_agent_id,
        "key": delivery.key_hint,
        "digest": delivery.content_hash,
        "digest_matches_content": _matches(delivery, content, gone),
        "content": content,
        "other_fields": gone.read(delivery, "extensions", "other fields") or None,
        "files": [_file(attachment.blob) for attachment in delivery.attachments.all()],
        "claim_within_seconds": delivery.claim_within_seconds,
        "assigned_by_rule": _rule(_assignment_version(delivery)),
        **_times(delivery, gone),
        "answer": _response(response, words, roles, gone) if response else None,
        "votes": [_vote(vote, roles, gone) for vote in _ordered(delivery.votes, "voted_at")],
        "claim": _claim(response) if response else None,
        "outcomes": [_outcome(each, gone) for each in _ordered(delivery.outcomes, "reported_at")],
    }
    record.role = record.values["answer"]["role"] if record.values["answer"] else ""
    return record


def versions_of(delivery: Delivery) -> tuple[AnsweringVersion | None, RuleVersion | None]:
    """Returns the version of the rule that answered, and of the rule that assigned the
    delivery."""
    response: Response | None = getattr(delivery, "response", None)
    return response.rule_version if response else None, _assignment_version(delivery)


def _released(delivery: Delivery, gone: MissingParts) -> Response | None:
    response: Response | None = getattr(delivery, "response", None)
    if response is None or response.responded_at is not None:
        return response
    gone.add("answer", missing.NOT_FINAL)
    return None


def _content(delivery: Delivery, gone: MissingParts) -> Values | None:
    """Returns the members of the digest. Returns None if retention has erased the content, or if an
    encryption key is missing."""
    if delivery.erased_at is not None:
        gone.add(
            "content, texts and files", f"Retention erased them at {_time(delivery.erased_at)}."
        )
        return None
    columns = ("details_json", "assumption", "nonce")
    before = len(gone.parts)
    for column in columns:
        gone.read(delivery, column, f"content ({column.removesuffix('_json')})")
    if len(gone.parts) > before:
        return None
    return content_of(delivery, files=_digests(delivery))


def _digests(delivery: Delivery) -> list[str]:
    """Returns the SHA-256 of each attached file, in the order in which the details name the
    files."""
    stored = {each.blob_id: each.blob.sha256 for each in delivery.attachments.all()}
    return [stored[pk] for pk in blob_ids(delivery.details_json) if pk in stored]


def _matches(delivery: Delivery, content: Values | None, gone: MissingParts) -> bool | None:
    """Returns whether the content has the digest that was approved, or None if this cannot be
    computed."""
    if content is None:
        return None
    if not content["nonce"]:
        gone.add("digest of the content", missing.NO_DIGEST_OF_0_2)
        return None
    return content_digest(delivery, files=content["files"]) == delivery.content_hash


def _words(response: Response, gone: MissingParts) -> WrittenByPerson | None:
    """Returns the person's words, or None if a key is missing."""
    before = len(gone.parts)
    feedback = gone.read(response, "feedback", "feedback")
    edited_json = gone.read(response, "edited_json", "edit")
    return WrittenByPerson(feedback, edited_json) if len(gone.parts) == before else None


def _answer(delivery: Delivery, response: Response, words: WrittenByPerson) -> bytes:
    """Returns the body that the agent gets when it asks for its answer (docs/protocol.md)."""
    return wire.encode(
        wire.answer(
            delivery_id=delivery.pk,
            expires_at=delivery.expires_at,
            status=response.status,
            feedback=words.feedback,
            edited_json=words.edited_json,
            answered_at=response.answered_at,
            responded_at=response.responded_at,
            is_erased=delivery.erased_at is not None,
            quorum_json=response.quorum_json,
            is_by_rule=response.rule_version_id is not None,
            digest=delivery.content_hash if delivery.wants_digest else None,
            nonce=delivery.nonce if delivery.wants_digest else "",
            at=response.answered_at,
        )
    )


def _times(delivery: Delivery, gone: MissingParts) -> Values:
    return {
        "received_at": _time(delivery.created_at),
        "expires_at": _time(delivery.expires_at),
        "timed_out_at": _time(delivery.timed_out_at),
        "superseded_at": _time(delivery.superseded_at),
        "withdrawn_at": _time(delivery.withdrawn_at),
        "withdrawn_reason": gone.read(delivery, "withdrawn_reason", "reason of withdrawal") or None,
        "acknowledged_at": _time(delivery.acknowledged_at),
        "acknowledged_by": delivery.acknowledged_by or None,
        "erased_at": _time(delivery.erased_at),
    }


def _response(
    response: Response, words: WrittenByPerson | None, roles: Roles, gone: MissingParts
) -> Values:
    version = response.rule_version
    if version:
        who = {"person_id": None, "name": version.rule.name, "role": None}
    else:
        _check_place(response, gone, "answer")
        who = _person(response.by_id, response.by_name, response.answered_at, roles, gone)
    return {
        "status": response.status,
        "decided_by": "rule" if version else "person",
        "rule": _rule(version),
        **who,
        **_how(response),
        "not_shown_there": gone.read(response, "left_out", "list of parts that were not shown"),
        "late": response.is_late,
        "answered_at": _time(response.answered_at),
        "released_at": _time(response.responded_at),
        "picked_up_at": _time(response.picked_up_at),
        "picked_up_by": response.picked_up_by or None,
        "feedback": (words.feedback or None) if words else None,
        "edited_content": words.edited_json if words else None,
    }


def _vote(vote: Vote, roles: Roles, gone: MissingParts) -> Values:
    _check_place(vote, gone, f"vote of {vote.name}")
    return {
        "status": "approved",
        **_person(vote.user_id, vote.name, vote.voted_at, roles, gone),
        **_how(vote),
        "voted_at": _time(vote.voted_at),
        "digest": vote.content_hash,
        "feedback": gone.read(vote, "feedback", f"feedback of {vote.name}") or None,
    }


def _check_place(row: Response | Vote, gone: MissingParts, what: str) -> None:
    """Notes that an earlier version stored neither where the person answered nor how they were
    signed in."""
    if not row.place:
        gone.add(f"place of the {what}, and how the person was signed in", missing.NOT_STORED)


def _how(row: Response | Vote) -> Values:
    return {
        "via": row.place or None,
        "all_in_sight": row.all_in_sight,
        "amr": row.amr.split() or None,
        "auth_time": _time(row.auth_time),
        "opened_at": _time(row.opened_at),
    }


def _person(pk: int | None, name: str, at: datetime, roles: Roles, gone: MissingParts) -> Values:
    """Returns the id, the name and the role at that time."""
    if pk is None:
        gone.add(f"name of {name}", missing.REMOVED)
    role = roles.at(str(pk) if pk else name.removeprefix("Person "), at)
    if not role:
        gone.add(f"role of {name}", missing.UNKNOWN_ROLE)
    return {"person_id": str(pk) if pk else None, "name": name, "role": role or None}


def _claim(response: Response) -> Values | None:
    claim: Claim | None = getattr(response, "claim", None)
    ends_at = claimable_until(response.delivery, response)
    if claim is None:
        return None
    return {
        "claim_id": str(claim.pk),
        "claimed_at": _time(claim.claimed_at),
        "claimed_by": claim.gate_name or "the agent",
        "key": claim.key_hint,
        "claimable_until": _time(ends_at),
    }


def _outcome(outcome: Outcome, gone: MissingParts) -> Values:
    return {
        "status": outcome.status,
        "reported_at": _time(outcome.reported_at),
        "summary": gone.read(outcome, "summary", "summary of an outcome") or None,
        "details": gone.read(outcome, "details_json", "details of an outcome"),
        "key": outcome.key_hint,
    }


def _file(blob: Any) -> Values:
    return {"sha256": blob.sha256, "size": blob.size, "media_type": blob.media_type}


def _rule(version: AnsweringVersion | RuleVersion | None) -> Values | None:
    return {"id": str(version.rule_id), "version": version.number} if version else None


def _assignment_version(delivery: Delivery) -> RuleVersion | None:
    return delivery.assignment.rule_version if delivery.assignment else None


def _ordered(rows: Any, column: str) -> list[Any]:
    return sorted(rows.all(), key=lambda row: (getattr(row, column), row.pk))


def _time(at: datetime | None) -> str | None:
    return wire.instant(at) if at else None
