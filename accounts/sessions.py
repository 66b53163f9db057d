"""How long a sign-in lasts: a week without a visit, a month in all, and until it is ended.

The row of a session is written at most once an hour, not at each visit.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit import Actor, record
from accounts.models import User

LONGEST = timedelta(days=30)
SEEN_EVERY = timedelta(hours=1)  # SESSION_COOKIE_AGE counts from then
PASSWORD_HOLDS = timedelta(minutes=15)
SIGNED_IN, SEEN, PASSWORD = "signed_in_at", "seen_at", "password_at"


def begin(request: HttpRequest, at: datetime | None = None, **_: Any) -> None:
    """Called at each sign-in, which takes a password (accounts/apps.py)."""
    now = (at or timezone.now()).timestamp()
    for name in (SIGNED_IN, SEEN, PASSWORD):
        request.session[name] = now


def keep_or_end(session: SessionBase, *, at: datetime) -> None:
    """At each visit, before anybody asks who is there."""
    if SESSION_KEY not in session:
        return
    if _age(session, SIGNED_IN, at) > LONGEST:
        session.flush()
    elif _age(session, SEEN, at) > SEEN_EVERY:
        session[SEEN] = at.timestamp()


def password_was_written(session: SessionBase, *, at: datetime) -> None:
    session[PASSWORD] = at.timestamp()


def is_password_fresh(session: SessionBase, *, at: datetime) -> bool:
    return _age(session, PASSWORD, at) <= PASSWORD_HOLDS


def sign_out_everywhere(user: User, *, by: Actor) -> None:
    """Ends every session but the one for which the caller keeps it (`update_session_auth_hash`)."""
    end_all(user)
    record("person.signed_out_everywhere", by=by, of=user, team=None)


def end_all(user: User) -> None:
    """Sessions carry a hash of the epoch, so that this is one update however many there are."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])


def forget_expired(*, at: datetime) -> None:
    Session.objects.filter(expire_date__lt=at).delete()


def _age(session: SessionBase, name: str, at: datetime) -> timedelta:
    return timedelta(seconds=at.timestamp() - session.get(name, 0))
