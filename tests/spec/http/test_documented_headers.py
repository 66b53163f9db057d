"""The OpenAPI document names each header that an answer has besides the ordinary headers, and the
server sends each header that the document names."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected

from accounts.agents import gates, keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, MovedKey, Team, TeamMove
from database.clock import database_now
from tests.fixtures.agent_client import AgentClient
from tests.types import Answer
from wake.api.openapi import HEADERS, openapi

DELIVERIES = {"deliver", "batch"}  # every other operation counts as a read
PUBLIC = {"capabilities"}


class Observer:
    """Sends requests by the name of their operation, and keeps which headers the answers have."""

    def __init__(self, caller: AgentClient) -> None:
        self.caller = caller
        self.sent: dict[tuple[str, str], list[set[str]]] = defaultdict(list)
        self.operations = {
            operation["operationId"]: (path, method, operation["responses"])
            for path, item in openapi()["paths"].items()
            for method, operation in item.items()
        }

    def send(
        self, name: str, body: Any = None, *, pk: str = "17", method: str = "", **headers: str
    ) -> Any:
        path, documented, _ = self.operations[name]
        answer = self.caller.client.generic(
            (method or documented).upper(),
            path.format(delivery_id=pk),
            json.dumps(body) if body is not None else "",
            content_type="application/json",
            headers={**self.caller.headers, **headers},
        )
        # Views of DRF send Allow with every answer. The header says something new only with a 405.
        ordinary = set() if answer.status_code == 405 else {"Allow"}
        sent = {header for header in HEADERS if header in answer.headers} - ordinary
        self.sent[name, str(answer.status_code)].append(sent)
        return answer


@pytest.fixture
def observer(caller: AgentClient) -> Observer:
    return Observer(caller)


def fail_for_keys(execute: Any, sql: str, *rest: Any) -> Any:
    """Fails each statement about a key as if another transaction held the lock."""
    if ApiKey._meta.db_table in sql:
        raise OperationalError from DeadlockDetected()
    return execute(sql, *rest)


def observe_successes(observer: Observer, answer: Answer, gate: str) -> None:
    """Sends a request that succeeds to each operation, and again if it can be replayed."""
    payload = observer.caller.payload(digest=True, receipt=True)
    receipts = [observer.send("deliver", payload, **{"Idempotency-Key": "a"}) for _ in range(2)]
    receipt = receipts[0].json()
    pk = receipt["delivery_id"]
    answer(pk)
    observer.send("batch", {"deliveries": [payload]})
    for _ in range(2):
        observer.send("upload", "a file")
        observer.send("claim", {"digest": receipt["digest"]}, pk=pk, **{"Idempotency-Key": "b"})
        observer.send("outcome", {"status": "done"}, pk=pk, **{"Idempotency-Key": "c"})
    observer.send("claim_status", pk=pk, Authorization=f"Bearer {gate}")
    observer.send("receipt", pk=pk)
    observer.send("response", pk=pk)
    observer.send("responses")
    observer.send("withdraw", pk=observer.caller.deliver())
    observer.send("capabilities")


def observe_errors(observer: Observer, settings: Any) -> None:
    """Sends each operation a request that is refused for each reason that has headers."""
    payload = observer.caller.payload()
    bodies = {"deliver": payload, "batch": {"deliveries": [payload], "atomic": True}}
    for name in observer.operations:
        observer.send(name, method="put")
        if name not in PUBLIC:
            observer.send(name, Authorization="")
    for name in observer.operations.keys() - PUBLIC:
        with transaction.atomic(), connection.execute_wrapper(fail_for_keys):
            observer.send(name, bodies.get(name, "a file"))
            transaction.set_rollback(True)
    settings.WAKE_QUOTA_LIVE = (1, 1)
    observer.send("deliver", payload)
    for name in [*DELIVERIES, "upload"]:
        observer.send(name, bodies.get(name, "another file"))
    settings.WAKE_READS_PER_MINUTE = 0
    for name in observer.operations.keys() - PUBLIC - DELIVERIES:
        observer.send(name)


def observe_a_move(observer: Observer, team: Team) -> None:
    """Sends each operation a request of a team that has moved to another server."""
    at = database_now()
    move = TeamMove.objects.create(
        team=team, state="left", slug=team.slug, name=team.name, server="https://b", began_at=at
    )
    key, text = keys.mint(observer.caller.key.agent, by=SYSTEM)
    keys.revoke(key, by=SYSTEM, at=at)
    MovedKey.objects.create(digest=key.digest, move=move)
    for name in observer.operations.keys() - PUBLIC:
        observer.send(name, Authorization=f"Bearer {text}")


def test_the_server_sends_exactly_the_headers_of_the_document(
    observer: Observer, answer: Answer, agent: Agent, team: Team, settings: Any
) -> None:
    _, gate = gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())

    observe_successes(observer, answer, gate)
    observe_errors(observer, settings)
    observe_a_move(observer, team)

    for name, (_, _, responses) in observer.operations.items():
        for code, response in responses.items():
            headers = response.get("headers", {})
            sent = observer.sent[name, code]
            assert sent or not headers, f"No answer of {name} was a {code}"
            assert set().union(*sent) == set(headers), f"{name} {code}"
            required = {header for header, about in headers.items() if about.get("required")}
            assert all(required <= each for each in sent), f"{name} {code}"
    assert observer.sent.keys() <= {
        (name, code)
        for name, (_, _, responses) in observer.operations.items()
        for code in responses
    }


def test_the_document_names_the_server(observer: Observer, settings: Any) -> None:
    assert openapi()["servers"] == [{"url": settings.WAKE_ORIGIN}]


def test_every_operation_documents_the_errors_that_come_before_its_key(
    observer: Observer,
) -> None:
    for name, (_, _, responses) in observer.operations.items():
        assert {"400", "403", "405", "408", "413", "500"} <= responses.keys(), name
