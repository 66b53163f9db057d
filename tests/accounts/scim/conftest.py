"""Configures Wake for a directory, and provides the directory."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Team
from tests.accounts.scim.directory_client import TOKEN, Directory


@pytest.fixture
def scim_settings(settings: Any) -> Any:
    settings.WAKE_OIDC_ISSUER = settings.WAKE_OIDC_ISSUER or "https://login.corp.example"
    settings.WAKE_OIDC_CLIENT_ID = "wake"
    settings.WAKE_OIDC_NAME = "Example"
    settings.WAKE_OIDC_DOMAINS = ["corp.example"]
    settings.WAKE_OIDC_GROUPS = [
        ("admins", "garden", "owner"),
        ("staff", "garden", "reviewer"),
        ("6f1e", "other", "reader"),
    ]
    settings.WAKE_ORIGIN = "http://testserver"
    settings.WAKE_SCIM_TOKENS = [TOKEN]
    return settings


@pytest.fixture
def directory(scim_settings: Any, team: Team) -> Directory:
    return Directory()
