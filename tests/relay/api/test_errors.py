"""A caller over A2A gets a plain error when the server fails."""

from __future__ import annotations

import logging

import pytest
from django.db import OperationalError

from database.encryption import Unreadable
from relay.api import errors


@pytest.mark.parametrize(
    ("fault", "after"),
    [(OperationalError("connection to 10.0.0.7 refused"), "2"), (Unreadable("key 3"), "60")],
)
def test_a_temporary_error_says_that_it_is_temporary(fault: Exception, after: str) -> None:
    response = errors.refuse("req-1", fault)

    assert response.status_code == 503
    assert response["Retry-After"] == after
    assert b'"id":"req-1"' in response.content
    assert b'"code":-32603' in response.content
    assert str(fault).encode() not in response.content


def test_an_unexpected_error_is_logged_and_hidden_from_the_caller(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = errors.refuse(7, ZeroDivisionError("the secret"))

    assert response.status_code == 200
    assert b'"code":-32603' in response.content
    assert b"secret" not in response.content
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.ERROR, "relay.api.errors")
    assert record.exc_info
