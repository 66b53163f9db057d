"""Beat goes on while the broker is away."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from wake import settings as our_settings


@pytest.fixture
def scheduler() -> Any:
    """Returns the configured scheduler. The broker refuses every job."""
    kind = import_string(our_settings.CELERY_BEAT_SCHEDULER.replace(":", "."))
    refusing = type("Refusing", (kind,), {"send_task": _refused})
    return refusing(Celery("lost", set_as_current=False), lazy=True)


def _refused(*_: Any, **__: Any) -> None:
    raise OperationalError("Connection refused")


def test_a_lost_broker_does_not_flood_the_log(
    scheduler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    entry = scheduler.Entry(name="a", task="elsewhere.job", schedule=1.0, app=scheduler.app)

    for _ in range(20):
        scheduler.apply_entry(entry)

    assert len(caplog.records) == 1, caplog.text
    assert "Beat cannot send jobs" in caplog.text
    assert "Traceback" not in caplog.text  # Celery alone writes two tracebacks for each job
    scheduler._silent_until = 0.0
    scheduler.apply_entry(entry)
    assert "21 so far" in caplog.text
