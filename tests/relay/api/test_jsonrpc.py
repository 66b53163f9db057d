"""Both versions follow JSON-RPC 2.0, with and without a trailing slash."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.audit import SYSTEM
from accounts.models import Agent
from relay.api import methods
from relay.cards.publishing import publish
from relay.models import Card
from tests.relay.calling import Caller
from tests.relay.streams.listening import Event, read


@pytest.fixture
def public(agent: Agent) -> Card:
    return publish(agent, by=SYSTEM, at=timezone.now(), access=Card.Access.PUBLIC)


@pytest.fixture
def caller(public: Card) -> Caller:
    return Caller(public)


GOOD = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('{"jsonrpc": "2.0", "method": "GetTask", "params": {"id"', -32700),
        ("", -32700),
        ('{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "GetTask"}', -32700),
        ('{"jsonrpc": "2.0", "id": NaN, "method": "GetTask"}', -32700),
        (b'{"jsonrpc": "2.0", "method": "\xff"}', -32700),
        pytest.param("[" * 100_000, -32700, id="deep"),
        ("null", -32600),
        ('"GetTask"', -32600),
        ({}, -32600),
        ([], -32600),
        ([GOOD], -32600),
        (GOOD | {"jsonrpc": "1.0"}, -32600),
        (GOOD | {"jsonrpc": 2.0}, -32600),
        (GOOD | {"method": ""}, -32600),
        (GOOD | {"method": 7}, -32600),
        (GOOD | {"id": True}, -32600),
        (GOOD | {"id": {"bad": 1}}, -32600),
        (GOOD | {"id": [1]}, -32600),
        (GOOD | {"method": "GetTasks"}, -32601),
        (GOOD | {"method": "tasks/get"}, -32601),
        (GOOD | {"params": None}, -32602),
        (GOOD | {"params": "none"}, -32602),
        (GOOD | {"params": []}, -32602),
        (GOOD | {"params": {}}, -32602),
        (GOOD, -32001),
    ],
)
def test_every_error_has_its_code_and_comes_with_200(
    body: Any, code: int, slash: str, caller: Caller
) -> None:
    response = caller.post(body, path=caller.path + slash)

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json()["jsonrpc"] == "2.0"
    assert response.json()["error"]["code"] == code


@pytest.mark.parametrize("id", [1, 0, -7, 1.5, "", "req-1", "🪴" * 1_024, None, 2**62])
def test_ids_are_echoed(id: Any, caller: Caller) -> None:
    answer = caller.post(GOOD | {"id": id}).json()

    assert answer["id"] == id
    assert type(answer["id"]) is type(id)


@pytest.mark.parametrize("id", [True, False, {}, [], "x" * 1_025])
def test_an_invalid_id_is_answered_under_null(id: Any, caller: Caller) -> None:
    answer = caller.post(GOOD | {"id": id}).json()

    assert answer["id"] is None
    assert answer["error"]["code"] == -32600


def test_a_query_of_too_many_fields_is_an_error_of_the_caller(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"{caller.path}?{'a=1&' * 1_001}"

    answer = caller.post(GOOD, path=path, A2A_Version="").json()

    assert (answer["id"], answer["error"]["code"]) == (1, -32600)
    assert caplog.text == ""


def test_a_request_without_an_id_is_answered_all_the_same(caller: Caller) -> None:
    request = {name: GOOD[name] for name in ("jsonrpc", "method", "params")}

    refused = caller.post(request | {"jsonrpc": "aaa"}).json()
    answered = caller.post(request | {"method": "SendMessage", "params": caller.sending()}).json()

    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert answered["id"] is None
    assert answered["result"]["task"]["id"]


@pytest.mark.parametrize(
    ("method", "params", "code", "reason"),
    [
        ("GetTask", {"id": "none"}, -32001, "TASK_NOT_FOUND"),
        ("SubscribeToTask", {"id": "none"}, -32004, "UNSUPPORTED_OPERATION"),
        ("SendStreamingMessage", {}, -32004, "UNSUPPORTED_OPERATION"),
        ("GetExtendedAgentCard", {}, -32004, "UNSUPPORTED_OPERATION"),
    ],
)
def test_errors_of_a2a_name_their_reason(
    method: str, params: Any, code: int, reason: str, caller: Caller
) -> None:
    error = caller.error(method, params)

    assert error["code"] == code
    assert error["data"] == [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
            "metadata": {},
        }
    ]


def test_a_validation_error_names_the_member(caller: Caller) -> None:
    message = caller.message() | {"parts": [{"text": "Hello"}, {"raw": "not base64"}]}

    error = caller.error("SendMessage", {"message": message})

    assert error["code"] == -32602
    assert error["data"] == [
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [
                {"field": "message.parts[1].raw", "description": "Must be base64."}
            ],
        }
    ]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "image/png", ""]
)
def test_a_body_without_a_json_content_type_is_refused(kind: str, caller: Caller) -> None:
    response = caller.post(GOOD, **{"Content-Type": kind})

    assert response.status_code == 200
    assert response.json()["error"]["code"] == -32005
    assert response.json()["id"] == 1


def test_the_type_of_a_body_is_judged_before_its_content(caller: Caller) -> None:
    answer = caller.post("Hello?", **{"Content-Type": "text/plain"}).json()

    assert answer["error"]["code"] == -32005
    assert answer["id"] is None


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/a2a+json"])
def test_a_body_with_a_json_content_type_is_accepted(kind: str, caller: Caller) -> None:
    assert caller.post(GOOD, **{"Content-Type": kind}).json()["error"]["code"] == -32001


# Versions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "1.0.7", " 1.0 "])
def test_the_patch_of_a_version_is_ignored(version: str, caller: Caller) -> None:
    assert caller.error("GetTask", {"id": "none"}, A2A_Version=version)["code"] == -32001


@pytest.mark.parametrize("version", ["99.0", "1.1", "0.2", "1", "one", "1.0.x", "\u0661.\u0660"])
def test_an_unknown_version_is_refused(version: str, caller: Caller) -> None:
    headers = {"A2A-Version": version} if version.isascii() else {}
    query = "" if version.isascii() else f"?A2A-Version={version}"
    caller.headers = {}

    response = caller.post(GOOD, path=caller.path + query, **headers)

    error = response.json()["error"]
    assert error["code"] == -32009
    assert error["data"][0]["reason"] == "VERSION_NOT_SUPPORTED"
    assert "1.0 and 0.3" in error["message"]


def test_without_a_header_the_version_is_0_3_or_what_the_query_says(caller: Caller) -> None:
    caller.headers = {}

    older = caller.post(GOOD | {"method": "tasks/get"})
    newer = caller.post(GOOD, path=f"{caller.path}?A2A-Version=1.0")

    assert older.json()["error"]["code"] == -32001
    assert newer.json()["error"]["code"] == -32001


def test_a_missing_version_header_is_named_in_the_error(caller: Caller) -> None:
    caller.headers = {}

    error = caller.error("SendMessage", {})

    assert error["code"] == -32009
    assert "'A2A-Version: 1.0'" in error["message"]


@pytest.mark.parametrize(
    ("profile", "spoken", "refused"), [("1.0", "1.0", "0.3"), ("0.3", "0.3", "1.0")]
)
def test_an_agent_may_speak_one_version_only(
    profile: str, spoken: str, refused: str, public: Card
) -> None:
    Card.objects.filter(pk=public.pk).update(profile=profile)
    names = {"1.0": "GetTask", "0.3": "tasks/get"}

    answers = {
        version: Caller(public, version).error(names[version], {"id": "none"})["code"]
        for version in (spoken, refused)
    }

    assert answers == {spoken: -32001, refused: -32009}


# Requests of browsers -----------------------------------------------------------------------------


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "options", "head"])
def test_an_agent_is_called_with_post(method: str, slash: str, caller: Caller) -> None:
    response = getattr(caller.client, method)(caller.path + slash, headers={"Accept": "*/*"})

    assert response.status_code == 405
    assert "POST" in response["Allow"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_people_who_open_it_see_a_page(slash: str, caller: Caller) -> None:
    response = caller.client.get(caller.path + slash, headers={"Accept": "text/html,*/*;q=0.8"})

    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/@garden/nobody", "/@nobody/research-agent-01", "/@garden"])
def test_an_unpublished_agent_is_not_found(path: str, caller: Caller) -> None:
    response = caller.post(GOOD, path=path)

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"


def test_plain_http_is_for_development(caller: Caller, settings: Any) -> None:
    settings.DEVELOPMENT = False

    response = caller.post(GOOD)

    assert response.status_code == 403
    assert response.json()["error"]["code"] == "https_required"


def test_a_body_that_is_too_large_is_refused(caller: Caller, settings: Any) -> None:
    settings.WAKE_MAX_A2A_BYTES = 1_000

    response = caller.post(GOOD | {"params": {"id": "x" * 1_000}})

    assert response.status_code == 413


def test_files_are_larger_than_forms_may_be(caller: Caller, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    content = {"raw": "QUJD" * 1_000, "mediaType": "text/plain"}

    task = caller.result("SendMessage", {"message": caller.message() | {"parts": [content]}})

    assert task["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


def test_a_chunked_body_is_read(caller: Caller) -> None:
    environ: dict[str, Any] = {
        "wsgi.input": io.BytesIO(json.dumps(GOOD).encode()),
        "wsgi.input_terminated": True,
        "HTTP_TRANSFER_ENCODING": "chunked",
        "CONTENT_LENGTH": "",
        "CONTENT_TYPE": "application/json",
    }

    response = caller.client.generic("POST", caller.path, headers=caller.headers, **environ)

    assert response.json()["error"]["code"] == -32001


def test_a_content_length_of_very_many_digits_is_handled(caller: Caller) -> None:
    """Python reads no number of more than 4,300 digits."""
    response = caller.client.generic(
        "POST",
        caller.path,
        json.dumps(GOOD),
        content_type="application/json",
        headers=caller.headers,
        CONTENT_LENGTH="9" * 5_000,
    )

    assert response.status_code < 500


# Any request --------------------------------------------------------------------------------------

NAMES = [
    *("message", "configuration", "id", "taskId", "contextId", "messageId", "role", "parts"),
    *("text", "raw", "url", "data", "kind", "type", "file", "metadata", "historyLength", "status"),
    *("pageSize", "pageToken", "statusTimestampAfter", "pushNotificationConfig", "authentication"),
    *("scheme", "schemes", "credentials", "token", "blocking", "returnImmediately", "name"),
    *("bytes", "uri", "mimeType", "mediaType", "filename", "referenceTaskIds", "message_id"),
]
texts = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["user", "ROLE_USER", "text", "https://[::1", "0001-01-01T00:00+23:59", "%"]),
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)
keys = st.one_of(st.sampled_from(NAMES), texts)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=5)),
    max_leaves=12,
)
messages = st.fixed_dictionaries(
    {"messageId": texts, "role": st.just("user"), "parts": st.lists(values, max_size=2)},
    optional=dict.fromkeys(("metadata", "taskId", "contextId", "referenceTaskIds"), values),
)
sends = st.fixed_dictionaries({"message": messages}, optional={"configuration": values})
calls = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "method": st.sampled_from([*methods.METHODS["1.0"], *methods.METHODS["0.3"]]),
        "params": st.one_of(sends, values, st.dictionaries(keys, values, max_size=5)),
    },
    optional={"id": leaves},
)


others = values.map(lambda one: one | {"jsonrpc": "2.0"} if isinstance(one, dict) else one)


@given(body=st.one_of(calls, others), version=st.sampled_from(["1.0", "0.3"]))
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_any_request_gets_a_json_rpc_answer(body: Any, version: str, public: Card) -> None:
    response = Caller(public, version).post(body)

    if response["Content-Type"] == "text/event-stream":
        (event,) = read(response.content.decode())
        assert isinstance(event, Event)
        answer = event.answer
    else:
        answer = response.json()
    assert response.status_code == 200
    assert answer.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert answer.get("error", {}).get("code") != -32603
