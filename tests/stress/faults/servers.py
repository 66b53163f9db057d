"""Lets a test stop, freeze and kill a PostgreSQL and a Redis, and cut off a RabbitMQ."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from redis import Redis
from redis.exceptions import RedisError

from tests.fixtures.migrated import made_once, migrated
from tests.wake.callbacks.world import Wire, through
from tests.wake.server.up import free_port

PATIENCE_SECONDS = 60
SMALL_MEGABYTES = 96
BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)


class NotHere(Exception):
    """Says that the server is not installed here, or may not be started."""


def program(name: str) -> str:
    """Returns the path of the program. Raises NotHere if the server cannot be started."""
    places = os.pathsep.join([os.environ.get("PATH", ""), *map(str, reversed(BINARIES))])
    if found := shutil.which(name, path=places):
        return found
    raise NotHere(f"There is no {name} on this machine.")


class Postgres:
    """Runs a cluster in a folder below /tmp, because the account that runs the cluster must have
    access to the folder."""

    def __init__(self) -> None:
        # PostgreSQL refuses to run as root.
        self.account = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        try:
            owner = pwd.getpwnam(self.account)
        except KeyError:
            raise NotHere("Nobody on this machine is called postgres.") from None
        self.port = free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        self.folder = Path(tempfile.mkdtemp(prefix="wake-postgresql-"))
        self.disks: list[SmallDisk] = []
        os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.fill()
        self.start()

    def fill(self) -> None:
        """Copies a cluster with a migrated database into the folder."""
        version = Path(program("initdb")).resolve().parent.parent.name
        cluster = made_once(f"cluster-{version}", self._make)
        subprocess.run([program("cp"), "--archive", cluster / "data", self.folder], check=True)

    def _make(self, folder: Path) -> None:
        """Fills the folder with a new cluster that has a migrated database."""
        self._do("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
        with (self.folder / "data/postgresql.conf").open("a") as conf:
            conf.write(
                "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\n"
                "max_connections = 200\n"
            )
        self.start()
        migrated(self.url)
        self._do("pg_ctl", "--wait", "stop")
        (self.folder / "data").rename(folder / "data")

    def start(self) -> None:
        self._do(
            "pg_ctl", "--wait", f"--log={self.folder}/log", f"--options=-p {self.port}", "start"
        )

    def stop(self) -> None:
        """Stops without a shutdown, as a power failure would; the next start recovers."""
        self._do("pg_ctl", "--wait", "--mode=immediate", "stop")

    def freeze(self) -> None:
        """Stops the processes. The kernel still takes connections and acknowledges bytes, but
        nothing comes back."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """Signals the postmaster first, so that it starts no new children meanwhile."""
        postmaster = (self.folder / "data/postmaster.pid").read_text().split()[0]
        os.kill(int(postmaster), number)
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # the process may have ended
                if status.read_text().rpartition(")")[2].split()[1] == postmaster:
                    os.kill(int(status.parent.name), number)

    def on_a_small_disk(self) -> SmallDisk | None:
        """Places new data on a small disk, where mounting is allowed."""
        try:
            disk = SmallDisk(self.folder / "small", owner=self.account)
        except NotHere:
            return None
        self.disks.append(disk)
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute(f"CREATE TABLESPACE small LOCATION '{disk.folder}'".encode())
            server.execute("ALTER SYSTEM SET default_tablespace = 'small'")
            server.execute(f"ALTER DATABASE {migrated(self.url)} SET TABLESPACE small".encode())
            server.execute("SELECT pg_reload_conf()")
        return disk

    def end(self) -> None:
        if (self.folder / "data/postmaster.pid").exists():
            self.stop()
        for disk in self.disks:
            disk.end()
        shutil.rmtree(self.folder)

    def _do(self, name: str, *arguments: str) -> None:
        command = [program(name), f"--pgdata={self.folder}/data", *arguments]
        with (self.folder / "commands").open("ab") as log_file:
            subprocess.run(
                command,
                user=self.account,
                cwd="/",
                stdout=log_file,
                stderr=log_file,
                check=True,
                timeout=120,
            )


class Replica(Postgres):
    """Follows a primary by streaming replication. Its log has every statement."""

    def __init__(self, primary: Postgres) -> None:
        self.primary = primary
        super().__init__()

    def fill(self) -> None:
        self._do(
            *("pg_basebackup", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"),
            *("--host=127.0.0.1", f"--port={self.primary.port}", "--username=postgres"),
        )
        with (self.folder / "data/postgresql.conf").open("a") as conf:
            # A change of the primary does not wait for a query.
            conf.write("log_statement = 'all'\nmax_standby_streaming_delay = 0\n")

    @property
    def log_lines(self) -> list[str]:
        return (self.folder / "log").read_text().splitlines()

    def pause(self) -> None:
        """Receives changes from now on, and does not replay them."""
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute("SELECT pg_wal_replay_resume()")

    def promote(self) -> None:
        self._do("pg_ctl", "--wait", "promote")


class SmallDisk:
    """Mounts a file system of its own, which can be filled to the last byte."""

    def __init__(self, folder: Path, *, owner: str) -> None:
        folder.mkdir()
        size = f"size={SMALL_MEGABYTES}m,mode=0700,uid={pwd.getpwnam(owner).pw_uid}"
        mounted = subprocess.run(
            [program("mount"), "-t", "tmpfs", "-o", size, "none", str(folder)],
            check=False,
            capture_output=True,
        )
        if mounted.returncode:
            raise NotHere("Nothing may be mounted here.")
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "filling").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(b"\0" * 4096):
                pass

    def empty(self) -> None:
        (self.folder / "filling").unlink()

    def end(self) -> None:
        subprocess.run([program("umount"), "--lazy", str(self.folder)], check=True)


class RedisServer:
    """Stores nothing on disk, so a restart finds it empty."""

    def __init__(self) -> None:
        self.command = [
            *(program("redis-server"), "--port", str(free_port()), "--bind", "127.0.0.1"),
            *("--save", "", "--appendonly", "no", "--loglevel", "warning"),
        ]
        self.url = f"redis://127.0.0.1:{self.command[2]}/0"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, cwd="/", stdout=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            try:
                Redis.from_url(self.url, socket_timeout=1).ping()
            except RedisError:
                time.sleep(0.02)
            else:
                return
        raise TimeoutError("Redis does not start.")

    def freeze(self) -> None:
        """Accepts connections without any response."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class RabbitMQ:
    """A RabbitMQ at the other end of a wire. It is away for those who use the wire, and has its
    queues afterwards."""

    def __init__(self, url: str) -> None:
        server = urlsplit(url)
        self._wire = Wire(server.hostname or "127.0.0.1", server.port or 0)
        self.url = through(self._wire, url)
        self.kill, self.freeze = self._wire.cut, self._wire.freeze
        self.start = self.thaw = self._wire.open
        self.start()
