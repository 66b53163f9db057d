"""A worker that drops many expired jobs logs this once."""

from __future__ import annotations

import logging
import logging.config
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from celery.worker.request import Request

from wake import settings as our_settings

pytestmark = pytest.mark.once


@pytest.fixture
def configured(caplog: pytest.LogCaptureFixture) -> Any:
    """Adds the filters that the settings name to Celery's logger."""
    logger = logging.getLogger("celery.worker.request")
    loggers, filters = our_settings.LOGGING["loggers"], our_settings.LOGGING["filters"]
    names = loggers["celery.worker.request"]["filters"]  # type: ignore[index]
    added = [
        logging.config.DictConfigurator({}).configure_filter(dict(filters[name]))  # type: ignore[index]
        for name in names
    ]
    before, logger.filters = logger.filters, added
    with caplog.at_level(logging.INFO, logger.name):
        yield logger
    logger.filters = before


def _nothing() -> None:
    pass


def drop(app: Celery, name: str = "elsewhere.job") -> None:
    """Lets a worker find a job that expired."""
    app.task(name=name)(_nothing)
    expired = datetime.now(UTC) - timedelta(seconds=1)
    sent = app.amqp.as_task_v2("an-id", name, expires=expired)
    message = SimpleNamespace(
        headers=sent.headers,
        properties=sent.properties,
        body=sent.body,
        payload=sent.body,
        delivery_info={},
        content_type="application/json",
        content_encoding="utf-8",
        acknowledged=False,
        ack_log_error=lambda *_: None,
        reject_log_error=lambda *_: None,
    )
    request = Request(message, app=app, task=app.tasks[name], body=sent.body, decoded=True)
    assert request.revoked()


def test_dropped_jobs_are_one_line_a_minute(
    configured: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = Celery("expired", set_as_current=False)

    for _ in range(20):
        drop(app)

    assert len(caplog.records) == 1, caplog.text
    assert "drops jobs that waited for too long, 1 so far" in caplog.text
    assert "Discarding revoked task" not in caplog.text
    configured.filters[0]._silent_until = 0.0
    drop(app)
    assert "21 so far" in caplog.text


def test_other_lines_stay(configured: Any, caplog: pytest.LogCaptureFixture) -> None:
    configured.info("Hard time limit (%ss) exceeded for %s", 60, "elsewhere.job")

    assert "Hard time limit (60s) exceeded" in caplog.text
