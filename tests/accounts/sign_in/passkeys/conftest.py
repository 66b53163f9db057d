"""Provides a browser at the host of passkeys, and a phone that holds a passkey."""

from __future__ import annotations

import pytest

from accounts.models import User
from tests.fixtures.authenticator import (
    Authenticator,
    add_passkey,
    browser_at_localhost,
)
from tests.fixtures.strict_client import Client


@pytest.fixture
def phone(alice: User) -> Authenticator:
    """Holds a passkey of Alice that several devices share."""
    device = Authenticator()
    add_passkey(browser_at_localhost(alice), device)
    return device


@pytest.fixture
def browser(db: None) -> Client:
    return browser_at_localhost()
