"""Every table leads to a team, or there is a reason (docs/decisions/0093).

So a team can be taken out of one server whole, and put into another."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models

from accounts.models import Team

# These rows belong to a team or to a person, and their foreign key says which.
OF_A_TEAM_OR_A_PERSON = (
    "inbox.Channel inbox.NotificationRule inbox.Notification inbox.SlackReply accounts.DeviceSignIn"
)
# Null only in rows that version 0.2 wrote. Such a row leads to a team by its deliveries.
NULL_IN_OLD_ROWS = "wake.Assignment wake.AssignedPerson"
NOT_OF_A_TEAM = {
    "a person, who has an account in each cell": "accounts.User accounts.Absence accounts.Identity"
    " accounts.DirectoryAccount accounts.DirectoryGroup accounts.DirectoryGroup_members"
    " accounts.Passkey accounts.PasskeyNotice accounts.SecondFactor accounts.RecoveryCode"
    " accounts.AddressChange accounts.Session inbox.Preferences inbox.SavedReply"
    " accounts.User_groups accounts.User_user_permissions",
    "a client that a person signed in, at the address of one cell": "oauth2_provider.Application"
    " oauth2_provider.Grant oauth2_provider.AccessToken oauth2_provider.RefreshToken"
    " oauth2_provider.IDToken oauth2_provider.DeviceGrant",
    "names its team by number, because no other row may block or change it": "accounts.AuditEvent"
    " accounts.AuditEntry accounts.AuditTip accounts.LogEntry accounts.LogTeam accounts.LogWaiting",
    "the log of the server, over all teams": "accounts.AuditCheckpoint accounts.LogTree"
    " accounts.LogTile accounts.LogKey accounts.LogCheckpoint accounts.CheckpointSending",
    "the server's own keys": "wake.ReceiptKey inbox.PushKey",
    "how the server works": "wake.Heartbeat wake.EventCounts wake.ServerSample wake.LastBackup"
    " accounts.ProviderDocument contenttypes.ContentType auth.Permission auth.Group"
    " auth.Group_permissions admin.LogEntry",
    "gone within days, and counts attempts or remembers a request": "accounts.UsedChallenge"
    " accounts.SignInAttempts accounts.ResetRequest inbox.SlackRequest",
    "all words of all teams, made again by the search": "inbox.Word",
}
WITHOUT_A_MODEL = {"django_migrations"}
# The index of the search, in the tables of FTS5, and SQLite's own tables, such as the statistics
# that a test before may have collected.
OF_SQLITE = ("words_of_deliveries", "sqlite_")


def path_to_team(model: type[models.Model], *, nullable: bool) -> list[str] | None:
    """Returns the names of the foreign keys from the model to the team, or None. With `nullable`, a
    foreign key counts even if it may be null."""
    paths: dict[Any, list[str]] = {model: []}
    waiting = [model]
    while waiting:
        current = waiting.pop(0)
        if current is Team:
            return paths[current]
        for field in current._meta.concrete_fields:
            related: Any = field.related_model
            if related and related not in paths and (nullable or not field.null):
                paths[related] = [*paths[current], field.name]
                waiting.append(related)
    return None


def listed() -> Counter[str]:
    return Counter(" ".join(NOT_OF_A_TEAM.values()).split())


def test_every_table_leads_to_a_team_or_has_a_reason() -> None:
    every = {model._meta.label: model for model in apps.get_models(include_auto_created=True)}
    without = {each for each, model in every.items() if not _leads(model, nullable=True)}
    either = {each for each, model in every.items() if not _leads(model, nullable=False)} - without

    assert listed() == Counter(without)
    assert either == {*OF_A_TEAM_OR_A_PERSON.split(), *NULL_IN_OLD_ROWS.split()}


@pytest.mark.django_db
def test_every_table_of_the_database_has_a_model() -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}

    others = set(connection.introspection.table_names()) - tables
    assert {name for name in others if not name.startswith(OF_SQLITE)} == WITHOUT_A_MODEL


def _leads(model: type[models.Model], *, nullable: bool) -> bool:
    return path_to_team(model, nullable=nullable) is not None
