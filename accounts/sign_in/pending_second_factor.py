"""Between the password, which was right, and the code: nobody is signed in yet."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.sessions.backends.base import SessionBase
from django.utils.crypto import constant_time_compare

from accounts import encryption
from accounts.models import User

KEY = "half_way_in"
HOLDS = timedelta(minutes=10)


def begin(session: SessionBase, user: User, *, to: str, at: datetime) -> None:
    """`to` is where they wanted to go, a path of ours: it may be the link of an invitation, which
    the database knows by its hash alone."""
    session.cycle_key()
    session[KEY] = {
        "person": user.pk,
        "fits": user.get_session_auth_hash(),
        "at": at.timestamp(),
        "to": encryption.encrypt(to.encode()).decode(),
    }


def who(session: SessionBase, *, at: datetime) -> User | None:
    """None where nobody is, where it took too long, and where the password is another one now."""
    state = session.get(KEY)
    if state is None or at.timestamp() - state["at"] > HOLDS.total_seconds():
        return None
    user = User.objects.filter(pk=state["person"], is_active=True).first()
    if user and constant_time_compare(state["fits"], user.get_session_auth_hash()):
        return user
    return None


def finish(session: SessionBase) -> str:
    """Where they wanted to go."""
    return encryption.decrypt(session.pop(KEY)["to"].encode()).decode()
