"""With WAKE_LOG=json, every line of the log is one JSON object."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery.signals import task_success

from database.uuids import NIL
from tests.wake.server.up import ROOT
from wake import jobs
from wake.api import log_context
from wake.api.log_context import LogFacts
from wake.server.run import roles
from wake.server.run.supervisor import json_line
from wake.server.telemetry.json_lines import EXTRA, JsonFormatter

AT = datetime(2026, 11, 27, 9, 30, 0, 120_000, UTC).timestamp()


def formatted(**extra: Any) -> Any:
    record = logging.getLogger("wake").makeRecord(
        "wake.jobs", logging.WARNING, "", 1, "It happened", (), None, extra=extra
    )
    record.created = AT
    return json.loads(JsonFormatter().format(record))


@pytest.fixture
def facts() -> Iterator[LogFacts]:
    facts = LogFacts("abc", key="wk_live_ab…yz", team=7, delivery_id=NIL)
    token = log_context.begin(facts)
    yield facts
    log_context.end(token)


def test_a_line_has_its_time_in_utc_level_and_logger() -> None:
    assert formatted() == {
        "time": "2026-11-27T09:30:00.120Z",
        "level": "WARNING",
        "logger": "wake.jobs",
        "message": "It happened",
    }


def test_a_line_has_what_is_known_of_its_request(facts: LogFacts) -> None:
    known = {"request_id": "abc", "delivery_id": str(NIL), "key": "wk_live_ab…yz", "team": 7}

    assert formatted().items() >= known.items()


def test_a_line_that_names_a_delivery_has_this_one(facts: LogFacts) -> None:
    assert formatted(**{EXTRA: {"delivery_id": "other"}})["delivery_id"] == "other"


def test_members_that_others_add_to_a_record_are_left_out() -> None:
    """Celery adds the arguments of a job."""
    assert "saffron" not in json.dumps(formatted(data={"args": "saffron"}, key="saffron"))


def test_a_line_stays_one_line() -> None:
    record = logging.getLogger("wake").makeRecord(
        "wake", logging.ERROR, "", 1, "one\ntwo\u2028three", (), None
    )

    assert len(JsonFormatter().format(record).splitlines()) == 1


def test_what_a_program_prints_becomes_a_line() -> None:
    line = json.loads(json_line("web", "Listening"))

    assert datetime.fromisoformat(line.pop("time")).tzinfo == UTC
    assert line == {"level": "INFO", "logger": "wake.up.web", "message": "Listening"}
    assert json.loads(json_line("", "Stopping."))["logger"] == "wake.up"


def test_a_line_of_the_log_stays_as_it_is() -> None:
    assert json_line("web", '{"time": "now"}') == '{"time": "now"}'


@pytest.mark.django_db
def test_a_job_has_its_name_and_an_id_of_its_own() -> None:
    jobs_seen: list[LogFacts] = []

    def see(**_: Any) -> None:
        jobs_seen.append(log_context.current())

    task_success.connect(see)
    ids = [jobs.time_out_overdue.apply().id for _ in range(2)]

    assert [facts.job for facts in jobs_seen] == ["wake.jobs.time_out_overdue"] * 2
    assert [facts.request_id for facts in jobs_seen] == ids
    assert log_context.current() == LogFacts()


def test_granians_own_processes_write_the_same_lines() -> None:
    code = (
        "import granian.log, json, sys; "
        "granian.log.configure_logging('info', json.load(open(sys.argv[1]))); "
        "granian.log.logger.info('Listening')"
    )
    command = [sys.executable, "-c", code, str(roles.JSON_LOG)]

    written = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stderr

    assert json.loads(written)["message"] == "Listening"
