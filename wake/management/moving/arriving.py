"""Stores a team that comes from another server, and opens it once the other server has given it
up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.audit import Actor, record
from accounts.log import signed_tree
from accounts.models import Membership, Team, TeamMove
from database.clock import database_now
from wake.management.moving import closing, events, ledger, people, proofs, reading, rows, sealed
from wake.management.moving.leaving import (
    ARRIVED_FILE,
    FORMAT,
    LEFT_FILE,
    TEAM_FILE,
    MoveRefused,
    newest_migrations,
)
from wake.management.moving.ledger import Ledger, Line
from wake.management.moving.notes import all_notes
from wake.management.moving.references import PERSON, TEAM, Numbers, translated
from wake.management.moving.rows import PlainRow
from wake.management.moving.tables import TeamTable, moved_tables, named_tables

State = TeamMove.State
Parts = Iterator[Any]


def unpack(
    folder: Path,
    *,
    key: bytes,
    same: Collection[str] = (),
    all_same: bool = False,
    by: Actor,
) -> TeamMove:
    """Stores the team of the folder, closed, in one transaction, and compares it with the ledger of
    the other server. Raises MoveRefused, people.AccountsExist, ledger.LedgersDiffer or
    sealed.NotReadable; nothing is then stored."""
    parts = sealed.read(folder / TEAM_FILE, key=key)
    head = _checked(next(parts, None))
    move = TeamMove.objects.filter(pk=UUID(head["move"])).first()
    has_answered = (folder / ARRIVED_FILE).exists()
    if move is None or move.state == State.DROPPED:
        try:
            with reading.without_time_limit(), transaction.atomic():
                accounts = people.accounts_of(head["people"], same=same, all_same=all_same, by=by)
                move = _store(head, parts, accounts, by=by)
        except IntegrityError as error:
            raise MoveRefused(
                "Rows with the same ids or keys are here already, so nothing was stored."
            ) from error
    elif move.state != State.ARRIVED or has_answered:
        raise MoveRefused(f"{move.name} was stored here before.")
    # After a crash, the team is stored and the answer is missing.
    answer = {"move": str(move.pk), "ledger": move.ledger, "log": _log_head()}
    sealed.replace(folder / ARRIVED_FILE, answer, key=key)
    return move


def open_team(folder: Path, *, key: bytes, by: Actor) -> TeamMove:
    """Opens the stored team, because the other server has given it up. Raises MoveRefused or
    sealed.NotReadable."""
    [left] = sealed.read(folder / LEFT_FILE, key=key)
    move = TeamMove.objects.filter(pk=UUID(left["move"])).first()
    if move is None or move.state != State.ARRIVED:
        raise MoveRefused("This team does not wait here to be opened.")
    closing.reopen(move, state=State.OPENED, event="team.opened", by=by, at=database_now())
    return move


def _checked(head: Any) -> Any:
    """Returns the first part of a folder that this server can read. Raises MoveRefused."""
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise MoveRefused("This folder is not one that this version of Wake reads.")
    if head["to"] != settings.WAKE_ORIGIN:
        raise MoveRefused(f"This folder is for {head['to']}, and this is {settings.WAKE_ORIGIN}.")
    if head["migrations"] != newest_migrations():
        raise MoveRefused("The servers have different versions of Wake. Upgrade the older one.")
    return head


def _store(head: Any, parts: Parts, accounts: dict[int, int], *, by: Actor) -> TeamMove:
    """Stores everything inside the caller's transaction."""
    TeamMove.objects.filter(pk=UUID(head["move"])).delete()  # dropped before
    numbers = Numbers()
    numbers.here[PERSON] = accounts
    proofs.store_keys(head["receipt_keys"])
    move = _store_team(head, next(parts)[1], numbers)
    tables = {table.label: table for table in moved_tables()}
    expected: Ledger = {}
    line = Line()
    for kind, value in parts:
        if kind == "ledger":
            expected = value
        elif kind == "proofs":
            proofs.store(value)
        elif kind == reading.EVENTS:
            events.store(
                value,
                line,
                team_id=move.team_id,
                source=head["server"],
                own=settings.WAKE_ORIGIN,
                translate=numbers.to_here,
            )
        else:
            _store_rows(tables[kind], value, move, numbers)
    actual: Ledger = {}
    for _ in reading.read(move, actual, numbers.inverse().to_here):
        pass
    actual[reading.EVENTS] = line.as_list()
    ledger.check(expected, actual, why="The stored rows are not those of the folder.")
    move.ledger = expected
    move.save(update_fields=["ledger"])
    record(
        "team.arrived",
        by=by,
        of=move.team,
        team=move.team,
        server=move.server,
        move=str(move.pk),
        log=head["log"],
    )
    return move


def _store_team(head: Any, stored: list[PlainRow], numbers: Numbers) -> TeamMove:
    """Stores the team and its move. A team that comes back gets its number again."""
    [row] = stored
    slug = row["slug"]
    if Team.objects.filter(slug=slug).exists():
        raise MoveRefused(
            f"There is a team {slug} here. If it is the same team, which left this server before, "
            f"run move_team remove {slug} first."
        )
    there = head["team"]["id"]
    table = next(table for table in moved_tables() if table.label == TEAM)
    number = _number_before(head)
    if number is None:
        [number] = rows.store(table, [row])
    else:
        fields = {field.attname: row[field.attname] for field in table.fields}
        Team.objects.bulk_create([Team(**{**fields, "id": number})])
    numbers.add(TEAM, there, number)
    return TeamMove.objects.create(
        pk=UUID(head["move"]),
        team_id=number,
        state=State.ARRIVED,
        slug=slug,
        name=row["name"],
        server=head["server"],
        began_at=head["began_at"],
        servers=head["servers"],
    )


def _number_before(head: Any) -> int | None:
    """Returns the number that the team had on this server, if it left and is gone from here."""
    own = [each["team"] for each in head["servers"] if each["server"] == settings.WAKE_ORIGIN]
    left = TeamMove.objects.filter(
        team__in=own, state__in=[State.LEFT, State.RETURNED], removed_at__isnull=False
    )
    if left.exists() and not Team.objects.filter(pk=own[-1]).exists():
        return int(own[-1])
    return None


def _store_rows(table: TeamTable, some: list[PlainRow], move: TeamMove, numbers: Numbers) -> None:
    refusal = all_notes().refusals.get(table.label)
    for reason in filter(None, map(refusal, some) if refusal else ()):
        raise MoveRefused(reason)
    here = [closing.as_closed(table, translated(table, row, numbers.to_here), move) for row in some]
    ids = rows.store(table, here)
    if table.label in named_tables():
        pk: Any = table.model._meta.pk
        for row, number in zip(some, ids, strict=True):
            numbers.add(table.label, row[pk.attname], number)
    if table.label in all_notes().keys:
        stored = table.model._base_manager.filter(pk__in=ids, revoked_at=move.began_at)
        closing.stop_keys(move, stored)
    if table.model is Membership:
        closing.set_aside(move, Membership.objects.filter(pk__in=ids))


def _log_head() -> str:
    return signed_tree.head(signed_tree.stored())
