"""The settings of a sign-in provider are read from the environment and checked at the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core import checks

from wake.server.settings import env

pytestmark = pytest.mark.once

GOOD = "https://login.example.com/realms/company"


@pytest.mark.parametrize(
    ("issuer", "client", "passwords", "code"),
    [
        ("", "", True, None),
        ("", "", False, "wake.E007"),
        ("http://login.example.com", "wake", True, "wake.E008"),
        ("login.example.com", "wake", True, "wake.E008"),
        (f"{GOOD}?x=1", "wake", True, "wake.E008"),
        ("http://127.0.0.1:8080", "wake", True, None),
        (GOOD, "", True, "wake.E009"),
        (GOOD, "wake", False, None),
    ],
)
def test_an_incomplete_provider_is_refused(
    issuer: str, client: str, passwords: bool, code: str | None, settings: Any
) -> None:
    settings.WAKE_OIDC_ISSUER = issuer
    settings.WAKE_OIDC_CLIENT_ID = client
    settings.WAKE_PASSWORDS = passwords

    found = [one.id for one in checks.run_checks() if (one.id or "").startswith("wake.E")]

    assert found == ([code] if code else [])


@pytest.mark.parametrize(
    ("issuer", "tokens", "problem"),
    [
        (GOOD, [], None),
        ("", [], None),
        (GOOD, ["x" * 32, "y" * 48], None),
        (GOOD, ["x" * 32, "y" * 31], "Each WAKE_SCIM_TOKEN must have at least 32 characters."),
        ("", ["x" * 32], "WAKE_SCIM_TOKEN needs WAKE_OIDC_ISSUER."),
    ],
)
def test_an_incomplete_directory_is_refused(
    issuer: str, tokens: list[str], problem: str | None, settings: Any
) -> None:
    settings.WAKE_OIDC_ISSUER, settings.WAKE_OIDC_CLIENT_ID = issuer, "wake"
    settings.WAKE_SCIM_TOKENS = tokens

    found = [one.msg for one in checks.run_checks() if one.id == "wake.E014"]

    assert found == ([problem] if problem else [])


def test_groups_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUPS", "wake-admins=main:owner, CN=Wake=main:reviewer,/a b=other:reader")

    assert env.group_roles("GROUPS") == [
        ("wake-admins", "main", "owner"),
        ("CN=Wake", "main", "reviewer"),
        ("/a b", "other", "reader"),
    ]


@pytest.mark.parametrize(
    "value", ["wake", "wake=main", "wake=main:boss", "=main:owner", "a=:owner"]
)
def test_other_groups_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUPS", value)

    with pytest.raises(env.BadVariable, match="GROUPS must look like"):
        env.group_roles("GROUPS")


def test_a_secret_can_be_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET", "in the environment")
    assert env.secret_text("SECRET") == "in the environment"
    (tmp_path / "secret").write_text("in the file\n")
    monkeypatch.setenv("SECRET_FILE", str(tmp_path / "secret"))
    assert env.secret_text("SECRET") == "in the file"

    monkeypatch.setenv("SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(env.BadVariable, match="SECRET_FILE names a file that cannot be read"):
        env.secret_text("SECRET")
    (tmp_path / "none").write_text("\n")
    with pytest.raises(env.BadVariable, match="SECRET_FILE names a file that is empty"):
        env.secret_text("SECRET")
