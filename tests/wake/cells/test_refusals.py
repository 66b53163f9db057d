"""A move that cannot go on changes nothing, and says why."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection

from accounts.access.moves import is_closed
from accounts.management.operator import OPERATOR
from accounts.models import AuditEvent, Membership, Team, TeamMove, User
from tests.wake.cells import judge
from tests.wake.cells.conftest import Servers
from tests.wake.cells.full_team import HEADERS, FullTeam
from wake.management.moving import leaving, sealed
from wake.models import Delivery, ReceiptKey

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def packed(servers: Servers, full: FullTeam, team: Team) -> Path:
    folder = servers.folder / "packed"
    servers.a.run(
        "pack", team.slug, folder, "--to", servers.b.origin, "--key", servers.key, "--wait", 0
    )
    return folder


def everything() -> Any:
    others = (AuditEvent, TeamMove, User, ReceiptKey)
    rows = {model.__name__: list(model._base_manager.order_by("pk").values()) for model in others}
    return judge.raw_rows(), rows


def unpack(servers: Servers, folder: Path, *more: str) -> None:
    servers.b.run("unpack", folder, "--key", servers.key, *more)


def cut_off(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])


def without_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


@pytest.mark.parametrize("damage", [cut_off, without_end, changed, longer, Path.unlink])
def test_a_damaged_folder_leaves_nothing(
    servers: Servers, packed: Path, damage: Callable[[Path], object]
) -> None:
    with servers.b.here():
        before = everything()
    damage(packed / "team.sealed")

    with pytest.raises(CommandError, match="damaged"):
        unpack(servers, packed, "--same-people")

    with servers.b.here():
        assert everything() == before


def test_another_key_reads_nothing(servers: Servers, packed: Path, tmp_path: Path) -> None:
    sealed.new_key(tmp_path / "another")
    with pytest.raises(CommandError, match="another key"):
        servers.b.run("unpack", packed, "--key", tmp_path / "another")
    (tmp_path / "short").write_text("abc")
    with pytest.raises(CommandError, match="is not the key"):
        servers.b.run("unpack", packed, "--key", tmp_path / "short")


def test_the_folder_shows_nothing(servers: Servers, packed: Path, full: FullTeam) -> None:
    content = (packed / "team.sealed").read_bytes()

    assert full.data.words.encode() not in content
    assert HEADERS not in content
    for path in (servers.key, packed / "team.sealed"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(packed.stat().st_mode) == 0o700


def test_a_folder_is_stored_once(servers: Servers, packed: Path) -> None:
    unpack(servers, packed)
    with servers.b.here():
        before = everything()

    with pytest.raises(CommandError, match="was stored here before"):
        unpack(servers, packed, "--same-people")

    with servers.b.here():
        assert everything() == before


def test_the_answer_of_a_stored_team_can_be_written_again(servers: Servers, packed: Path) -> None:
    unpack(servers, packed)
    (packed / "arrived.sealed").unlink()  # as after a crash between the commit and the file

    unpack(servers, packed)

    servers.a.run("leave", packed, "--key", servers.key)
    (packed / "left.sealed").unlink()
    servers.a.run("leave", packed, "--key", servers.key)
    servers.b.run("open", packed, "--key", servers.key)


def test_a_folder_is_for_one_server(servers: Servers, packed: Path) -> None:
    with pytest.raises(CommandError, match=f"is for {servers.b.origin}"):
        servers.a.run("unpack", packed, "--key", servers.key)


def test_servers_of_different_versions_refuse(servers: Servers, packed: Path) -> None:
    with servers.b.here(), connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET name = '9999_later' WHERE app = 'relay'")

    with pytest.raises(CommandError, match="different versions"):
        unpack(servers, packed)


def test_an_account_with_the_same_address_gets_nothing_by_itself(
    servers: Servers, packed: Path, alice: User, bob: User
) -> None:
    with servers.b.here():
        for person in (alice, bob):
            User.objects.create_user(person.email, "its own password")
        before = everything()
    with pytest.raises(CommandError, match=f"exist here already: {alice.email}, {bob.email}"):
        unpack(servers, packed)
    with pytest.raises(CommandError, match=f"exist here already: {bob.email}"):
        unpack(servers, packed, "--same-person", alice.email)
    with servers.b.here():
        assert everything() == before

    unpack(servers, packed, "--same-person", alice.email.upper(), "--same-person", bob.email)

    servers.a.run("leave", packed, "--key", servers.key)
    servers.b.run("open", packed, "--key", servers.key)
    with servers.b.here():
        same = User.objects.get(email=alice.email)
        assert same.check_password("its own password")
        assert Membership.objects.filter(user=same, role="owner").count() == 1
        added = User.objects.exclude(email__in=[alice.email, bob.email])
        assert not any(person.has_usable_password() for person in added)
        assert not added.filter(is_staff=True).exists()


def test_a_handle_that_is_taken_is_refused(servers: Servers, packed: Path, team: Team) -> None:
    with servers.b.here():
        Team.objects.create(slug=team.slug, name="Another")
        before = everything()

    with pytest.raises(CommandError, match=f"There is a team {team.slug} here"):
        unpack(servers, packed)

    with servers.b.here():
        assert everything() == before


def test_a_row_that_changed_meanwhile_stops_the_move(
    servers: Servers, packed: Path, full: FullTeam
) -> None:
    unpack(servers, packed)
    with servers.a.here():
        Delivery.objects.filter(pk=full.data.delivery.pk).update(headline="Changed")

    with pytest.raises(CommandError, match=r"Rows changed here.* Different: wake\.Delivery\."):
        servers.a.run("leave", packed, "--key", servers.key)

    with servers.a.here():
        assert TeamMove.objects.get().state == "leaving"


def test_a_team_opens_only_once_the_other_server_has_given_it_up(
    servers: Servers, packed: Path, team: Team
) -> None:
    unpack(servers, packed)
    with pytest.raises(CommandError, match="missing"):
        servers.b.run("open", packed, "--key", servers.key)

    servers.a.run("undo", team.slug)

    with pytest.raises(CommandError, match="not about to leave"):
        servers.a.run("leave", packed, "--key", servers.key)
    with servers.b.here():
        assert is_closed(TeamMove.objects.get().team_id)


def test_a_team_that_was_not_opened_can_be_dropped(
    servers: Servers, packed: Path, team: Team
) -> None:
    with servers.b.here():
        before = judge.raw_rows()
    unpack(servers, packed)

    servers.b.run("undo", team.slug)

    with servers.b.here():
        assert judge.raw_rows() == before
        assert not Team.objects.exists()
    (packed / "arrived.sealed").unlink()
    unpack(servers, packed, "--same-people")  # the accounts have stayed


def test_a_step_at_the_wrong_time_is_refused(servers: Servers, team: Team, full: FullTeam) -> None:
    for step in ("undo", "remove"):
        with pytest.raises(CommandError, match="no such move"):
            servers.a.run(step, team.slug)
    to_itself = ("--to", servers.a.origin, "--key", servers.key)
    with pytest.raises(CommandError, match="is this server"):
        servers.a.run("pack", team.slug, servers.folder / "x", *to_itself)
    to_b = ("--to", servers.b.origin, "--key", servers.key)
    with pytest.raises(CommandError, match="There is no team"):
        servers.a.run("pack", "nothing", servers.folder / "x", *to_b)


def test_a_copy_that_fails_opens_the_team_again(
    servers: Servers, team: Team, full: FullTeam, settings: Any
) -> None:
    folder = servers.folder / "there"
    folder.mkdir()
    with pytest.raises(CommandError):
        servers.a.run("pack", team.slug, folder, "--to", servers.b.origin, "--key", servers.key)

    with servers.a.here():
        assert not TeamMove.objects.exists()
        assert not servers.key.exists()


def test_what_no_key_reads_becomes_readable_with_the_key(
    servers: Servers, full: FullTeam, team: Team, settings: Any
) -> None:
    with servers.a.here():
        details = Delivery.objects.get(pk=full.data.delivery.pk).details
        settings.WAKE_ENCRYPTION_KEYS = ["n" * 40]  # the old key is gone
        folder = servers.folder / "unreadable"
        move = leaving.pack(
            team, folder, server=servers.b.origin, key_file=servers.key, by=OPERATOR, wait=0
        )
        assert move.ledger["wake.Delivery"][0] == 2
    unpack(servers, folder)

    with servers.b.here():
        settings.WAKE_ENCRYPTION_KEYS = [servers.b.key, servers.a.key]
        assert Delivery.objects.get(pk=full.data.delivery.pk).details == details
