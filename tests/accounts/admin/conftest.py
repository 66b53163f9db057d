"""Olga runs the server: she may enter /admin/ and belongs to no team."""

from __future__ import annotations

import pytest

from accounts.models import User
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_superuser("olga@example.com", PASSWORD)


@pytest.fixture
def operator(olga: User) -> Client:
    """Returns Olga's browser."""
    client = Client()
    client.force_login(olga)
    return client
