"""Knows how people signed in, and lists their sign-ins. Ends a sign-in after a week without a
visit, after a month, or on request.

The row of a session is written at most once an hour, not at each visit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare, salted_hmac

from accounts.audit import Actor, record
from accounts.models import Session, User
from accounts.sign_in.browsers import user_agents
from accounts.sign_in.browsers.session_names import (
    BROWSER,
    METHODS,
    PASSWORD,
    PROVIDER,
    PROVIDERS_FACTOR,
    SEEN,
    SIGNED_IN,
)
from accounts.sign_in.browsers.session_store import SessionStore
from database.clock import database_now

LONGEST = timedelta(days=30)
SEEN_EVERY = timedelta(hours=1)  # SESSION_COOKIE_AGE counts from the stored visit
PASSWORD_HOLDS = timedelta(minutes=15)
# The values of `amr` (RFC 8176) for a password, a code and a passkey. The fourth value is for an
# account at a provider, and the RFC does not name it. A recovery code counts as `otp`, too.
PWD, OTP, HWK, FED = "pwd", "otp", "hwk", "fed"


@dataclass(frozen=True, slots=True)
class Authentication:
    """Holds the methods with which the person proved who they are in this session, in the order of
    their use. Also holds the time at which the person last used a method. Methods and time are
    empty if Wake does not know them: in sessions of earlier versions, and outside the pages."""

    methods: tuple[str, ...] = ()
    at: datetime | None = None

    def in_audit(self) -> dict[str, Any]:
        """Returns the methods and the time of the sign-in, for an event of the audit."""
        if not self.methods:
            return {}
        seconds = int(self.at.timestamp()) if self.at else None
        return {"amr": list(self.methods), "auth_time": seconds}


UNKNOWN = Authentication()


@dataclass(frozen=True, slots=True)
class ByProvider:
    """Describes how a provider signed a person in: when the provider last asked the person (0 if
    the provider does not say), and whether it asked for a second factor."""

    asked_at: float
    asked_for_factor: bool


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """Describes a browser in which a person is signed in. `seen_at` is up to SEEN_EVERY too early.
    `mark` identifies the session without revealing its key."""

    mark: str
    browser: str
    signed_in_at: datetime
    seen_at: datetime
    is_here: bool


def begin(request: HttpRequest, **_: Any) -> None:
    """Records sign-in times, and no method yet. Connected to user_logged_in (accounts/apps.py)."""
    now = database_now().timestamp()
    for name in (SIGNED_IN, SEEN, PASSWORD):
        request.session[name] = now
    request.session[METHODS] = []
    request.session[BROWSER] = user_agents.in_words(request.headers.get("User-Agent", ""))


def keep_or_end(session: SessionBase, *, at: datetime) -> None:
    """Ends a session that is too old; called at each visit before the person is looked up."""
    if SESSION_KEY not in session:
        return
    if _is_over(session, at=at):
        session.flush()
    elif _age(session, SEEN, at) > SEEN_EVERY:
        session[SEEN] = at.timestamp()


def authentication_of(session: SessionBase) -> Authentication:
    seconds = session.get(PASSWORD, 0)
    return Authentication(
        methods=tuple(session.get(METHODS, [])),
        # The time is stored as 0 if the provider did not say when it asked the person.
        at=datetime.fromtimestamp(int(seconds), UTC) if seconds else None,
    )


def add_methods(session: SessionBase, methods: Iterable[str]) -> None:
    """Adds methods that the person just used. The caller stores the time."""
    session[METHODS] = list(dict.fromkeys([*session.get(METHODS, []), *methods]))


def confirmed(session: SessionBase, method: str, *, at: datetime) -> None:
    """Stores that the person gave their password, or used a passkey, again."""
    session[PASSWORD] = at.timestamp()
    add_methods(session, [method])


def provider_signed_in(session: SessionBase, how: ByProvider, *, at: datetime) -> None:
    """Stores that a provider signed the person in. If the provider last asked the person long ago,
    Wake asks again before a sensitive change."""
    session[PROVIDER] = at.timestamp()
    session[PROVIDERS_FACTOR] = how.asked_for_factor
    session[PASSWORD] = min(how.asked_at, at.timestamp())


def provider_asked_again(session: SessionBase, *, at: datetime) -> None:
    """Stores that the person signed in at the provider again. This shows that the provider still
    knows the person."""
    confirmed(session, FED, at=at)
    if PROVIDER in session:
        session[PROVIDER] = at.timestamp()


def is_password_fresh(session: SessionBase, *, at: datetime) -> bool:
    return _age(session, PASSWORD, at) <= PASSWORD_HOLDS


def sign_ins(user: User, *, here: SessionBase, at: datetime) -> list[BrowserSignIn]:
    """Lists this browser first, then the others, the most recently seen ones first."""
    return sorted(
        (
            BrowserSignIn(
                mark=_mark(key),
                browser=data[BROWSER],
                signed_in_at=datetime.fromtimestamp(data[SIGNED_IN], UTC),
                seen_at=datetime.fromtimestamp(data[SEEN], UTC),
                is_here=key == here.session_key,
            )
            for key, data in _valid_sessions(user, at=at)
        ),
        key=attrgetter("is_here", "seen_at"),
        reverse=True,
    )


@transaction.atomic
def sign_out(
    user: User, mark: str, *, here: SessionBase, by: Actor, at: datetime
) -> dict[str, Any] | None:
    """Ends another sign-in of the same person; returns the data of its session, or None if that
    session has ended already."""
    for key, data in _valid_sessions(user, at=at):
        if constant_time_compare(_mark(key), mark) and key != here.session_key:
            Session.objects.filter(pk=key).delete()
            record("person.signed_out_elsewhere", by=by, of=user, team=None, browser=data[BROWSER])
            return data
    return None


def sign_out_everywhere(user: User, *, by: Actor) -> None:
    """Ends every session except the one that the caller keeps (`update_session_auth_hash`)."""
    end_all(user)
    record("person.signed_out_everywhere", by=by, of=user, team=None)


def end_all(user: User) -> None:
    """Ends every session with one update of the person's epoch. Each session contains a hash of the
    epoch, and is not valid with another epoch."""
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])


def forget_expired(*, at: datetime) -> None:
    Session.objects.filter(expire_date__lt=at).delete()


def _valid_sessions(user: User, *, at: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the key and the data of each session that still works. Such a session is not too old,
    and the password and the epoch have not changed since it began."""
    for row in Session.objects.filter(user=user, expire_date__gt=at):
        data = SessionStore(row.pk).decode(row.session_data)
        fits = user.fits_session_auth_hash(data.get(HASH_SESSION_KEY, ""))
        if fits and not _is_over(data, at=at):
            yield row.pk, data


def _is_over(session: SessionBase | dict[str, Any], *, at: datetime) -> bool:
    """Returns whether the session is too old. A session with a provider ends sooner, because the
    provider does not notify Wake when the person has left. While passwords are switched off, every
    session without a provider is over."""
    if _age(session, SIGNED_IN, at) > LONGEST:
        return True
    if PROVIDER in session:
        return _age(session, PROVIDER, at) > timedelta(hours=settings.WAKE_OIDC_SESSION_HOURS)
    return not settings.WAKE_PASSWORDS


def _mark(key: str) -> str:
    return salted_hmac("accounts.sign_in.sessions", key, algorithm="sha256").hexdigest()[:32]


def _age(session: SessionBase | dict[str, Any], name: str, at: datetime) -> timedelta:
    return timedelta(seconds=at.timestamp() - session.get(name, 0))
