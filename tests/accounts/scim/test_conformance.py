"""A foreign peer, scim2-tester, finds nothing that departs from the RFCs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test.client import ClientHandler
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

from tests.accounts.scim.directory_client import TOKEN, Directory

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answers inside the transaction of the test."""
    answer: Any = ClientHandler()(environ)
    start_response(f"{answer.status_code} {answer.reason_phrase}", list(answer.items()))
    return [answer.content]


def test_scim2_tester_finds_no_fault(directory: Directory) -> None:
    client = WSGISCIMClient(
        application,
        base_url="http://testserver/scim/v2",
        headers={"Authorization": f"Bearer {TOKEN}"},
    )

    results = check_server(client)

    faults = [
        f"{result.resource_type} {result.title}: {result.reason}"
        for result in results
        if result.status in {Status.ERROR, Status.CRITICAL}
    ]
    assert not faults, "\n".join(faults)
    assert sum(result.status == Status.SUCCESS for result in results) > 50
