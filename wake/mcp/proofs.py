"""Adds to every answer that a tool returns the digest and the nonce of its delivery, and the
receipt if the agent asked for it. With the digest, a program can compare what was approved, and a
model can claim the approval (docs/protocol.md, Digest and Receipt)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from accounts.models import ApiKey
from database.clock import database_now
from database.encryption import Unreadable
from wake import claims, wire
from wake.mcp.results import ToolAnswer
from wake.models import Delivery

logger = logging.getLogger(__name__)


def with_digest(answer: wire.Answer) -> wire.Answer:
    return with_digests([answer])[0]


def with_digests(answers: Iterable[wire.Answer]) -> list[wire.Answer]:
    """Returns the answers, each with its digest and its nonce. Makes one query if an answer lacks
    them. An answer lacks them while it waits for a person, or if its delivery came over REST and
    did not ask for a digest. Erased content has no nonce."""
    answers = list(answers)
    lacking = [answer.delivery_id for answer in answers if answer.digest is msgspec.UNSET]
    if not lacking:
        return answers
    rows = Delivery.objects.filter(pk__in=lacking).values_list("pk", "content_hash", "nonce")
    digests = {pk: (digest, nonce or msgspec.UNSET) for pk, digest, nonce in rows}
    for answer in answers:
        if answer.delivery_id in digests:
            answer.digest, answer.nonce = digests[answer.delivery_id]
    return answers


def with_receipt(
    answer: wire.Answer, *, key: ApiKey, address: str, is_wanted: bool = False
) -> ToolAnswer:
    """Returns the answer with its signed receipt if there is an answer, and if the delivery or this
    call (`is_wanted`) asks for one. The receipt is None while the encryption key of the signing key
    is missing, because the answer must not wait for that key."""
    told = (
        answer if isinstance(answer, ToolAnswer) else ToolAnswer(**msgspec.structs.asdict(answer))
    )
    asking = Delivery.objects.filter(pk=answer.delivery_id, wants_receipt=True)
    if answer.status == "pending" or not (is_wanted or asking.exists()):
        return told
    claimant = claims.Claimant(key=key, address=address)
    try:
        told.receipt = claims.receipt(claimant, answer.delivery_id, at=database_now())
    except Unreadable:
        logger.warning("The answer of %s is returned without its receipt", answer.delivery_id)
        told.receipt = None
    return told
