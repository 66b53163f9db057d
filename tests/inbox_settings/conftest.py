"""What the tests about a person's own settings have in common."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time
from typing import Any

import pytest

from accounts.models import User
from inbox.models import Preferences

Prefer = Callable[..., Preferences]


@pytest.fixture
def prefer() -> Prefer:
    """A person's preferences, stored as given; `due` is when their next digest is."""

    def store(user: User, *, due: datetime | None = None, **fields: Any) -> Preferences:
        given = {"digest_at": time(9), "next_digest_at": due, **fields}
        row, _ = Preferences.objects.update_or_create(user=user, defaults=given)
        row.user = user
        return row

    return store
