"""Makes the random challenges that browsers sign with a passkey.

The browser stores its challenge in a signed cookie, so that the sign-in page stores nothing. A
challenge is for one purpose and one person, lasts five minutes and works once: when a challenge is
used, its hash is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.core import signing

from accounts.models import UsedChallenge, User
from accounts.sign_in.passkeys.refusals import ChallengeEnded

SALT = "accounts.passkeys.challenges"
LASTS = timedelta(minutes=5)
BYTES = 32


class Purpose(StrEnum):
    ADD = "add"
    SIGN_IN = "sign-in"
    SECOND_STEP = "second-step"
    CONFIRM = "confirm"
    ANSWER = "answer"


def make(purpose: Purpose, *, of: User | None, at: datetime) -> tuple[bytes, str]:
    """Returns a challenge, and the text of the cookie for it. `of` is None while no one knows who
    signs in."""
    challenge = secrets.token_bytes(BYTES)
    state = {
        "challenge": challenge.hex(),
        "purpose": purpose,
        "person": of and of.pk,
        "at": at.timestamp(),
    }
    return challenge, signing.dumps(state, salt=SALT)


def take(cookie: str, purpose: Purpose, *, of: User | None, at: datetime) -> bytes:
    """Returns the challenge of this cookie, and uses it up. Raises ChallengeEnded."""
    try:
        state: dict[str, Any] = signing.loads(cookie, salt=SALT)
    except signing.BadSignature:
        raise ChallengeEnded from None
    is_stale = at.timestamp() - state["at"] > LASTS.total_seconds()
    if is_stale or state["purpose"] != purpose or state["person"] != (of and of.pk):
        raise ChallengeEnded
    challenge = bytes.fromhex(state["challenge"])
    digest = hashlib.sha256(challenge).hexdigest()
    _, is_new = UsedChallenge.objects.get_or_create(digest=digest, defaults={"used_at": at})
    if not is_new:
        raise ChallengeEnded
    return challenge


def forget_expired(*, at: datetime) -> None:
    """Deletes the records of expired challenges."""
    # The record is kept twice as long as a challenge lasts, because the clocks of two web servers
    # may differ.
    UsedChallenge.objects.filter(used_at__lt=at - 2 * LASTS).delete()
