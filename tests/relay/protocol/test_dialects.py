"""Messages, parts and configurations are read in every dialect that callers speak."""

from __future__ import annotations

from typing import Any

import pytest

from relay.models import Task
from relay.protocol import dialects
from relay.protocol.fields import Fields, InvalidParams
from relay.protocol.parts import media_types, read_parts
from relay.protocol.versions import Version
from tests.relay.calling import State

pytestmark = pytest.mark.once

VERSIONS: list[Version] = ["1.0", "0.3"]


@pytest.mark.parametrize(
    ("sent", "canonical"),
    [
        ({"text": "Hi"}, {"text": "Hi"}),
        ({"text": ""}, {"text": ""}),
        ({"kind": "text", "text": "Hi"}, {"text": "Hi"}),
        ({"type": "text", "text": "Hi"}, {"text": "Hi"}),
        ({"kind": "text", "type": "text", "text": "Hi", "data": None}, {"text": "Hi"}),
        (
            {"text": "Hi", "mediaType": "text/markdown"},
            {"text": "Hi", "mediaType": "text/markdown"},
        ),
        ({"text": "Hi", "media_type": "text/html"}, {"text": "Hi", "mediaType": "text/html"}),
        (
            {"type": "text", "text": "# Hi", "metadata": {"mediaType": "text/markdown"}},
            {
                "text": "# Hi",
                "mediaType": "text/markdown",
                "metadata": {"mediaType": "text/markdown"},
            },
        ),
        ({"data": {"a": 1}}, {"data": {"a": 1}}),
        ({"data": None}, {"data": None}),
        ({"data": [1, 2]}, {"data": [1, 2]}),
        (
            {"kind": "data", "data": {"value": 7}, "metadata": {"data_part_compat": True}},
            {"data": 7},
        ),
        (
            {"kind": "file", "file": {"uri": "https://x/y", "mimeType": "a/b", "name": "y"}},
            {"url": "https://x/y", "mediaType": "a/b", "filename": "y"},
        ),
        (
            {"type": "file", "file": {"bytes": "AAAA", "mime_type": "a/b"}},
            {"raw": "AAAA", "mediaType": "a/b"},
        ),
        (
            {"file": {"fileWithUri": "https://x/y", "mediaType": "a/b", "filename": "y"}},
            {"url": "https://x/y", "mediaType": "a/b", "filename": "y"},
        ),
        ({"file": {"file_with_bytes": "AAAA"}}, {"raw": "AAAA"}),
        ({"kind": "file", "file": {"url": "https://x/y"}}, {"url": "https://x/y"}),
        ({"raw": "_-8"}, {"raw": "/+8="}),
        ({"url": "https://x/y", "filename": "y"}, {"url": "https://x/y", "filename": "y"}),
        ({"text": "Hi", "metadata": None, "mediaType": "", "later": 1}, {"text": "Hi"}),
        ({"text": "Hi", "blob": "0e2c7c1a-4c9e-4b0f-9d69-0f3c5a9c1d11"}, {"text": "Hi"}),
    ],
)
def test_parts_are_read_in_every_dialect(sent: Any, canonical: Any) -> None:
    assert read_parts([sent]) == [canonical]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (None, "parts"),
        ("Hi", "parts"),
        ([], "parts"),
        (["Hi"], "parts[0]"),
        ([{"text": "Hi"}, {}], "parts[1]"),
        ([{"kind": "text"}], "parts[0]"),
        ([{"kind": "image", "text": "rm -rf /"}], "parts[0].kind"),
        ([{"type": "image", "text": "Hi"}], "parts[0].type"),
        ([{"kind": "text", "type": "image", "text": "Hi"}], "parts[0].type"),
        ([{"kind": 7, "text": "Hi"}], "parts[0].kind"),
        ([{"kind": "data", "text": "Hi"}], "parts[0].kind"),
        ([{"kind": "text", "file": {"uri": "https://x/y"}}], "parts[0].kind"),
        ([{"text": "Hi", "url": "https://x/"}], "parts[0]"),
        ([{"text": 7}], "parts[0].text"),
        ([{"raw": "?"}], "parts[0].raw"),
        ([{"raw": "A"}], "parts[0].raw"),
        ([{"file": {}}], "parts[0].file"),
        ([{"file": "x"}], "parts[0].file"),
        ([{"text": ""}] * 1_001, "parts"),
        ([{"file": {"uri": "x", "bytes": "AAAA"}}], "parts[0].file"),
        ([{"file": {"bytes": "%"}}], "parts[0].file.bytes"),
        ([{"text": "Hi", "mediaType": 7}], "parts[0].mediaType"),
        ([{"text": "Hi", "filename": "x" * 256}], "parts[0].filename"),
        ([{"text": "Hi", "metadata": []}], "parts[0].metadata"),
        ([{"blob": "0e2c7c1a-4c9e-4b0f-9d69-0f3c5a9c1d11"}], "parts[0]"),
    ],
)
def test_invalid_parts_are_refused(sent: Any, field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        read_parts(sent)

    assert refused.value.field == field


MESSAGE = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
NAMED = {"referenceTaskIds": ["r"], "extensions": ["https://x/"]}


@pytest.mark.parametrize(
    "sent",
    [
        MESSAGE | NAMED | {"taskId": "t", "contextId": "c"},
        MESSAGE | NAMED | {"role": "user", "taskId": "t", "contextId": "c"},
        {
            "message_id": "m-1",
            "role": "user",
            "parts": [{"type": "text", "text": "Hi"}],
            "task_id": "t",
            "context_id": "c",
            "reference_task_ids": ["r"],
            "kind": "message",
            "metadata": None,
            "extensions": ["https://x/"],
        },
    ],
)
def test_messages_are_read_in_every_dialect(sent: Any) -> None:
    assert dialects.read_message(sent) == dialects.Incoming(
        "m-1", [{"text": "Hi"}], {}, "t", "c", ["r"], extensions=["https://x/"]
    )


@pytest.mark.parametrize(
    ("given", "named"),
    [(None, []), ("https://x/", []), (7, []), (["urn:a", 7, "", "a b", "x" * 501], ["urn:a"])],
)
def test_extensions_that_are_no_uris_are_ignored(given: Any, named: list[str]) -> None:
    """Version 0.2 read no extensions, so no value may be refused now."""
    assert dialects.read_message(MESSAGE | {"extensions": given}).extensions == named


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"messageId": None}, "message.messageId"),
        ({"messageId": ""}, "message.messageId"),
        ({"messageId": 7}, "message.messageId"),
        ({"messageId": "x" * 129}, "message.messageId"),
        ({"messageId": "a\nb"}, "message.messageId"),
        ({"role": None}, "message.role"),
        ({"role": "ROLE_AGENT"}, "message.role"),
        ({"role": "owner"}, "message.role"),
        ({"role": 1}, "message.role"),
        ({"parts": "Hi"}, "message.parts"),
        ({"taskId": ["t"]}, "message.taskId"),
        ({"contextId": "x" * 129}, "message.contextId"),
        ({"referenceTaskIds": "r"}, "message.referenceTaskIds"),
        ({"referenceTaskIds": [7]}, "message.referenceTaskIds"),
        ({"referenceTaskIds": ["r"] * 101}, "message.referenceTaskIds"),
        ({"metadata": "m"}, "message.metadata"),
    ],
)
def test_an_invalid_message_is_refused(change: Any, field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        dialects.read_message(MESSAGE | change)

    assert refused.value.field == field


@pytest.mark.parametrize(
    ("sent", "blocking", "length"),
    [
        (None, True, None),
        ({}, True, None),
        ({"returnImmediately": True}, False, None),
        ({"return_immediately": True}, False, None),
        ({"returnImmediately": False, "blocking": False}, True, None),
        ({"blocking": False}, False, None),
        ({"blocking": True, "historyLength": 0}, True, 0),
        ({"blocking": None, "history_length": 3, "acceptedOutputModes": 7}, True, 3),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_configuration_is_read(
    version: Version, sent: Any, blocking: bool, length: int | None
) -> None:
    configuration = dialects.read_configuration(sent, version)

    assert (configuration.blocking, configuration.history_length, configuration.push) == (
        blocking,
        length,
        None,
    )


@pytest.mark.parametrize(
    "sent",
    [
        [],
        {"historyLength": -1},
        {"historyLength": True},
        {"historyLength": "3"},
        {"blocking": "no"},
        {"pushNotificationConfig": {"id": "mine"}},
        {"pushNotificationConfig": "https://x/"},
    ],
)
def test_an_invalid_configuration_is_refused(sent: Any) -> None:
    with pytest.raises(InvalidParams):
        dialects.read_configuration(sent, "1.0")


@pytest.mark.parametrize("name", ["taskPushNotificationConfig", "pushNotificationConfig"])
@pytest.mark.parametrize(
    "authentication",
    [{"scheme": "Bearer"}, {"schemes": ["Bearer"]}, {"schemes": ["Bearer", "Basic"]}],
)
def test_a_push_config_beside_a_message(name: str, authentication: Any) -> None:
    config = {"id": "mine", "url": "https://x/", "token": "t"}
    config |= {"authentication": authentication | {"credentials": "c"}}

    push = dialects.read_configuration({name: config}, "0.3").push

    assert push == dialects.PushIn("mine", "https://x/", "t", "Bearer", "c", "0.3")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": ""}, "url"),
        ({"url": 7}, "url"),
        ({"url": "https://" + "x" * 2_048}, "url"),
        ({"token": "a\r\nX-Forged: 1"}, "token"),
        ({"authentication": {"scheme": "Bear er"}}, "authentication.scheme"),
        ({"authentication": {"scheme": "B\n"}}, "authentication.scheme"),
        ({"authentication": {"scheme": "B", "credentials": "é"}}, "authentication.credentials"),
        ({"authentication": {"schemes": "Bearer"}}, "authentication.schemes"),
    ],
)
def test_a_push_config_that_could_not_be_sent(change: Any, field: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        dialects.read_push(Fields({"url": "https://x/"} | change), "1.0")

    assert refused.value.field == field


@pytest.mark.parametrize("state", list(State))
def test_states_are_read_in_every_dialect(state: Task.State) -> None:
    older, newer = state.replace("_", "-"), f"TASK_STATE_{state.upper()}"

    assert {dialects.read_state(name) for name in (state, older, newer)} == {state}


@pytest.mark.parametrize("name", ["", "unknown", "TASK_STATE_", "TASK_STATE_UNSPECIFIED", "done"])
def test_an_unknown_state_is_refused(name: str) -> None:
    assert dialects.read_state(name) is None


def test_media_types_of_parts_have_defaults() -> None:
    sent: list[dict[str, Any]] = [
        {"text": "Hi"},
        {"data": 7},
        {"raw": "AAAA"},
        {"url": "https://x/y"},
        {"text": "Hi", "mediaType": "Text/HTML; charset=utf-8"},
    ]

    assert media_types(sent) == ["text/plain", "application/json", "text/html"]
