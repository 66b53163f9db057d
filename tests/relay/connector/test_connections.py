"""A connector connects by a WebSocket or by polling."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.db import OperationalError
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import ApiKey
from database import notifications
from relay.connector.session import ConnectorSession
from relay.models import CallerKey, Card, Connector, Task
from tests.fixtures import wrapped
from tests.fixtures.long_polls import Clock, wait_by
from tests.fixtures.strict_client import Client
from tests.relay.fake_connector import Frame, ask, now, of
from wake.api import long_poll
from wake.asgi import application

State = Task.State
HELLO = '{"type": "hello", "protocol": 1, "instance_id": "i-1"}'


# Over a WebSocket ---------------------------------------------------------------------------------


@async_to_sync
async def knock(path: str = "/connect/v1", **headers: str) -> tuple[bool, Any]:
    """Says whether the relay accepted the connection, and what the relay sent after a hello: the
    type of its frame, or the code with which it closed."""
    named = [(b"host", b"testserver")]
    named += [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {
        **{"type": "websocket", "path": path, "query_string": b"", "headers": named},
        **{"client": ("127.0.0.1", 5), "subprotocols": []},
    }
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    if (await socket.receive_output(10))["type"] == "websocket.close":
        return False, None
    await socket.send_input({"type": "websocket.receive", "text": HELLO})
    output = await socket.receive_output(10)
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(10)
    return True, output.get("code") or json.loads(output["text"])["type"]


@pytest.mark.django_db(transaction=True)
def test_a_key_opens_the_socket_and_hello_is_welcomed(card: Card, key: ApiKey) -> None:
    text = key.text  # type: ignore[attr-defined]

    assert knock(authorization=f"Bearer {text}") == (True, "welcome")

    assert Connector.objects.get().left_at is not None


@pytest.mark.django_db(transaction=True)
def test_browsers_cannot_open_the_socket(card: Card, key: ApiKey) -> None:
    """A page of another site could make its reader's browser open a socket."""
    text = key.text  # type: ignore[attr-defined]

    assert knock(authorization=f"Bearer {text}", origin="https://wake.example.com") == (False, None)


@pytest.mark.django_db(transaction=True)  # Django checks its connections after each request
def test_other_socket_paths_are_refused() -> None:
    assert knock("/connect/v2") == (False, None)


@pytest.mark.django_db(transaction=True)
def test_a_socket_without_a_live_key_is_closed_at_once(card: Card, key: ApiKey) -> None:
    _, test = keys.mint(card.agent, by=SYSTEM, mode=ApiKey.Mode.TEST)
    keys.revoke(key, by=SYSTEM, at=timezone.now())
    revoked = key.text  # type: ignore[attr-defined]

    for given in (
        f"Bearer {test}",
        f"Bearer {revoked}",
        "Bearer wk_live_x",
        f"Basic {revoked}",
        "",
    ):
        assert knock(authorization=given) == (True, 4401), given


@pytest.mark.django_db(transaction=True)
def test_bad_keys_are_counted_and_a_good_one_gets_in(card: Card, key: ApiKey) -> None:
    """The socket used to accept any number of guesses, even after the REST edge had refused
    more."""
    text = key.text  # type: ignore[attr-defined]
    client = Client()
    refused = [
        client.get("/wake/v1/responses", headers={"Authorization": "Bearer x"}).status_code
        for _ in range(61)
    ]
    assert refused[-1] == 429

    assert knock(authorization="Bearer wk_live_x") == (True, 1013)
    assert knock(authorization=f"Bearer {text}") == (True, "welcome")


@pytest.mark.django_db(transaction=True)
def test_an_idle_connector_is_woken_by_a_task_and_does_not_look_for_it(
    card: Card, caller_key: CallerKey, key: ApiKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A connector's session also looks for runs from time to time. Without this patch, the test
    # would not notice that a notification was lost.
    monkeypatch.setattr(notifications, "pause_seconds", lambda: 3_600.0)

    with wrapped.counted(ConnectorSession, "look") as looks:
        frame = idle_until(lambda: ask(card, caller_key, at=timezone.now()), key)

    assert frame["type"] == "task"
    assert len(looks) <= 4  # before hello, after hello, for the new task, and for the task's change


@async_to_sync
async def idle_until(happens: Callable[[], Any], key: ApiKey) -> Any:
    """Calls `happens`, and returns the frame that a connector then gets."""
    named = [(b"host", b"testserver"), (b"authorization", f"Bearer {key.text}".encode())]  # type: ignore[attr-defined]
    scope = {
        **{"type": "websocket", "path": "/connect/v1", "query_string": b"", "headers": named},
        **{"client": ("127.0.0.1", 5), "subprotocols": []},
    }
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    await socket.receive_output(10)
    await socket.send_input({"type": "websocket.receive", "text": HELLO})
    assert json.loads((await socket.receive_output(10))["text"])["type"] == "welcome"
    await sync_to_async(happens)()
    output = await socket.receive_output(10)
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(10)
    return json.loads(output["text"])


# Over HTTP ----------------------------------------------------------------------------------------


class Polls:
    """Imitates `wake connect` on a network that blocks WebSockets."""

    def __init__(self, key: ApiKey, instance_id: str = "i-1") -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {
            "Authorization": f"Bearer {key.text}",  # type: ignore[attr-defined]
            "X-Wake-Instance": instance_id,
        }
        self.hello = {"type": "hello", "protocol": 1, "instance_id": instance_id}

    def post(self, *frames: Any, wait: int = 0, **headers: str) -> Any:
        return self.client.post(
            f"/connect/v1/poll?wait={wait}",
            json.dumps({"frames": frames}),
            content_type="application/json",
            headers=self.headers | headers,
        )

    def poll(self, *frames: Any, wait: int = 0) -> list[Frame]:
        answer = self.post(*frames, wait=wait)
        assert answer.status_code == 200, answer.content
        connectors: list[Frame] = answer.json()["frames"]
        return connectors


@pytest.fixture
def polls(key: ApiKey) -> Polls:
    return Polls(key)


def test_polling_exchanges_the_same_frames(card: Card, caller_key: CallerKey, polls: Polls) -> None:
    task = ask(card, caller_key, at=timezone.now())

    welcome, frame = polls.poll(polls.hello)
    polls.poll({"type": "ack", **of(frame)})
    working = now(task).state
    done = polls.poll({"type": "result", **of(frame), "state": "completed", "text": "Ten."})

    assert (welcome["type"], frame["taskId"]) == ("welcome", str(task.pk))
    assert (working, now(task).state) == (State.WORKING, State.COMPLETED)
    assert done == [{"type": "done", "dispatch_id": frame["dispatch_id"]}]
    assert Connector.objects.get().transport == "poll"


def test_a_poll_waits_until_there_is_something(
    card: Card, caller_key: CallerKey, polls: Polls, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls.poll(polls.hello)
    clock = Clock(lambda: ask(card, caller_key, at=timezone.now()), at_pause=3)
    wait_by(clock, monkeypatch)

    (frame,) = polls.poll(wait=25)

    assert (frame["type"], clock.waited) == ("task", 3 * long_poll.STEP_SECONDS)


def test_a_poll_of_an_unknown_connector_asks_it_to_say_hello(
    card: Card, key: ApiKey, polls: Polls
) -> None:
    assert polls.post().status_code == 409

    polls.poll(polls.hello)

    assert polls.post().status_code == 200
    assert Polls(key, "another").post().status_code == 409


def test_a_poll_is_refused_like_a_socket(card: Card, key: ApiKey, polls: Polls) -> None:
    assert polls.post({"type": "hello", "protocol": 9}).status_code == 400
    assert polls.post(polls.hello, Origin="https://elsewhere.example").status_code == 403
    assert polls.post(polls.hello, Authorization="Bearer no").status_code == 401
    polls.poll(polls.hello)

    keys.revoke(key, by=SYSTEM, at=timezone.now())

    assert polls.post().status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        *(b"[]", b"{}", b'{"frames": 7}', b'{"frames": "aa"}', b'{"frames": {"type": 1}}', b"\xff"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(json.dumps({"frames": [{"type": "pong"}] * 1_001}).encode(), id="many"),
    ],
)
def test_an_unreadable_poll_is_refused(card: Card, polls: Polls, body: bytes) -> None:
    answer = polls.client.post(
        "/connect/v1/poll", body, content_type="application/json", headers=polls.headers
    )

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed")


def test_a_poll_that_is_too_long_is_refused(card: Card, polls: Polls, settings: Any) -> None:
    settings.WAKE_MAX_A2A_BYTES = 1_000

    assert polls.post({"type": "heartbeat", "padding": "x" * 1_000}).status_code == 413


@pytest.mark.parametrize("wait", ["soon", "-1", "1.5", "\u0661"])
def test_an_invalid_wait_is_refused(card: Card, polls: Polls, wait: Any) -> None:
    assert polls.post(polls.hello, wait=wait).status_code == 400


def test_a_poll_has_no_cookies_and_leads_nowhere(card: Card, polls: Polls) -> None:
    answer = polls.client.post(
        "/connect/v1/poll/",
        json.dumps({"frames": [polls.hello]}),
        content_type="application/json",
        headers=polls.headers,
    )

    assert (answer.status_code, dict(answer.cookies)) == (200, {})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("error", "code"), [(OperationalError("away"), 1013), (LookupError("a slip of ours"), 1011)]
)
def test_a_failing_session_closes_so_that_the_connector_reconnects(
    card: Card, key: ApiKey, error: Exception, code: int
) -> None:
    text = key.text  # type: ignore[attr-defined]

    with wrapped.failing(ConnectorSession, "read", error):
        assert knock(authorization=f"Bearer {text}") == (True, code)


def test_a_key_names_its_agent(card: Card, key: ApiKey, polls: Polls) -> None:
    answer = polls.client.get("/connect/v1/agent", headers=polls.headers)

    assert answer.json() == {"agent": card.agent.agent_id, "id": str(card.agent.pk)}
    assert answer["Cache-Control"] == "no-store"
    assert polls.client.get("/connect/v1/agent").status_code == 401


def test_asking_for_the_agent_counts_as_a_read(card: Card, polls: Polls, settings: Any) -> None:
    settings.WAKE_READS_PER_MINUTE = 2
    ask = partial(polls.client.get, "/connect/v1/agent", headers=polls.headers)

    assert [ask().status_code for _ in range(3)] == [200, 200, 429]
