"""`manage.py up` runs everything that a server needs in the foreground, or only one part of it."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error as DatabaseError
from django.db import OperationalError, connection
from psycopg_pool import PoolTimeout

from accounts.management import first_run, operator
from database.schema.pending import pending_migrations
from wake.server.metrics import process_files
from wake.server.run import roles
from wake.server.run.greeting import greeting
from wake.server.run.supervisor import json_line, replace_process
from wake.server.settings import env

# A start right after kill -9 waits this long for the old processes to end.
PATIENCE_SECONDS = 8.0
FIRST_EMAIL = "owner@example.com"  # other people see the part "owner" as a name


class Command(BaseCommand):
    help = (
        "Runs all parts of the server until Ctrl-C. The first run creates a team, an "
        "owner and an agent. With a role, runs only that one, for use on several machines."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", nargs="?", choices=roles.ROLES)
        parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
        parser.add_argument(
            "--processes", type=int, help="number of processes of the web server or the worker"
        )
        parser.add_argument(
            "--max-requests",
            type=int,
            metavar="N",
            help="requests that a process of the web server handles at a time (WAKE_MAX_REQUESTS)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if (number := options["max_requests"]) is not None:
            if not 1 <= number <= env.MAX_REQUESTS:
                raise CommandError(f"--max-requests must be from 1 to {env.MAX_REQUESTS}.")
            os.environ["WAKE_MAX_REQUESTS"] = str(number)  # the servers read their environment
        os.umask(0o077)  # only the owner can read files that are written
        try:
            self._run(options["role"], options["host"], options["processes"])
        except KeyboardInterrupt:
            raise CommandError("Stopped before it started.", returncode=130) from None

    def _run(self, role: str | None, host: str, processes: int | None) -> None:
        # Otherwise each program that reads the children's environment would see the password.
        password = env.secret_text("WAKE_ADMIN_PASSWORD")
        os.environ.pop("WAKE_ADMIN_PASSWORD", None)
        if os.geteuid() == 0 and settings.PRODUCTION:
            self.stderr.write("Wake is running as root. Run it under an account of its own.")
        if role in {None, "web", "stream"}:
            self._wait_for_port("PORT", host, settings.PORT)
        if settings.WAKE_METRICS_PORT:
            self._wait_for_port(
                "WAKE_METRICS_PORT", settings.WAKE_METRICS_HOST, settings.WAKE_METRICS_PORT
            )
        if settings.WAKE_METRICS:
            os.environ[process_files.VARIABLE] = str(process_files.make_folder())
        try:
            self.check(tags=[Tags.database], databases=["default"])
            if role:  # without a role, `up` migrates by itself
                _refuse_an_older_database()
        finally:
            _disconnect()
        if role in {None, "web", "stream"}:
            _collect_static()
        roles.allow_open_files()
        if role:
            try:
                command = roles.ROLES[role](host, processes)
            except roles.BeatNotNeeded as reason:
                raise CommandError(str(reason)) from None
            os.chdir(settings.BASE_DIR)
            os.execv(command[0], command)  # noqa: S606 - our own; signals then reach it directly
        welcome = self._set_up(password)
        replace_process(
            roles.all_on_one_machine(host, processes),
            folder=str(settings.BASE_DIR),
            host=host,
            port=settings.PORT,
            greeting=greeting(welcome, is_password_given=bool(password)),
            is_json=settings.WAKE_LOG == "json",
        )

    def _wait_for_port(self, variable: str, host: str, port: int) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        error = _cannot_listen(host, port)
        if error == errno.EADDRINUSE:
            self._say(f"Port {port} is in use. Waiting a moment for it to become free.")
        while error == errno.EADDRINUSE and time.monotonic() < until:
            time.sleep(0.2)
            error = _cannot_listen(host, port)
        if error == errno.EADDRINUSE:
            raise CommandError(
                f"Port {port} is in use, perhaps by another `make run`. "
                f"Stop it, or choose another port: {variable}={port + 1} make run"
            )
        if error:
            raise CommandError(f"Cannot listen on {host}, port {port}: {os.strerror(error)}.")

    def _set_up(self, given: str) -> first_run.Welcome | None:
        password = given or operator.new_password()
        try:
            call_command("migrate", verbosity=0, interactive=False)
            return first_run.set_up(
                email=os.environ.get("WAKE_ADMIN_EMAIL", "").strip() or FIRST_EMAIL,
                password=password,
            )
        except (OperationalError, PoolTimeout) as error:
            raise CommandError(f"The database cannot be reached: {error}") from error
        except ValidationError as error:
            raise CommandError(
                f"WAKE_ADMIN_EMAIL or WAKE_ADMIN_PASSWORD: {operator.in_one_sentence(error)}"
            ) from error
        finally:
            _disconnect()

    def _say(self, line: str) -> None:
        if settings.WAKE_LOG == "json":
            line = json_line("", line)
        with suppress(OSError):  # a closed terminal is not a reason to stop
            self.stdout.write(line)
            self.stdout.flush()


def _refuse_an_older_database() -> None:
    """Refuses to start before `migrate`, because requests would fail at columns that are missing.
    Starts while the database is away."""
    try:
        pending = pending_migrations()
    except (DatabaseError, PoolTimeout):
        return
    if pending:
        raise CommandError(
            "The database is older than this version. Run `manage.py migrate` first. Missing "
            f"migrations: {len(pending)}. The first is {pending[0]}."
        )


def _disconnect() -> None:
    """Closes the database connections of this process. The children open their own connections."""
    connection.close()
    if connection.vendor == "postgresql":
        connection.close_pool()  # type: ignore[attr-defined]


def _collect_static() -> None:
    """Collects the static files only if one has changed since the last time, because collecting
    takes eight seconds. If two processes start together, the second waits and then has nothing to
    do."""
    manifest = settings.STATIC_ROOT / "staticfiles.json"
    sources = [
        Path(storage.path(name)) for finder in get_finders() for name, storage in finder.list([])
    ]
    newest = max(source.stat().st_mtime for source in sources)
    with (settings.BASE_DIR / "manage.py").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not manifest.exists() or manifest.stat().st_mtime < newest:
            call_command("collectstatic", interactive=False, verbosity=0)


def _cannot_listen(host: str, port: int) -> int:
    """Returns the error number of listening on this port, or 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno or errno.EINVAL
    return 0
