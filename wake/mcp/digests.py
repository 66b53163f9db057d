"""Adds to every answer that a tool returns the digest and the nonce of its delivery. With them, a
program can compare what was approved, and a model can claim the approval (docs/protocol.md,
Digest)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from wake import wire
from wake.models import Delivery


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
