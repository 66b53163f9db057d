"""Counts attempts at passwords in the database, so that they stay limited while Redis is away.

Each network, person and known browser has a row with one integer, like a key's quota
(accounts/agents/quota.py): the time at which all of its attempts are available again. After that
time the row is not needed, and is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils.crypto import salted_hmac

from accounts.models import SignInAttempts
from database.clock import microseconds

SALT = "accounts.sign_in.attempts"


@dataclass(frozen=True, slots=True)
class Limit:
    """Allows this many `attempts` at once. Used attempts become available again one by one, all of
    them within `seconds`."""

    attempts: int
    seconds: int

    @property
    def rate(self) -> str:
        """Returns the limit in the format of django-ratelimit."""
        return f"{self.attempts}/{self.seconds}s"


def take(limit: Limit, *, of: str, at: datetime) -> int:
    """Takes one attempt and returns 0. If no attempt is left, returns the seconds until the next
    one is allowed. Taking an attempt is one statement, so concurrent attempts are counted exactly.
    Call this function outside transactions, because a rollback would return the attempt, and two
    callers could wait for each other."""
    now, interval = microseconds(at), -(-limit.seconds * 1_000_000 // limit.attempts)
    spent_until = now + (limit.attempts - 1) * interval
    digest = _digest(of)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounts_signinattempts (digest, full_us) VALUES (%s, %s)
            ON CONFLICT (digest) DO UPDATE
               SET full_us = CASE WHEN accounts_signinattempts.full_us > %s
                                  THEN accounts_signinattempts.full_us ELSE %s END + %s
             WHERE accounts_signinattempts.full_us <= %s
            RETURNING full_us
            """,
            [digest, now + interval, now, now, interval, spent_until],
        )
        if cursor.fetchone():
            return 0
    row = SignInAttempts.objects.filter(digest=digest).first()
    wait = row.full_us - spent_until if row else 0
    return max(1, -(-wait // 1_000_000))


def forget_unlimited(*, at: datetime) -> int:
    """Deletes the rows whose attempts are all available again."""
    deleted, _ = SignInAttempts.objects.filter(full_us__lte=microseconds(at)).delete()
    return deleted


def _digest(of: str) -> str:
    """Hashes the counted text, because people type their password into the field of the address."""
    return salted_hmac(SALT, of, algorithm="sha256").hexdigest()
