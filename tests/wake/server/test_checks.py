"""An unsafe production server does not start and says which setting is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import checks

from tests.wake.server.up import ROOT, clean_environment, free_port
from wake.server.settings import env

pytestmark = [pytest.mark.once, pytest.mark.slow]

SECRET = "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefg"


@pytest.fixture
def production(settings: Any) -> Any:
    """Returns the settings of a safe production server."""
    settings.PRODUCTION = True
    settings.WAKE_ORIGIN = "https://wake.example.com"
    settings.SECRET_KEY = SECRET
    settings.WAKE_ENCRYPTION_KEYS = [SECRET]
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.DATABASE_URL = "postgresql://127.0.0.1:1/wake"
    return settings


def warnings_of(*, deploy: bool = False) -> list[str]:
    messages = checks.run_checks(include_deployment_checks=deploy)
    return [message.id or "" for message in messages if (message.id or "").startswith("wake.")]


def test_a_safe_production_starts(production: Any) -> None:
    assert warnings_of() == []


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("WAKE_ORIGIN", "http://wake.example.com", "wake.E001"),
        ("SECRET_KEY", "x" * 49, "wake.E002"),
        ("SECRET_KEY_FALLBACKS", ["x" * 49], "wake.E002"),
        ("WAKE_ENCRYPTION_KEYS", [], "wake.E003"),
        ("WAKE_ENCRYPTION_KEYS", [SECRET, "short"], "wake.E003"),
        ("REDIS_URL", "", "wake.E004"),
    ],
)
def test_each_missing_setting_is_refused_by_name(
    production: Any, name: str, value: Any, code: str
) -> None:
    setattr(production, name, value)

    (message,) = [one for one in checks.run_checks() if one.id == code]

    assert message.is_serious()
    variable = "WAKE_SECRET_KEYS" if name.startswith("SECRET_KEY") else name
    assert variable in message.msg
    assert variable in (message.hint or "")


@pytest.mark.parametrize("url", ["amqp://127.0.0.1:1//", "amqps://127.0.0.1:1//"])
def test_rabbitmq_starts_beside_redis_only(production: Any, url: str) -> None:
    production.CELERY_BROKER_URL = url
    beside = warnings_of()
    production.REDIS_URL = ""

    assert beside == []
    assert "wake.E015" in warnings_of()


def test_a_broker_that_wake_does_not_know_is_refused(production: Any) -> None:
    production.CELERY_BROKER_URL = "sqs://"

    assert warnings_of() == ["wake.E015"]


def test_a_pooler_without_a_way_past_it_is_refused(production: Any) -> None:
    production.WAKE_DATABASE_POOLED, production.DATABASE_DIRECT_URL = True, ""
    refused = warnings_of()
    production.DATABASE_DIRECT_URL = "postgresql://127.0.0.1:1/wake"

    assert (refused, warnings_of()) == (["wake.E012"], [])


def test_a_pooler_is_sent_no_options() -> None:
    def database(query: str = "", *, is_pooled: bool) -> dict[str, Any]:
        url = f"postgresql://wake@127.0.0.1:6432/wake{query}"
        return env.postgresql("URL", url, connections=1, prepare=True, is_pooled=is_pooled)

    usual, pooled = database(is_pooled=False), database(is_pooled=True)
    longer = database("?options=-c%20statement_timeout%3D60000", is_pooled=False)

    assert usual["OPTIONS"]["options"].startswith("-c statement_timeout=10000 -c lock_timeout=5000")
    assert longer["OPTIONS"]["options"].endswith(" -c statement_timeout=60000")
    assert "options" not in pooled["OPTIONS"]
    assert pooled["OPTIONS"]["prepare_threshold"] == 5
    assert (usual["DISABLE_SERVER_SIDE_CURSORS"], pooled["DISABLE_SERVER_SIDE_CURSORS"]) == (
        False,
        True,
    )
    with pytest.raises(env.BadVariable, match="URL must have no `options`"):
        database("?options=-c%20jit%3Don", is_pooled=True)


def test_sqlite_in_production_is_a_warning(production: Any) -> None:
    production.DATABASE_URL = ""

    (message,) = [one for one in checks.run_checks() if one.id == "wake.W001"]

    assert not message.is_serious()
    assert "DATABASE_URL" in message.msg


@pytest.mark.parametrize("hosts", [["*"], ["wake.example.com", "*"]])
def test_answering_to_any_host_name_is_a_warning(production: Any, hosts: list[str]) -> None:
    production.ALLOWED_HOSTS = hosts

    (message,) = [one for one in checks.run_checks() if one.id == "wake.W003"]

    assert not message.is_serious()
    assert "WAKE_HOSTS" in message.msg
    assert "Set WAKE_HOSTS to the names" in (message.hint or "")


@pytest.mark.parametrize("hosts", [["wake.example.com"], [".example.com"]])
def test_answering_to_listed_host_names_gives_no_warning(production: Any, hosts: list[str]) -> None:
    production.ALLOWED_HOSTS = hosts

    assert warnings_of() == []


def test_development_needs_no_production_settings(settings: Any) -> None:
    settings.PRODUCTION = False
    settings.SECRET_KEY = "short"
    settings.ALLOWED_HOSTS = ["*"]

    assert warnings_of() == []


@pytest.mark.parametrize(
    ("options", "age", "codes"),
    [({}, 0, ["wake.W002"]), ({"pool": {"max_size": 4}}, 0, []), ({}, 60, [])],
)
def test_a_connection_for_every_request_is_a_warning(
    production: Any,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    age: int,
    codes: list[str],
) -> None:
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": options,
        "CONN_MAX_AGE": age,
    }
    # Django warns if a test replaces DATABASES, because open connections would stay.
    monkeypatch.setitem(production.DATABASES, "default", database)

    assert warnings_of(deploy=True) == codes


TELL_SECRET_KEYS = """
import json
from wake.server.settings import hosting
print(json.dumps([hosting.SECRET_KEY, *hosting.SECRET_KEY_FALLBACKS]))
"""
Manage = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def manage(tmp_path: Path) -> Manage:
    def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=clean_environment(WAKE_DATA=str(tmp_path / "data"), **environment),
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.system
@pytest.mark.parametrize("role", ["web", "stream", "worker", "beat", ""])
def test_no_role_starts_in_an_unsafe_production(manage: Manage, role: str) -> None:
    done = manage("up", *([role] if role else []), WAKE_ORIGIN="https://wake.example.com")

    assert done.returncode == 1
    for name in ("WAKE_SECRET_KEYS", "WAKE_ENCRYPTION_KEYS", "REDIS_URL"):
        assert f"Set {name}" in done.stderr


@pytest.mark.parametrize("value", ["99999", "0", "-1", "http", "8000.5"])
def test_an_invalid_number_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PORT", value)

    with pytest.raises(env.BadVariable) as refused:
        env.number("PORT", default=8000, low=1, high=65_535)

    assert str(refused.value) == f"PORT must be a whole number from 1 to 65535, not '{value}'."


@pytest.mark.parametrize(("value", "warnings_of"), [("", 8000), ("1", 1), (" 65535 ", 65_535)])
def test_a_number_within_its_limits_is_accepted(
    monkeypatch: pytest.MonkeyPatch, value: str, warnings_of: int
) -> None:
    monkeypatch.setenv("PORT", value)

    assert env.number("PORT", default=8000, low=1, high=65_535) == warnings_of


@pytest.mark.parametrize(
    ("variables", "keys"),
    [
        ({"WAKE_SECRET_KEYS": " newest, older ,oldest,"}, ["newest", "older", "oldest"]),
        ({"WAKE_SECRET_KEYS": "newest", "WAKE_SECRET_KEY": "single"}, ["newest"]),
        ({"WAKE_SECRET_KEY": "single, with a comma"}, ["single, with a comma"]),
        ({"WAKE_SECRET_KEYS_FILE": "FILE"}, ["in", "the file"]),
    ],
)
def test_the_newest_secret_key_signs_and_all_are_accepted(
    variables: dict[str, str], keys: list[str], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("in,the file\n")
    given = {
        name: value.replace("FILE", str(tmp_path / "secret")) for name, value in variables.items()
    }
    told = subprocess.run(
        [sys.executable, "-c", TELL_SECRET_KEYS],
        cwd=ROOT,
        env=clean_environment(WAKE_DATA=str(tmp_path / "data"), **given),
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(told.stdout) == keys


def test_a_secret_file_that_is_missing_stops_the_start_with_one_sentence(
    manage: Manage, tmp_path: Path
) -> None:
    done = manage("up", WAKE_ENCRYPTION_KEYS_FILE=str(tmp_path / "none"))

    assert done.returncode == 1
    assert done.stderr.startswith("WAKE_ENCRYPTION_KEYS_FILE names a file that cannot be read:")
    assert "Traceback" not in done.stderr


def test_an_invalid_number_stops_the_start_with_one_sentence(manage: Manage) -> None:
    done = manage("up", PORT="99999")

    assert done.returncode == 1
    assert done.stderr == (
        "PORT must be a whole number from 1 to 65535, not '99999'. Set it to that, or leave it "
        "out.\n"
    )


def test_a_database_url_means_production_and_needs_an_https_origin(
    manage: Manage,
) -> None:
    done = manage("check", DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")

    assert "Set WAKE_ORIGIN=https://" in done.stderr


def test_development_can_be_asked_for_with_a_database(manage: Manage) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"

    done = manage("check", DATABASE_URL=url, WAKE_DEV="1")

    assert done.returncode == 0, done.stderr


@pytest.mark.system
def test_an_unreachable_database_is_reported_in_a_sentence(manage: Manage) -> None:
    url = "postgresql://nobody@127.0.0.1:1/nothing"

    done = manage("up", DATABASE_URL=url, WAKE_DEV="1", PORT=str(free_port()))

    assert done.returncode == 1
    assert "The database cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


WITNESS = (
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW https://w.example/submit"
)


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"WEBHOOK": "https://a.example"}, "needs WAKE_CHECKPOINT_WEBHOOK_SECRET"),
        ({"WEBHOOK": "https://a.example", "WEBHOOK_SECRET": "secret"}, "whsec_ and base64"),
        ({"WEBHOOK": "https://a.example", "WEBHOOK_SECRET": "whsec_!"}, "whsec_ and base64"),
        ({"WEBHOOK": "https://a.example", "WEBHOOK_SECRET": "whsec_c2VjcmV0"}, ""),
        ({"TIMESTAMPS": "https://tsa.example"}, "a file that is there"),
        ({"WITNESSES": ["witness.example https://w.example"]}, "has no verifier key"),
        ({"WITNESSES": [WITNESS.partition(" ")[0]]}, "has no verifier key"),
        ({"WITNESSES": [WITNESS]}, ""),
        ({"GIT": "git@git.example.com:us/wake-log.git"}, ""),
    ],
)
def test_a_destination_of_checkpoints_that_could_never_work_is_refused(
    variables: dict[str, Any], problem: str, settings: Any
) -> None:
    for name, value in variables.items():
        setattr(settings, f"WAKE_CHECKPOINT_{name}", value)

    found = [each.msg for each in checks.run_checks() if each.id == "wake.E011"]

    assert any(problem in each for each in found) if problem else not found


WITHOUT_THE_PACKAGE = """
import sys
from django.core.management import execute_from_command_line
sys.modules["rfc3161_client"] = None
execute_from_command_line(["manage.py", "check"])
"""


def test_a_destination_whose_program_or_package_is_missing_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_PACKAGE],
        cwd=ROOT,
        env=clean_environment(
            DJANGO_SETTINGS_MODULE="wake.settings",
            PATH=str(tmp_path),
            WAKE_DATA=str(tmp_path / "data"),
            WAKE_CHECKPOINT_GIT="git@git.example.com:us/wake-log.git",
            WAKE_CHECKPOINT_TIMESTAMPS="https://tsa.example",
            WAKE_CHECKPOINT_TIMESTAMP_ROOTS=__file__,
        ),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert re.findall(r"\(wake\.E011\) (.*)\n\s*HINT: (.*)", done.stderr) == [
        (problem, "docs/log.md, Where checkpoints go, explains these settings.")
        for problem in (
            "WAKE_CHECKPOINT_GIT needs the program git, which is not installed here.",
            "WAKE_CHECKPOINT_TIMESTAMPS needs a package: pip install 'rfc3161-client>=1.0.9,<2'.",
        )
    ]
