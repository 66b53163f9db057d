"""What a call over A2A is told when the fault is ours."""

from __future__ import annotations

import logging

import pytest
from django.db import OperationalError

from accounts.encryption import Unreadable
from relay import errors


@pytest.mark.parametrize(
    ("fault", "after"),
    [(OperationalError("connection to 10.0.0.7 refused"), "2"), (Unreadable("key 3"), "60")],
)
def test_what_passes_is_said_to_pass(fault: Exception, after: str) -> None:
    response = errors.refuse("req-1", fault)

    assert response.status_code == 503
    assert response["Retry-After"] == after
    assert b'"id":"req-1"' in response.content
    assert b'"code":-32603' in response.content
    assert str(fault).encode() not in response.content


def test_what_nobody_expected_is_noted_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    response = errors.refuse(7, ZeroDivisionError("the secret"))

    assert response.status_code == 200
    assert b'"code":-32603' in response.content
    assert b"secret" not in response.content
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.ERROR, "relay.errors")
    assert record.exc_info
