"""No line of the log has a word that an agent or a person wrote, in either format and at every
level, even if the database refuses what a request writes and quotes it. Neither has what Sentry
gets."""

from __future__ import annotations

import io
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from typing import Any

import pytest
import sentry_sdk
from celery import current_app
from django.db import DataError, connection, transaction
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from accounts.audit import SYSTEM
from accounts.models import Team, User
from relay.cards import callers
from relay.models import CallerKey
from tests.fixtures.letters import failing_mail
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData, build
from tests.tenancy.test_other_teams import ELSEWHERE, both_ways, fields, names_in_forms
from tests.wake.callbacks.receiver import Receiver, answering
from wake.models import Callback, Delivery
from wake.server.telemetry import sentry
from wake.server.telemetry.filters import LibrariesFromInfo
from wake.server.telemetry.json_lines import JsonFormatter
from wake.server.telemetry.lines import LineFormatter

pytestmark = pytest.mark.slow

MARK = "saffroninthesafe"
WRITES = ("INSERT", "UPDATE", "DELETE", "WITH")


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Collects what every logger of the server writes, in both formats, and what Sentry gets."""
    stream = io.StringIO()

    class Collecting(Transport):
        def capture_envelope(self, envelope: Envelope) -> None:
            stream.write(envelope.serialize().decode())

    sentry.start("http://public@127.0.0.1:9/7", transport=Collecting)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    handlers = []
    for formatter in (LineFormatter(), JsonFormatter()):
        handlers.append(handler := logging.StreamHandler(stream))
        handler.setFormatter(formatter)
        handler.addFilter(LibrariesFromInfo())
        root.addHandler(handler)
    yield stream
    sentry_sdk.get_global_scope().set_client(None)
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)


@pytest.fixture
def marked(team: Team, alice: User, bob: User, rita: User, receiver: Receiver) -> TeamData:
    """Returns a team all of whose content has the mark. Its receiver quotes what it gets."""
    data = build(team, words=MARK)
    User.objects.filter(pk=alice.pk).update(is_staff=True, is_superuser=True)
    url = f"{receiver.url}?{MARK}"
    Delivery.objects.update(callback_webhook=url)
    Callback.objects.update(url=url, host=f"127.0.0.1:{receiver.port}")
    receiver.usual = _quote
    return data


def _quote(request: BaseHTTPRequestHandler) -> None:
    answering(500, f"Cannot POST {request.path}".encode())(request)


def quoting(execute: Callable[..., Any], sql: str, params: Any, *rest: Any) -> Any:
    """Refuses each write as a database does that quotes the row."""
    if sql.lstrip().startswith(WRITES):
        raise DataError(f"Failing row contains ({MARK}, {params}).")
    return execute(sql, params, *rest)


def refusing() -> AbstractContextManager[None]:
    return connection.execute_wrapper(quoting)


# A database that works, and one that refuses all writes.
DATABASES: list[Callable[[], AbstractContextManager[None]]] = [nullcontext, refusing]


def test_no_page_logs_content(
    lines: io.StringIO, alice: User, marked: TeamData, subtests: pytest.Subtests
) -> None:
    form = {**dict.fromkeys(names_in_forms(), MARK), **fields(marked)}
    form |= dict.fromkeys(("feedback", "name", "text", "username", "password", "q"), MARK)
    alice.refresh_from_db()
    failed = 0

    for address in [*addresses.WITH_AN_OBJECT, *addresses.WITHOUT, *addresses.OF_ADMIN]:
        if address.route in ELSEWHERE:
            continue
        with subtests.test(address.route):
            for database in DATABASES:
                with transaction.atomic():
                    browser = Person(alice).client
                    browser.raise_request_exception = False
                    with database():
                        answers = both_ways(browser, f"{address.path_in(marked)}?q={MARK}", form)
                        failed += sum(answer.status_code >= 500 for answer in answers)
                    transaction.set_rollback(True)
            assert MARK not in lines.getvalue()
    assert failed > 40
    assert lines.getvalue().count('"platform":"python"') >= failed


# These refuse the mark itself: as a digest, a path, a client's key, or a signature.
REFUSED = ("claim", MARK, "people", "push", "oauth/token", "oauth/device", "slack")


def bodies(data: TeamData) -> dict[str, Any]:
    """Returns what machines send, by path."""
    delivery = {
        "agent_id": data.agent.agent_id,
        "provider": MARK,
        "type": "question",
        "headline": MARK,
        "summary": MARK,
        "details": {"title": MARK},
        "callback_webhook": f"https://{MARK}.example.com/{MARK}",
        "thread": MARK,
    }
    tool = {"name": "ask", "arguments": delivery}
    part, message = {"text": MARK}, {"messageId": MARK, "metadata": {MARK: MARK}}
    newer = message | {"role": "ROLE_USER", "parts": [part]}
    older = message | {"role": "user", "parts": [part | {"kind": "text"}]}
    call = {"jsonrpc": "2.0", "id": MARK}
    agent = f"/@{data.team.slug}/{data.agent.agent_id}"
    frames = [{"type": "hello", "protocol": 1, "instance_id": MARK}, {"type": MARK}]
    return {
        "/wake/v1/deliver": delivery,
        "/wake/v1/deliveries": {"deliveries": [delivery, delivery | {"type": MARK}]},
        f"/wake/v1/withdraw/{data.delivery.pk}": {"reason": MARK},
        f"/wake/v1/outcome/{data.response.delivery_id}": {"status": "failed", "summary": MARK},
        f"/wake/v1/claim/{data.response.delivery_id}": {"digest": MARK},
        "/wake/v1/blobs": {"file": MARK},
        f"/wake/v1/{MARK}": {},
        "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool},
        "/mcp/people": {"jsonrpc": "2.0", "id": 1, "method": MARK},
        f"{agent}?1.0": call | {"method": "SendMessage", "params": {"message": newer}},
        f"{agent}?0.3": call | {"method": "message/send", "params": {"message": older}},
        f"{agent}?push": {"task": {"id": MARK, "contextId": MARK, "status": {"state": MARK}}},
        "/connect/v1/poll": {"frames": frames},
        "/csp-reports": {"csp-report": {"blocked-uri": f"https://a/{MARK}", "document-uri": MARK}},
        "/oauth/token": {"grant_type": MARK, "code": MARK},
        "/oauth/register": {"client_name": MARK, "redirect_uris": [f"https://a/{MARK}"]},
        "/oauth/device": {"client_id": MARK},
        "/slack/interactions": {"payload": MARK},
    }


def test_no_request_of_a_machine_logs_content(
    lines: io.StringIO, marked: TeamData, subtests: pytest.Subtests
) -> None:
    _, caller_text = callers.mint(marked.team, name=MARK, by=SYSTEM)
    marked.card.callers.set(CallerKey.objects.all())
    statuses: dict[str, set[int]] = defaultdict(set)

    for path, body in bodies(marked).items():
        whole = json.dumps(body)
        texts = (whole, whole[:-2], whole.replace('"type": "question"', '"type": 1'))
        key = caller_text if path.startswith("/@") else marked.key_text
        with subtests.test(path):
            for database in DATABASES:
                for text in texts:
                    with transaction.atomic():
                        with database():
                            statuses[path].add(_post(path, text, key=key))
                        transaction.set_rollback(True)
            assert MARK not in lines.getvalue()
    accepted = [path for path, seen in statuses.items() if min(seen) < 400]
    assert len(accepted) == len(statuses) - len(REFUSED), accepted
    assert sum(500 in seen for seen in statuses.values()) > 5


def _post(path: str, text: str, *, key: str) -> int:
    client = Client(raise_request_exception=False, sends_tokens=False)
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": MARK}
    if path.startswith("/@"):
        headers["A2A-Version"] = path.partition("?")[2].replace("push", "1.0")
    answer = client.post(path, text, content_type="application/json", headers=headers)
    return answer.status_code


def test_no_job_logs_content(
    lines: io.StringIO, marked: TeamData, subtests: pytest.Subtests
) -> None:
    Callback.objects.update(due_at=marked.callback.created_at)
    error = ConnectionRefusedError("refused")

    for job in current_app.conf.beat_schedule:
        import_module(job.rpartition(".")[0])
        with subtests.test(job):
            for database in DATABASES:
                with transaction.atomic():
                    with failing_mail(error), database():
                        current_app.tasks[job].apply()
                    transaction.set_rollback(True)
            assert MARK not in lines.getvalue()
    assert lines.getvalue().count("raised unexpected") > 10
