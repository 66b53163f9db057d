"""Owners download the evidence of an agent as a ZIP archive, and the operator writes it to a
folder."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import uuid
import zipfile
from copy import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Agent, AuditEvent
from accounts.sign_in.browsers.session_names import PASSWORD
from inbox.audit.evidence.archive import zipped
from inbox.audit.evidence.export import EvidenceFile
from inbox.audit.evidence.forms import WRONG_ORDER
from inbox.audit.evidence.scope import MAX_ON_PAGE
from tests.inbox.audit.evidence.opened import today
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.models import Delivery

pytestmark = pytest.mark.django_db


def days(**changes: Any) -> dict[str, str]:
    first, last = today() - timedelta(days=1), today()
    return {"first_day": str(first), "last_day": str(last), **changes}


def path_of(agent: Agent) -> str:
    return f"/agents/{agent.pk}/evidence/"


def test_an_owner_downloads_an_archive_with_every_file(
    alices: Person, agent: Agent, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)

    downloaded = alices.client.post(path_of(agent), days())

    assert downloaded["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(downloaded.getvalue())) as archive:
        assert archive.testzip() is None
        manifest = json.loads(archive.read("manifest.json"))
        hashes = {
            name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()
        }
    assert f"deliveries/{delivery.pk}/record.json" in hashes
    del hashes["manifest.json"]
    assert {file["path"]: file["sha256"] for file in manifest["files"]} == hashes
    assert AuditEvent.objects.get(event="evidence.exported").actor_name == "alice"


def test_only_owners_of_the_team_export(
    bobs: Person, ritas: Person, agent: Agent, alices: Person, elsewhere: Delivery
) -> None:
    for person in (bobs, ritas):
        assert person.get(path_of(agent)).status_code == 403
    assert alices.get(path_of(elsewhere.agent)).status_code == 404
    assert not AuditEvent.objects.filter(event="evidence.exported").exists()


def test_the_password_is_asked_for_again(alices: Person, agent: Agent) -> None:
    session = alices.client.session
    del session[PASSWORD]
    session.save()

    answers = [alices.get(path_of(agent)), alices.client.post(path_of(agent), days(), by_hand=True)]

    assert [each.status_code for each in answers] == [303, 303]
    assert all(each["Location"].startswith("/sudo/?next=") for each in answers)
    assert not AuditEvent.objects.filter(event="evidence.exported").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"first_day": "2026-13-01"}, "Enter a valid date"),
        ({"last_day": ""}, "This field is required"),
        ({"first_day": str(today()), "last_day": str(today() - timedelta(days=1))}, WRONG_ORDER),
        ({"last_day": "9999-12-31"}, "Choose a day from 1971-01-01"),
        ({"first_day": "0001-01-01"}, "Choose a day from 1971-01-01"),
    ],
)
def test_days_that_cannot_be_are_refused(
    changes: dict[str, str], words: str, alices: Person, agent: Agent
) -> None:
    refused = alices.client.post(path_of(agent), days(**changes))

    assert refused.status_code == 422
    assert words in text_of(refused)
    assert not AuditEvent.objects.filter(event="evidence.exported").exists()


def test_too_many_deliveries_are_refused_with_the_reason(
    alices: Person, agent: Agent, make_delivery: MakeDelivery
) -> None:
    first = make_delivery()
    rows = [copy(first) for _ in range(MAX_ON_PAGE)]
    for number, row in enumerate(rows, 1):
        row.pk, row.activity_at = uuid.uuid4(), first.activity_at + timedelta(microseconds=number)
    Delivery.objects.bulk_create(rows)

    refused = alices.client.post(path_of(agent), days())

    assert refused.status_code == 422
    assert "These days have more than 5,000 deliveries." in text_of(refused)


def test_an_archive_whose_export_fails_has_no_end() -> None:
    def parts() -> Any:
        yield b"x" * 10
        raise ConnectionError

    made = io.BytesIO()
    files = [EvidenceFile("one", [b"1" * 100]), EvidenceFile("two", parts())]
    with pytest.raises(ConnectionError):
        made.writelines(zipped(files))

    assert not zipfile.is_zipfile(made)


def test_the_command_writes_a_folder_that_only_the_operator_reads(
    agent: Agent, make_delivery: MakeDelivery, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    delivery = make_delivery()
    folder = tmp_path / "evidence"
    words = ["--team", agent.team.slug, "--agent", agent.agent_id]
    words += ["--from", days()["first_day"], "--to", days()["last_day"]]

    call_command("evidence", *words, str(folder))

    assert (folder / f"deliveries/{delivery.pk}/record.json").exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "manifest.json").stat().st_mode) == 0o600
    assert "manifest.json lists them" in capsys.readouterr().err
    assert AuditEvent.objects.get(event="evidence.exported").actor_kind == "operator"
    with pytest.raises(CommandError, match="File exists"):
        call_command("evidence", *words, str(folder))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"--agent": "nobody"}, "There is no agent 'nobody'"),
        ({"--team": "nobody"}, "in a team 'nobody'"),
        ({"--to": "2020-01-01"}, "--to is before --from"),
        ({"--from": "yesterday"}, "invalid"),
    ],
)
def test_the_command_says_what_is_wrong(
    changes: dict[str, str], reason: str, agent: Agent, tmp_path: Path
) -> None:
    given = {
        "--team": agent.team.slug,
        "--agent": agent.agent_id,
        "--from": days()["first_day"],
        "--to": days()["last_day"],
        **changes,
    }
    words = [word for pair in given.items() for word in pair]

    with pytest.raises(CommandError, match=reason):
        call_command("evidence", *words, str(tmp_path / "evidence"))

    assert not (tmp_path / "evidence").exists()
