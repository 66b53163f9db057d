"""`manage.py move_team` moves a team to another server (docs/cells.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.log.checkpoints.checkpoints import LogChanged
from accounts.management.operator import OPERATOR
from accounts.models import Team, TeamMove
from wake.management.moving import arriving, leaving, removing, sealed
from wake.management.moving.closing import AlreadyClosed
from wake.management.moving.leaving import MoveRefused
from wake.management.moving.ledger import LedgersDiffer
from wake.management.moving.people import AccountsExist

State = TeamMove.State


class Command(BaseCommand):
    help = (
        "Moves a team to another server, in four steps: pack here, unpack there, leave here, open "
        "there. Until leave, the move can be undone (docs/cells.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
        pack = steps.add_parser("pack", help="close a team, and copy it into a new folder")
        pack.add_argument("slug", metavar="SLUG")
        pack.add_argument("folder", type=Path, metavar="FOLDER", help="a folder that is new")
        pack.add_argument(
            "--to", required=True, metavar="ORIGIN", help="the address of the other server"
        )
        pack.add_argument(
            "--wait",
            type=int,
            default=leaving.WAIT_SECONDS,
            metavar="SECONDS",
            help="how long the team is closed before it is copied (default: 60), so that requests "
            "and jobs end that began before; 0 only while no server and no worker runs",
        )
        unpack = steps.add_parser("unpack", help="store the team of a folder, closed")
        leave = steps.add_parser("leave", help="give the team up, once the other server has it")
        open_ = steps.add_parser("open", help="open the team, once the other server gave it up")
        for step in (unpack, leave, open_):
            step.add_argument("folder", type=Path, metavar="FOLDER")
        for step in (pack, unpack, leave, open_):
            step.add_argument(
                "--key",
                type=Path,
                required=True,
                metavar="FILE",
                help="the file with the key of the folder; pack writes it, outside of the folder",
            )
        unpack.add_argument(
            "--same-person",
            action="append",
            default=[],
            metavar="EMAIL",
            help="an account that exists here and belongs to the same person; may be repeated",
        )
        unpack.add_argument(
            "--same-people",
            action="store_true",
            help="every account that exists here belongs to the same person",
        )
        undo = steps.add_parser("undo", help="open a team that was packed, or drop one unpacked")
        remove = steps.add_parser("remove", help="remove the rows of a team that has left")
        for step in (undo, remove):
            step.add_argument("slug", metavar="SLUG")
        steps.add_parser("list", help="list the moves")

    def handle(self, *args: Any, step: str, **options: Any) -> None:
        with _plain_errors():
            getattr(self, f"_{step}")(**options)

    def _pack(
        self, *, slug: str, folder: Path, to: str, key: Path, wait: int, **options: Any
    ) -> None:
        team = Team.objects.filter(slug=slug).first()
        if team is None:
            raise CommandError(f"There is no team {slug!r}.")
        self.stderr.write(
            f"Closing the team. It is copied after {wait} seconds, when everything that began "
            "before has ended."
        )
        move = leaving.pack(team, folder, server=to, key_file=key, by=OPERATOR, wait=wait)
        self.stdout.write(
            f"Copied {_rows(move)} rows of {move.name}. Bring the folder to {move.server}, and the "
            f"key {key} by another way. There, run: manage.py move_team unpack FOLDER --key FILE"
        )

    def _unpack(
        self,
        *,
        folder: Path,
        key: Path,
        same_person: list[str],
        same_people: bool,
        **options: Any,
    ) -> None:
        move = arriving.unpack(
            folder, key=sealed.read_key(key), same=same_person, all_same=same_people, by=OPERATOR
        )
        self.stdout.write(
            f"Stored {_rows(move)} rows of {move.name}, equal to those of {move.server}. Bring the "
            "folder back. There, run: manage.py move_team leave FOLDER --key FILE"
        )

    def _leave(self, *, folder: Path, key: Path, **options: Any) -> None:
        move = leaving.leave(folder, key=sealed.read_key(key), by=OPERATOR)
        self.stdout.write(
            f"{move.name} has left. Bring the folder to {move.server}. There, run: manage.py "
            "move_team open FOLDER --key FILE"
        )

    def _open(self, *, folder: Path, key: Path, **options: Any) -> None:
        move = arriving.open_team(folder, key=sealed.read_key(key), by=OPERATOR)
        self.stdout.write(
            f"{move.name} is open here. Remove the folder and the key, and once you no longer need "
            f"the rows on {move.server}, run there: manage.py move_team remove {move.slug}"
        )

    def _undo(self, *, slug: str, **options: Any) -> None:
        move = _newest(slug, State.LEAVING, State.ARRIVED)
        if move.state == State.LEAVING:
            leaving.stay(move, by=OPERATOR)
            self.stdout.write(f"{move.name} stays, and is open.")
        else:
            count = removing.drop(move, by=OPERATOR)
            self.stdout.write(f"Removed {count} rows of {move.name}. New accounts stay.")

    def _remove(self, *, slug: str, **options: Any) -> None:
        count = removing.remove_left(_newest(slug, State.LEFT), by=OPERATOR)
        self.stdout.write(f"Removed {count} rows. The audit events stay.")

    def _list(self, **options: Any) -> None:
        for move in TeamMove.objects.order_by("began_at"):
            began = f"{move.began_at:%Y-%m-%d %H:%M}"
            self.stdout.write(f"{began}  {move.slug}  {move.state}  {move.server}  {move.pk}")


def _newest(slug: str, *states: str) -> TeamMove:
    moves = TeamMove.objects.filter(slug=slug, state__in=states).order_by("-began_at")
    move = moves.select_related("team").first()
    if move is None:
        raise CommandError(f"There is no such move of a team {slug!r}. See move_team list.")
    return move


def _rows(move: TeamMove) -> int:
    return sum(count for count, _ in move.ledger.values())


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except (
        MoveRefused,
        AlreadyClosed,
        AccountsExist,
        LedgersDiffer,
        LogChanged,
        sealed.NotReadable,
        OSError,
    ) as reason:
        raise CommandError(str(reason)) from reason
