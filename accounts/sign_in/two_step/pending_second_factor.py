"""Remembers a person between the first step of signing in and the code."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

from django.contrib.sessions.backends.base import SessionBase

from accounts.models import User
from accounts.sign_in.browsers.sessions import ByProvider
from database import encryption

KEY = "half_way_in"
HOLDS = timedelta(minutes=10)


def begin(
    session: SessionBase, user: User, *, to: str, at: datetime, provider: ByProvider | None = None
) -> None:
    """Starts a pending sign-in, with a password or with a provider. `to` is the requested path of
    our site. This path is encrypted, because it may be the link of an invitation, and the database
    stores only the hash of such a link."""
    session.cycle_key()
    session[KEY] = {
        "person": user.pk,
        "fits": user.get_session_auth_hash(),
        "at": at.timestamp(),
        "to": encryption.encrypt(to.encode()).decode(),
        "provider": asdict(provider) if provider else None,
    }


def person_of(session: SessionBase, *, at: datetime) -> User | None:
    """Returns the person whose code is missing. Returns None if no sign-in is pending, if the
    sign-in has expired, or if the password has changed since."""
    state = session.get(KEY)
    if state is None or at.timestamp() - state["at"] > HOLDS.total_seconds():
        return None
    user = User.objects.filter(pk=state["person"], is_active=True).first()
    if user and user.fits_session_auth_hash(state["fits"]):
        return user
    return None


def finish(session: SessionBase) -> tuple[str, ByProvider | None]:
    """Ends the pending sign-in; returns the requested path, and how a provider signed the person
    in."""
    state = session.pop(KEY)
    provider = state.get("provider")  # missing if the previous version began the sign-in
    to = encryption.decrypt(state["to"].encode()).decode()
    return to, ByProvider(**provider) if provider else None
