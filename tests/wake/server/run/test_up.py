"""`manage.py up` works on an empty folder and recovers after an accident."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fixtures.migrated import migrated_folder
from tests.wake.server.up import Up, eventually, printed, up_in

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
    pytest.mark.once,  # the test brings its own SQLite
    pytest.mark.system,
]


def the_curl(output: str) -> str:
    value = re.search(r"^curl .*?'$\n\n", output, re.MULTILINE | re.DOTALL)
    assert value, output
    return value[0]


def run_it(curl: str) -> dict[str, str]:
    done = subprocess.run(["/bin/sh", "-c", curl], capture_output=True, text=True, check=True)
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def rows(up: Up) -> dict[str, int]:
    tables = ("accounts_user", "accounts_team", "accounts_agent", "accounts_apikey")
    with sqlite3.connect(up.data / "wake.sqlite3") as database:
        counts = {
            table: database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in (*tables, "wake_delivery")
        }
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return counts


def stop(up: Up, number: int) -> tuple[int, list[int]]:
    """Stops the server. Returns its exit code and the processes that are left after ten seconds."""
    took = up.send(number)
    assert took < 10
    assert up.process is not None
    return up.process.returncode, up.pids()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Runs one server for all tests, with an owner from the environment."""
    named = {"WAKE_ADMIN_EMAIL": "ann@example.com", "WAKE_ADMIN_PASSWORD": "a secret"}
    with up_in(tmp_path_factory.mktemp("running") / "data", **named) as server:
        server.start("--max-requests", "3").once_greeted()
        yield server


def test_the_first_run_prints_the_sign_in_and_data_survives_a_restart(up: Up) -> None:
    first = up.start().once_greeted()
    key = printed("Key", first)
    delivered = run_it(the_curl(first))
    terminated = stop(up, signal.SIGTERM)
    before = rows(up)

    second = up.start().once_greeted()
    status, body = up.get(
        f"/wake/v1/response/{delivered['delivery_id']}", Authorization=f"Bearer {key}"
    )
    interrupted = stop(up, signal.SIGINT)

    assert delivered["status"] == "received"
    assert printed("Sign in", first) == "owner@example.com"
    assert len(printed("Password", first)) > 20
    assert printed("Signing secret", first).startswith("whsec_")
    assert terminated == interrupted == (0, [])
    assert (status, json.loads(body)["status"]) == (200, "pending")
    assert set(before.values()) == {1}
    assert rows(up) == before
    assert "wk_live_" not in second
    assert "whsec_" not in second
    assert "issue_key" in second
    assert "SecurityWarning" not in up.output, "Celery's, where somebody tries it as root."


def test_the_owners_password_is_removed_from_the_environment_of_children(running: Up) -> None:
    assert running.process is not None
    children = set(running.pids()) - {running.process.pid}

    assert children
    for pid in children:
        assert b"WAKE_ADMIN_PASSWORD" not in Path(f"/proc/{pid}/environ").read_bytes()


def test_the_servers_get_the_number_of_requests_that_was_asked_for(running: Up) -> None:
    assert running.process is not None
    servers = {
        pid
        for pid in running.pids()
        if b"wake.server.asgi" in Path(f"/proc/{pid}/cmdline").read_bytes()
    }

    assert servers
    for pid in servers:
        assert b"WAKE_MAX_REQUESTS=3\0" in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_password_that_the_owner_set_is_not_printed(running: Up) -> None:
    assert "the value of WAKE_ADMIN_PASSWORD" in running.output
    assert "a secret" not in running.output


def test_its_pages_have_styles_without_collected_static_files(running: Up) -> None:
    status, page = running.get("/login/")
    style = re.search(r'href="(/static/css/[^"]+)"', page.decode())

    assert status == 200
    assert style
    assert running.get(style[1])[0] == 200


def test_a_worker_runs_and_only_its_owner_can_read_the_data(running: Up) -> None:
    ready = eventually(lambda: (value := running.readiness())["status"] == "ok" and value)

    assert ready["workers"]["last_heartbeat"]
    for path in [running.data, *running.data.iterdir()]:
        # SQLite removes its -wal and -shm when the last connection is closed.
        with suppress(FileNotFoundError):
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_child_that_dies_is_restarted_and_its_files_are_removed(running: Up) -> None:
    worker = eventually(lambda: running.pids("wake.server.work.sweeper"))[0]
    granians = eventually(lambda: len(value := running.pids("granian")) == 2 and value)
    web = granians[0]  # the main process; a kill would leave the process that serves

    os.kill(worker, signal.SIGKILL)
    os.kill(web, signal.SIGKILL)

    again = eventually(lambda: set(running.pids("wake.server.work.sweeper")) - {worker})
    eventually(
        lambda: running.get("/healthz")[0] == 200 and not set(running.pids()) & set(granians)
    )
    assert again
    assert "exited with -9 and restarts" in running.output


def test_after_a_kill_everything_starts_again(up: Up) -> None:
    migrated_folder(up.data)
    first = up.start().once_greeted()
    run_it(the_curl(first))
    up.send(signal.SIGKILL)

    up.start().once_greeted()

    assert up.get("/healthz")[0] == 200
    # A ready worker puts its work down before it ends, and no child is left behind.
    eventually(lambda: len(up.pids("sweeper")) == 1)
    assert len(up.pids("granian")) == 2  # the main process and the process that serves

    up.kill_everything()
    before = rows(up)

    third = up.start().once_greeted()

    assert up.get("/healthz")[0] == 200
    assert rows(up) == before
    assert set(before.values()) == {1}
    assert "wk_live_" not in third


def test_a_port_in_use_is_reported_before_anything_is_created(up: Up) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", up.port))
        other.listen()

        up.start()
        assert up.process is not None
        code = up.process.wait(60)

    assert code == 1
    assert f"Port {up.port} is in use" in up.output
    assert f"PORT={up.port + 1} make run" in up.output
    assert not (up.data / "wake.sqlite3").exists()


def test_an_invalid_address_is_refused_in_a_sentence(up: Up) -> None:
    migrated_folder(up.data)
    up.environment |= {"WAKE_ADMIN_EMAIL": "not an address"}

    up.start()
    assert up.process is not None

    assert up.process.wait(60) == 1
    assert "WAKE_ADMIN_EMAIL" in up.output
    assert "Traceback" not in up.output


def test_with_json_every_line_is_an_object(up: Up) -> None:
    migrated_folder(up.data)
    up.environment["WAKE_LOG"] = "json"

    up.start().once_greeted()
    up.get("/wake/v1", **{"X-Request-ID": "from-a-test"})
    eventually(lambda: "The worker is ready." in up.output and "from-a-test" in up.output)
    stop(up, signal.SIGTERM)

    lines = [json.loads(line) for line in up.output.splitlines()]
    assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines)
    (asked,) = [line for line in lines if line.get("request_id") == "from-a-test"]
    assert (asked["route"], asked["status"]) == ("/wake/v1", 200)
    assert {"_granian", "wake.server.work.sweeper", "wake.up"} <= {line["logger"] for line in lines}
