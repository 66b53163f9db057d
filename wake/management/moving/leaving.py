"""Takes a team out of this server: copies it into a folder, and gives it up when the other server
has it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from accounts.audit import Actor, record
from accounts.log import signed_tree, sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import LogWaiting, Team, TeamMove
from database.clock import database_now
from wake.management.moving import closing, ledger, people, proofs, reading, sealed
from wake.management.moving.ledger import Ledger
from wake.models import Response, Vote
from wake.proof.receipt_keys import key_set
from wake.proof.receipts import of_sent_answer

FORMAT = 1
TEAM_FILE, ARRIVED_FILE, LEFT_FILE = "team.sealed", "arrived.sealed", "left.sealed"
# No job takes longer (CELERY_TASK_TIME_LIMIT), and no request.
WAIT_SECONDS = 60
MAX_TRIES = 90
State = TeamMove.State


class MoveRefused(Exception):
    """The team does not move; the message says why."""


def pack(
    team: Team,
    folder: Path,
    *,
    server: str,
    key_file: Path,
    by: Actor,
    wait: int = WAIT_SECONDS,
) -> TeamMove:
    """Closes the team, and copies it into a new folder after `wait` seconds. Writes the key of the
    folder into a new file. If this fails, opens the team again and removes the folder. Raises
    MoveRefused, closing.AlreadyClosed, checkpoints.LogChanged or OSError."""
    if server.rstrip("/") == settings.WAKE_ORIGIN:
        raise MoveRefused(f"{server} is this server.")
    _make_receipts_of_signatures(team)
    key = sealed.new_key(key_file)
    try:
        folder.mkdir(mode=0o700, parents=True)
        move = closing.close(team, server=server.rstrip("/"), by=by, at=database_now())
        try:
            _wait_for_begun_work(move, wait)
            counts: Ledger = {}
            with reading.without_time_limit():
                sealed.write(folder / TEAM_FILE, _parts(move, counts), key=key)
            move.ledger = counts
            move.save(update_fields=["ledger"])
        except BaseException:
            stay(move, by=by)
            raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        key_file.unlink()
        raise
    return move


def stay(move: TeamMove, *, by: Actor) -> None:
    """Opens a team that has not left yet again. A folder with it can no longer be opened anywhere,
    because this server will not give the team up. Raises MoveRefused."""
    if move.state != State.LEAVING:
        raise MoveRefused(f"{move.name} is not about to leave.")
    closing.reopen(move, state=State.STAYED, event="team.stayed", by=by, at=database_now())


def leave(folder: Path, *, key: bytes, by: Actor) -> TeamMove:
    """Gives the team up, because the other server has stored it. From now on, this server says
    where the team is. Raises MoveRefused, ledger.LedgersDiffer or sealed.NotReadable."""
    [arrived] = sealed.read(folder / ARRIVED_FILE, key=key)
    move = TeamMove.objects.filter(pk=UUID(arrived["move"])).first()
    if move is None or move.state not in {State.LEAVING, State.LEFT}:
        raise MoveRefused("This team is not about to leave this server.")
    if move.state == State.LEAVING:
        ledger.check(move.ledger, arrived["ledger"], why="The other server has other rows.")
        ledger.check(
            move.ledger,
            reading.ledger_of(move),
            why="Rows changed here after they were copied. Undo the move on both servers, and begin"
            " again.",
        )
        _give_up(move.pk, log=arrived["log"], by=by, at=database_now())
    answer = {"move": str(move.pk), "log": signed_tree.head(signed_tree.stored())}
    sealed.replace(folder / LEFT_FILE, answer, key=key)
    return TeamMove.objects.get(pk=move.pk)


@transaction.atomic
def _give_up(pk: UUID, *, log: str, by: Actor, at: datetime) -> None:
    left = TeamMove.objects.filter(pk=pk, state=State.LEAVING)
    if not left.update(state=State.LEFT, ended_at=at):
        raise MoveRefused("This team is not about to leave this server.")
    move = TeamMove.objects.select_related("team").get(pk=pk)
    record(
        "team.left",
        by=by,
        of=move.team,
        team=move.team,
        at=at,
        server=move.server,
        move=str(pk),
        log=log,
    )


def _make_receipts_of_signatures(team: Team) -> None:
    """Makes the receipts of answers that people signed with a passkey. Only this server can confirm
    these signatures, because they name its address."""
    answers = Response.objects.filter(delivery__team=team, receipts__isnull=True)
    by_votes = Vote.objects.filter(delivery__team=team).exclude(signature_json="")
    signed = answers.exclude(signature_json="") | answers.filter(
        delivery__in=by_votes.values("delivery")
    )
    for delivery_id in signed.values_list("delivery", flat=True).distinct():
        of_sent_answer(delivery_id, at=database_now())


def _wait_for_begun_work(move: TeamMove, wait: int) -> None:
    """Waits for requests and jobs that began before the team was closed, and for callbacks that are
    being sent."""
    time.sleep(wait)
    for _ in range(MAX_TRIES):
        count = closing.hold_callbacks(move, at=database_now())
        if not count:
            break
        time.sleep(1)
    else:
        raise MoveRefused(f"{count} callbacks of the team are being sent. Try again later.")
    for _ in range(MAX_TRIES):
        sweep.append_new(at=database_now())
        if not LogWaiting.objects.filter(team_id=move.team_id).exists():
            break
        time.sleep(1)  # another process appends to the log
    checkpoints.make(at=database_now())  # so that each receipt has a proof


def _parts(move: TeamMove, counts: Ledger) -> Iterator[Any]:
    yield _head(move)
    for label, some in chain(reading.read(move, counts), reading.read_events(move, counts)):
        yield [label, some]
    for some in proofs.read(move.team_id):
        yield ["proofs", some]
    yield ["ledger", counts]


def _head(move: TeamMove) -> dict[str, Any]:
    own = str(settings.WAKE_ORIGIN)
    here = {"server": own, "team": move.team_id, "keys": key_set()}
    arrivals = TeamMove.objects.filter(team=move.team_id, state=State.OPENED)
    arrival = arrivals.order_by("-ended_at").first()
    earlier = [each for each in (arrival.servers if arrival else []) if each["server"] != own]
    return {
        "format": FORMAT,
        "migrations": newest_migrations(),
        "move": str(move.pk),
        "server": own,
        "to": move.server,
        "team": {"id": move.team_id, "slug": move.slug, "name": move.name},
        "began_at": move.began_at,
        "people": people.people_of(move),
        "servers": [*earlier, here],
        "receipt_keys": proofs.keys_of(move.team_id, own=own),
        "log": signed_tree.head(signed_tree.stored()),
    }


def newest_migrations() -> dict[str, str]:
    """Returns the newest migration of each app. The name of a migration begins with its number."""
    return dict(sorted(MigrationRecorder(connection).applied_migrations()))
