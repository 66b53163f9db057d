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
    """Returns a phone with a passkey of Alice. The passkey is on several of her devices."""
    device = Authenticator()
    add_passkey(browser_at_localhost(alice), device)
    return device


@pytest.fixture
def browser(db: None) -> Client:
    return browser_at_localhost()
