"""The image runs without rights, says how it is, and says what it was built from.

No engine builds the image here, so these tests read the Dockerfile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import yaml

from tests.deploy.chart import EXAMPLES, pods
from tests.fixtures.served import served
from tests.spec.http.test_production import PRODUCTION
from tests.wake.server.up import ROOT
from wake.server.run.roles import ROLES

# The instructions of the last stage, which becomes the image, with each line continued.
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n *", "", (ROOT / "Dockerfile").read_text())
    .rpartition("\nFROM ")[2]
    .splitlines()[1:]
    if line and not line.startswith("#")
]


def of(name: str) -> list[str]:
    return [text for instruction, text in INSTRUCTIONS if instruction == name]


def test_the_image_runs_as_the_user_of_the_chart() -> None:
    (user,) = of("USER")
    (made,) = [text for text in of("RUN") if "useradd" in text]

    assert re.search(r"groupadd .*--gid 10001 wake && useradd .*--uid 10001 --gid wake ", made)
    for name in EXAMPLES:
        for pod in pods(name).values():
            ours = pod["securityContext"]
            assert user == f"{ours['runAsUser']}:{ours['runAsGroup']}"


def test_nothing_is_installed_or_copied_as_the_user_of_the_server() -> None:
    """The server cannot change its own code, even where the file system can be written."""
    names = [instruction for instruction, _ in INSTRUCTIONS]

    assert max(i for i, name in enumerate(names) if name in {"COPY", "RUN"}) < names.index("USER")


def test_static_files_are_collected_when_the_image_is_built() -> None:
    """A pod has a file system that it cannot write to."""
    assert any("manage.py collectstatic" in text for text in of("RUN"))


def test_the_image_says_what_it_was_built_from() -> None:
    (labels,) = of("LABEL")
    named = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', labels))
    arguments = {text.partition("=")[0] for text in of("ARG")}

    assert set(named) == {"title", "description", "licenses", "version", "revision", "source"}
    passed = {named[name].removeprefix("$") for name in ("version", "revision", "source")}
    assert passed == {"VERSION", "REVISION", "SOURCE"}
    assert passed <= arguments


def test_compose_gives_the_image_no_more_rights_than_the_chart() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    ours = {name: one for name, one in services.items() if one["image"] == "wake"}

    assert set(ours) == {*ROLES, "migrate"}
    for one in ours.values():
        assert (one["read_only"], one["cap_drop"]) == (True, ["ALL"])
        assert one["security_opt"] == ["no-new-privileges:true"]
    # The owner of the tables connects to PostgreSQL itself, as in the chart.
    given = ours["migrate"]["environment"]
    assert (given["WAKE_DATABASE_POOLED"], given["DATABASE_DIRECT_URL"]) == ("", "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.once
@pytest.mark.system
def test_the_health_check_finds_a_server_that_lives() -> None:
    (check,) = of("HEALTHCHECK")
    python, *words = json.loads(check.partition("CMD ")[2])

    def code(port: str) -> int:
        environment = {**os.environ, "PORT": port}
        command = [sys.executable, *words]
        return subprocess.run(command, env=environment, capture_output=True).returncode

    assert python == "python"
    with served("wsgi", **PRODUCTION) as origin:
        port = origin.rpartition(":")[2]
        assert code(port) == 0
    assert code(port) != 0
