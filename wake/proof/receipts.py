"""Issues signed receipts of answers (docs/receipts.md). A receipt is made when it is first needed,
and stays the same bytes while its key counts
(docs/decisions/0075-receipts-are-made-when-asked-for.md)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.log import receipts as log_receipts
from accounts.models import LogEntry
from database.compiled_queries import CompiledQuery, parameter
from wake import wire
from wake.models import CarriedProof, Claim, Delivery, Receipt, Response, Vote
from wake.proof import sd_jwt
from wake.proof.receipt_keys import ALGORITHM, current_key
from wake.proof.signatures import origin_of, text_hash

TYPE = "wake-receipt+sd-jwt"
# The votes for a delivery, by the name of the person and the time.
Votes = dict[tuple[str, datetime], Vote]


def receipt_of(response: Response, *, at: datetime) -> Receipt:
    """Returns the receipt of a released answer. Makes the receipt if there is none, or if it no
    longer counts because its key was cut before the log had it. The caller has loaded and locked
    the delivery, and then locked the response. The locks keep retention and the removal of a person
    from erasing names or content before the disclosures are stored. Raises encryption.Unreadable,
    and the caller's transaction must then end, so that an earlier receipt stays."""
    claim: Claim | None = getattr(response, "claim", None)
    rows = Receipt.objects.filter(response=response, is_claimed=claim is not None)
    earlier = rows.select_related("key").first()
    if earlier and _counts(earlier):
        return earlier
    if earlier:
        earlier.delete()
    return _made(response, claim, at=at)


def stored_receipt(delivery: Delivery) -> Receipt | None:
    """Returns the receipt of an answer that was picked up, if there is one and its key counts.
    Otherwise returns None, and `receipt_of` then decides under locks. The delivery must be loaded
    with its answer and the claim. Makes at most one query."""
    response: Response | None = getattr(delivery, "response", None)
    if response is None or response.picked_up_at is None:
        return None
    is_claimed = getattr(response, "claim", None) is not None
    found = _stored().objects(response=response.pk, is_claimed=is_claimed)
    return found[0] if found and _counts(found[0]) else None


@cache
def _stored() -> CompiledQuery:
    rows = Receipt.objects.filter(
        response=parameter("response", Response, "id"),
        is_claimed=parameter("is_claimed", Receipt, "is_claimed"),
    )
    return CompiledQuery(lambda: rows.select_related("key"))


def released(delivery: Delivery) -> Response | None:
    """Locks the released answer of a locked delivery, and returns it with the delivery. Returns
    None if there is no such answer."""
    rows = Response.objects.select_for_update(of=("self",)).select_related("rule_version")
    response = rows.filter(delivery=delivery, responded_at__isnull=False).first()
    if response:
        response.delivery = delivery
    return response


@transaction.atomic
def of_sent_answer(delivery_id: UUID, *, at: datetime) -> Receipt | None:
    """Returns the receipt of an answer that can never be taken back. Returns None before that,
    because the receipt would stay valid without the answer. Raises encryption.Unreadable."""
    delivery = Delivery.objects.select_for_update(of=("self",)).get(pk=delivery_id)
    response = released(delivery)
    return receipt_of(response, at=at) if response and response.is_final else None


def for_gate(receipt: Receipt) -> str:
    """Returns the receipt for a gate, without disclosures: a gate must not read what people
    wrote."""
    return f"{receipt.jwt}~"


def for_callback(receipt: Receipt) -> str:
    """Returns the receipt for the agent without signatures, because the header of a callback has no
    room for those of several people. Raises encryption.Unreadable."""
    return f"{receipt.jwt}~{receipt.content_disclosures}{receipt.vote_disclosures}"


def for_agent(receipt: Receipt) -> str:
    """Returns the receipt for the agent, with the content, the votes and the signatures. It does
    not disclose the name of the person who answered. Raises encryption.Unreadable."""
    return f"{for_callback(receipt)}{receipt.signature_disclosures}"


def for_people(receipt: Receipt) -> str:
    """Returns the receipt for people, with every disclosure. Raises encryption.Unreadable."""
    return f"{for_agent(receipt)}{receipt.person_disclosure}"


def without_votes_of(disclosures: str, given: Collection[tuple[str, str]]) -> str:
    """Returns the disclosures of votes, without the votes of one person. `given` has the name and
    the time of each of that person's votes."""
    votes = sd_jwt.split(disclosures)
    return sd_jwt.joined(text for text, vote in votes if (vote["by"], vote["at"]) not in given)


def without_signatures(disclosures: str, signatures: Collection[str]) -> str:
    """Returns the disclosures of signatures, without these signatures."""
    signed = sd_jwt.split(disclosures)
    return sd_jwt.joined(text for text, each in signed if each["signature"] not in signatures)


def _counts(receipt: Receipt) -> bool:
    """Returns whether the key of a receipt was not cut, or was cut after the log had the receipt.
    For a key of another server, this is the log of that server."""
    size = receipt.key.cut_size
    if size is None:
        return True
    if receipt.key.issuer:
        return CarriedProof.objects.filter(receipt=receipt, index__lt=size).exists()
    return LogEntry.objects.filter(receipt_id=receipt.pk, index__lt=size).exists()


def _made(response: Response, claim: Claim | None, *, at: datetime) -> Receipt:
    key = current_key()
    receipt = Receipt(response=response, is_claimed=claim is not None, key=key, issued_at=at)
    content = [sd_jwt.member(*each) for each in _content(response).items()]
    person = [] if response.rule_version_id else [sd_jwt.member("person", _person(response))]
    given = _given_votes(response)
    votes = [sd_jwt.element(vote) for vote in _votes(response, given)]
    signatures = [sd_jwt.element(each) for each in _signatures(response, given)]
    claims = {
        "iss": settings.WAKE_ORIGIN,
        "iat": int(at.timestamp()),
        "jti": str(receipt.pk),
        **_claims(response, claim),
        "votes": sd_jwt.hidden_elements(votes),
        "signatures": sd_jwt.hidden_elements(signatures),
        **sd_jwt.hidden_members([*content, *person]),
    }
    receipt.jwt = sd_jwt.sign(
        claims, typ=TYPE, algorithm=ALGORITHM, kid=key.kid, pem=key.private_key
    )
    receipt.content_disclosures = sd_jwt.joined(content)
    receipt.person_disclosure = sd_jwt.joined(person)
    receipt.vote_disclosures = sd_jwt.joined(votes)
    receipt.signature_disclosures = sd_jwt.joined(signatures)
    receipt.save(force_insert=True)
    log_receipts.append_later(receipt.pk, team_id=response.delivery.team_id, jwt=receipt.jwt)
    return receipt


def _claims(response: Response, claim: Claim | None) -> dict[str, Any]:
    """Returns the claims that everyone can read. A claim is null if it does not apply, or if an
    earlier version did not store it."""
    delivery, version = response.delivery, response.rule_version
    quorum = json.loads(response.quorum_json)["quorum"] if response.quorum_json else None
    return {
        "delivery_id": str(delivery.pk),
        "agent_id": delivery.claimed_agent_id,
        "team": delivery.team_id,
        "mode": delivery.mode,
        "digest": _digest(delivery),
        "irreversible": delivery.irreversible,
        "status": response.status,
        "decided_by": "rule" if version else "person",
        "rule": {"id": str(version.rule_id), "version": version.number} if version else None,
        "quorum": quorum,
        "via": response.place or None,
        "late": response.is_late,
        "amr": response.amr.split() or None,
        "auth_time": _seconds(response.auth_time),
        "opened_at": _time(response.opened_at),
        "answered_at": _time(response.answered_at),
        "released_at": _time(response.responded_at),
        "claimed_at": _time(claim.claimed_at) if claim else None,
    }


def _digest(delivery: Delivery) -> str | None:
    """Returns the digest. Returns None unless it was made with a nonce, because it would otherwise
    confirm a guess at erased content: deliveries of version 0.2 have no nonce. Retention also
    erases the nonce, but every delivery that asked for its digest had one."""
    had_nonce = bool(delivery.nonce) or delivery.wants_digest
    return delivery.content_hash if had_nonce else None


def _content(response: Response) -> dict[str, str | None]:
    """Returns the hashes of the feedback and the edit, or nothing if the content was erased. An
    edit is hashed as the JSON text that the agent gets."""
    if response.delivery.erased_at is not None:
        return {}
    return {
        "feedback_sha256": text_hash(response.feedback or None),
        "edited_content_sha256": text_hash(response.edited_json),
    }


def _person(response: Response) -> dict[str, str | None]:
    return {"id": str(response.by_id) if response.by_id else None, "name": response.by_name}


def _given_votes(response: Response) -> Votes:
    """Returns the votes that made the answer. The vote of a person who left the team before does
    not count, and neither does its signature."""
    if not response.quorum_json:
        return {}
    decisions = json.loads(response.quorum_json)["decisions"]
    counted = {(each["by"], datetime.fromisoformat(each["at"])) for each in decisions}
    rows = Vote.objects.filter(delivery=response.delivery_id)
    votes = {(vote.name, vote.voted_at): vote for vote in rows}
    return {key: vote for key, vote in votes.items() if key in counted}


def _votes(response: Response, given: Votes) -> list[dict[str, Any]]:
    """Returns the decisions that the agent gets, each with the place and the sign-in of the
    person."""
    if not response.quorum_json:
        return []
    decisions = json.loads(response.quorum_json)["decisions"]
    return [_vote(each, given, response) for each in decisions]


def _signatures(response: Response, given: Votes) -> list[dict[str, Any]]:
    """Returns the signatures of passkeys that made the answer: one of the person who answered, or
    one of each person who approved. Leaves out signatures that people made at another address,
    before their team moved here. A receipt of this server cannot confirm them (docs/receipts.md,
    Signatures)."""
    signed: Iterable[Vote | Response] = given.values() if response.is_of_votes else [response]
    signatures = [json.loads(each.signature_json) for each in signed if each.signature_json]
    return [each for each in signatures if origin_of(each) in {"", settings.WAKE_ORIGIN}]


def _vote(decision: dict[str, str], votes: Votes, response: Response) -> dict[str, Any]:
    """Adds the place and the sign-in to one decision. A rejection or a redirect has no vote, so the
    response has them."""
    given = (decision["by"], datetime.fromisoformat(decision["at"]))
    is_response = given == (response.by_name, response.answered_at)
    how: Vote | Response | None = votes.get(given) or (response if is_response else None)
    return {
        **decision,
        "via": how.place or None if how else None,
        "amr": how.amr.split() or None if how else None,
        "auth_time": _seconds(how.auth_time) if how else None,
        "opened_at": _time(how.opened_at) if how else None,
    }


def _time(at: datetime | None) -> str | None:
    return wire.instant(at) if at else None


def _seconds(at: datetime | None) -> int | None:
    """Returns a NumericDate (RFC 7519), the form that OpenID Connect gives `auth_time`."""
    return int(at.timestamp()) if at else None
