"""How long a sign-in lasts: a week without a visit, a month in all, and until it is ended. And
where a person is signed in.

The row of a session is written at most once an hour, not at each visit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts import browsers
from accounts.audit import Actor, record
from accounts.models import Session, User
from accounts.session_store import SessionStore

LONGEST = timedelta(days=30)
SEEN_EVERY = timedelta(hours=1)  # SESSION_COOKIE_AGE counts from then
PASSWORD_HOLDS = timedelta(minutes=15)
SIGNED_IN, SEEN, PASSWORD = "signed_in_at", "seen_at", "password_at"
BROWSER = "browser"


@dataclass(frozen=True, slots=True)
class SignIn:
    """A browser in which a person is signed in; `seen_at` is up to SEEN_EVERY too early. Its key
    can be told from `mark` by nobody."""

    mark: str
    browser: str
    signed_in_at: datetime
    seen_at: datetime
    is_here: bool


def begin(request: HttpRequest, at: datetime | None = None, **_: Any) -> None:
    """Called at each sign-in, which takes a password (accounts/apps.py)."""
    now = (at or timezone.now()).timestamp()
    for name in (SIGNED_IN, SEEN, PASSWORD):
        request.session[name] = now
    request.session[BROWSER] = browsers.in_words(request.headers.get("User-Agent", ""))


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


def sign_ins(user: User, *, here: SessionBase, at: datetime) -> list[SignIn]:
    """This browser's first, then whichever was here last."""
    found = sorted(
        (
            SignIn(
                mark=_mark(key),
                browser=kept[BROWSER],
                signed_in_at=datetime.fromtimestamp(kept[SIGNED_IN], UTC),
                seen_at=datetime.fromtimestamp(kept[SEEN], UTC),
                is_here=key == here.session_key,
            )
            for key, kept in _living(user, at=at)
        ),
        key=attrgetter("is_here", "seen_at"),
        reverse=True,
    )
    return found


@transaction.atomic
def sign_out(user: User, mark: str, *, here: SessionBase, by: Actor, at: datetime) -> bool:
    """Ends another one of theirs; False where it has ended already."""
    for key, kept in _living(user, at=at):
        if constant_time_compare(_mark(key), mark) and key != here.session_key:
            Session.objects.filter(pk=key).delete()
            record("person.signed_out_elsewhere", by=by, of=user, team=None, browser=kept[BROWSER])
            return True
    return False


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


def _living(user: User, *, at: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """The key and what is kept; not what ended with a password, an epoch or by its age."""
    for row in Session.objects.filter(user=user, expire_date__gt=at):
        kept = SessionStore(row.pk).decode(row.session_data)
        fits = kept.get(HASH_SESSION_KEY, "")
        is_young = at.timestamp() - kept.get(SIGNED_IN, 0) <= LONGEST.total_seconds()
        if is_young and constant_time_compare(fits, user.get_session_auth_hash()):
            yield row.pk, kept


def _mark(key: str) -> str:
    return salted_hmac("accounts.sessions", key, algorithm="sha256").hexdigest()[:32]


def _age(session: SessionBase, name: str, at: datetime) -> timedelta:
    return timedelta(seconds=at.timestamp() - session.get(name, 0))
