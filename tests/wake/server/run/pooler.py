"""Starts a PgBouncer with deploy/pgbouncer.ini in front of a test's PostgreSQL, and servers behind
it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg

from tests.stress.faults.servers import NotHere
from tests.stress.faults.site import Site
from tests.wake.server.test_database_roles import WorldOfRoles
from tests.wake.server.up import ROOT, eventually, free_port

SERVER_CONNECTIONS = 20  # as deploy/pgbouncer.ini says
EXAMPLE = (ROOT / "deploy/pgbouncer.ini").read_text()
DATABASE = "wake = host=db.example.com port=5432 dbname=wake\n"
USERS = "/etc/pgbouncer/userlist.txt"


def program() -> str:
    """Returns the path of PgBouncer. Raises NotHere."""
    if found := shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin"):
        return found
    raise NotHere("pgbouncer is not installed")


def variables(pooled: str, direct: str) -> dict[str, str]:
    """Returns the environment of a server that reaches its database through the pooler."""
    return {
        "DATABASE_URL": pooled,
        "DATABASE_DIRECT_URL": direct,
        "WAKE_DATABASE_POOLED": "1",
        # Debian 12 has PgBouncer 1.18, which keeps none.
        "WAKE_PREPARED_STATEMENTS": "0",
    }


class PgBouncer:
    """Runs in front of the server of `direct`, which is a URL with a role and its password. Raises
    NotHere if PgBouncer is not installed."""

    def __init__(self, direct: str) -> None:
        self.program, place = program(), urlsplit(direct)
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="wake-pgbouncer-"))
        # Every database keeps its name, because a test makes one of its own.
        target = f"* = host={place.hostname} port={place.port or 5432}\n"
        config = EXAMPLE
        for ours, here in (
            (DATABASE, target),
            ("listen_port = 6432", f"listen_port = {self.port}"),
            (USERS, str(self.folder / "userlist.txt")),
            ("stats_users = wake_app", f"stats_users = {place.username}"),
        ):
            assert ours in config
            config = config.replace(ours, here)
        assert f"default_pool_size = {SERVER_CONNECTIONS}\n" in config
        (self.folder / "pgbouncer.ini").write_text(config)
        users = f'"{place.username}" "{unquote(place.password or "")}"\n'
        (self.folder / "userlist.txt").write_text(users)
        # PgBouncer refuses to run as root.
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        self.account = account.pw_uid
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        netloc = f"{place.username}:{place.password}@127.0.0.1:{self.port}"
        self.url = place._replace(netloc=netloc).geturl()
        self.start()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, str(self.folder / "pgbouncer.ini")],
                user=self.account,
                cwd="/",
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        eventually(self._answers, within=30)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            psycopg.connect(self.url, connect_timeout=3).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder)


class PooledSite(WorldOfRoles, Site):
    """Serves a World whose processes connect through PgBouncer, with the role of
    deploy/roles.sql."""

    def prepare_database(self) -> None:
        super().prepare_database()
        self.direct_url = self.database_url
        self.pooler = PgBouncer(self.direct_url)
        self.database_url = self.pooler.url

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, **variables(self.database_url, self.direct_url)}

    def end(self) -> None:
        self.pooler.end()
        super().end()
