"""Granian gets the right arguments, and the two applications answer."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import Any
from unittest.mock import Mock
from wsgiref.util import setup_testing_defaults

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.core.management import CommandError, call_command

from tests.wake.server.up import ROOT, clean_environment
from wake.asgi import application as asgi
from wake.management.commands import up
from wake.server.run import roles
from wake.wsgi import application as wsgi

pytestmark = pytest.mark.slow


UNDECODABLE = b"application/json; charset=undefined"
SEMICOLONS = b'application/json; x="' + b";" * 1_000_000


@async_to_sync
async def over_asgi(
    path: str, body: bytes = b"", content_type: bytes = UNDECODABLE
) -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "method": "POST" if body else "GET",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", content_type)],
        "client": ("127.0.0.1", 1),
    }
    client = ApplicationCommunicator(asgi, scope)
    await client.send_input({"type": "http.request", "body": body})
    start = await client.receive_output(10)
    answer = await client.receive_output(10)
    await client.wait(10)
    return start["status"], answer["body"]


@pytest.mark.django_db
def test_asgi_answers_and_cuts_off() -> None:
    assert over_asgi("/healthz") == (200, b'{"status": "ok"}')

    status, body = over_asgi("/wake/v1/deliver", b"x" * 262_145)

    assert (status, json.loads(body)["error"]["code"]) == (413, "body_too_large")


@pytest.mark.django_db
def test_asgi_cuts_a_long_content_type_before_it_is_parsed() -> None:
    """The time to parse the header grows with the square of its length, and used to stop the event
    loop."""
    assert over_asgi("/healthz", content_type=SEMICOLONS)[0] == 200


@pytest.mark.django_db  # before each request Django checks its connections
@pytest.mark.parametrize("content_type", ["", SEMICOLONS.decode()], ids=["none", "long"])
def test_wsgi_answers(content_type: str) -> None:
    environ: dict[str, Any] = {"PATH_INFO": "/healthz", "CONTENT_TYPE": content_type}
    setup_testing_defaults(environ)
    started: list[str] = []

    body = b"".join(wsgi(environ, lambda status, headers: started.append(status)))

    assert (started, body) == (["200 OK"], b'{"status": "ok"}')


@pytest.mark.once
@pytest.mark.parametrize(("server", "waiting"), [("wsgi", "2"), ("asgi", "100")])
def test_with_few_threads_few_requests_may_wait(server: str, waiting: str, tmp_path: Any) -> None:
    code = (
        f"import wake.{server}; from django.conf import settings; print(settings.WAKE_MAX_WAITING)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean_environment(WAKE_DATA=str(tmp_path)),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == waiting


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_embedded_mode_has_one_web_process(settings: Any) -> None:
    settings.REDIS_URL = settings.DATABASE_URL = ""

    together = roles.all_on_one_machine("127.0.0.1", 8)

    assert list(together) == ["web", "worker"]
    assert "wake.server.asgi:application" in together["web"]
    assert option(together["web"], "--workers") == "1"
    assert together["worker"][-1] == "wake.server.work.sweeper"


def test_without_redis_the_worker_does_the_part_of_beat(settings: Any, db: None) -> None:
    settings.REDIS_URL = ""

    with pytest.raises(CommandError, match="Run only `up worker`"):
        call_command("up", "beat")


@pytest.mark.once
@pytest.mark.parametrize(("connections", "turns"), [("7", 6), ("1", 1)])
def test_in_production_there_is_a_turn_for_each_connection_and_one_for_readyz(
    connections: str, turns: int, tmp_path: Any
) -> None:
    production = {
        "WAKE_DATA": str(tmp_path),
        "WAKE_DEV": "1",
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "WAKE_DATABASE_CONNECTIONS": connections,
    }
    code = (
        "import wake.server.web; from django.conf import settings as s; print(s.WAKE_MAX_REQUESTS)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean_environment(**production),
        capture_output=True,
        text=True,
        check=True,
    )

    assert int(done.stdout) == turns


@pytest.mark.parametrize("number", ["0", "1001"])
def test_a_number_of_requests_out_of_range_is_refused(number: str) -> None:
    with pytest.raises(CommandError, match="must be from 1 to 1000"):
        call_command("up", "web", "--max-requests", number)


def test_in_production_there_are_as_many_processes_as_asked_for(settings: Any) -> None:
    settings.REDIS_URL, settings.DATABASE_URL = "redis://127.0.0.1:1/0", "postgresql://x/y"

    web = roles.web("0.0.0.0", 3)  # noqa: S104 - in a container
    worker = roles.worker("127.0.0.1", None)

    assert "wake.server.web:application" in web
    assert option(web, "--host") == "0.0.0.0"  # noqa: S104
    assert option(web, "--workers") == "3"
    assert option(worker, "--pool") == "prefork"
    assert 1 <= int(option(worker, "--concurrency")) <= roles.MAX_DEFAULT_PROCESSES


@pytest.mark.parametrize(("account", "is_warned"), [(0, True), (1000, False)])
def test_a_server_that_runs_as_root_warns(
    account: int, is_warned: bool, db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PRODUCTION = True
    errors = io.StringIO()
    for owner, name, stand_in in (
        (os, "geteuid", lambda: account),
        (os, "umask", lambda mode: mode),
        (os, "chdir", lambda folder: None),
        (os, "execv", Mock(side_effect=SystemExit)),
        (up, "_disconnect", lambda: None),
    ):
        # Without stand-ins, the command would replace the process that runs the tests.
        monkeypatch.setattr(owner, name, stand_in)

    with pytest.raises(SystemExit):
        call_command("up", "worker", stderr=errors)

    assert ("running as root" in errors.getvalue()) is is_warned
