"""Each version has one written form of a message. Reading this form returns the same message."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.models import Artifact, Context, Event, Message, PushConfig, Task
from relay.protocol import dialects
from relay.protocol.parts import read_parts, write_parts
from relay.protocol.versions import Version

pytestmark = pytest.mark.once

VERSIONS: list[Version] = ["1.0", "0.3"]
AT = datetime(2026, 11, 21, 9, 30, 0, 123_456, tzinfo=UTC)
ID = UUID("0e2c7c1a-4c9e-4b0f-9d69-0f3c5a9c1d11")

# Canonical parts, messages and artifacts ----------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
named = words.filter(bool)
jsons = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
metadata = st.dictionaries(st.sampled_from(["a", "b", "c"]), jsons, min_size=1, max_size=2)
raw = st.binary(max_size=12).map(lambda content: base64.b64encode(content).decode())
contents = st.one_of(
    st.builds(lambda text: {"text": text}, words),
    st.builds(lambda content: {"raw": content}, raw),
    st.builds(lambda url: {"url": url}, named),
    st.builds(lambda data: {"data": data}, jsons),
)
more = st.fixed_dictionaries(
    {}, optional={"mediaType": named, "filename": named, "metadata": metadata}
)
parts = st.builds(lambda content, more: content | more, contents, more)


@given(st.lists(parts, min_size=1, max_size=3), st.sampled_from(VERSIONS))
def test_parts_come_back_as_they_were(parts: list[Any], version: Version) -> None:
    assert read_parts(write_parts(parts, version)) == parts


@given(st.lists(parts, min_size=1, max_size=3), metadata, st.sampled_from(VERSIONS))
def test_messages_come_back_as_they_were(parts: list[Any], metadata: Any, version: Version) -> None:
    message = message_of(parts, metadata=metadata)

    read_back = dialects.read_message(dialects.write_message(message, version))

    assert read_back == dialects.Incoming("m-1", parts, metadata, str(ID), "talk", ["earlier"])


def message_of(parts: list[Any], *, source: str = "caller", metadata: Any = None) -> Message:
    return Message(
        task_id=ID,
        context=Context(context_id="talk"),
        message_id="m-1",
        source=source,
        parts_json=json.dumps(parts),
        metadata_json=json.dumps(metadata or {}),
        reference_task_ids=["earlier"],
    )


# Writing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "older"),
    [
        ({"text": "Hi"}, {"kind": "text", "type": "text", "text": "Hi"}),
        (
            {"raw": "AAAA", "mediaType": "a/b", "filename": "y", "metadata": {"a": 1}},
            {
                "kind": "file",
                "type": "file",
                "file": {"bytes": "AAAA", "mimeType": "a/b", "name": "y"},
                "metadata": {"a": 1},
            },
        ),
        ({"url": "https://x/"}, {"kind": "file", "type": "file", "file": {"uri": "https://x/"}}),
        ({"data": {"a": 1}}, {"kind": "data", "type": "data", "data": {"a": 1}}),
        (
            {"data": [1]},
            {
                "kind": "data",
                "type": "data",
                "data": {"value": [1]},
                "metadata": {"data_part_compat": True},
            },
        ),
    ],
)
def test_parts_as_each_version_has_them(part: Any, older: Any) -> None:
    assert write_parts([part], "1.0") == [part]
    assert write_parts([part], "0.3") == [older]


def test_messages_as_each_version_has_them() -> None:
    ids = {"messageId": "m-1", "contextId": "talk", "taskId": str(ID)}
    ids |= {"referenceTaskIds": ["earlier"]}  # type: ignore[dict-item]

    newer = dialects.write_message(message_of([{"text": "Hi"}], source="agent"), "1.0")
    older = dialects.write_message(message_of([{"text": "Hi"}], source="owner"), "0.3")

    part = {"kind": "text", "type": "text", "text": "Hi"}
    assert newer == ids | {"role": "ROLE_AGENT", "parts": [{"text": "Hi"}]}
    assert older == ids | {"role": "user", "parts": [part], "kind": "message"}


def test_metadata_for_people_is_not_sent_to_the_caller() -> None:
    agent_metadata = {"wake": {"assumption": "They agree."}, "model": "m"}

    of_agent = dialects.write_message(
        message_of([{"text": "Hi"}], source="agent", metadata=agent_metadata), "1.0"
    )
    of_caller = dialects.write_message(message_of([{"text": "Hi"}], metadata=agent_metadata), "1.0")

    assert of_agent["metadata"] == {"model": "m"}
    assert of_caller["metadata"] == agent_metadata


def test_artifacts_have_no_empty_members() -> None:
    artifact = Artifact(artifact_id="a-1", name="Report", parts_json='[{"text": "Hi"}]')

    written = dialects.write_artifact(artifact, "1.0")

    assert written == {"artifactId": "a-1", "name": "Report", "parts": [{"text": "Hi"}]}


def test_times_are_utc_to_the_millisecond() -> None:
    berlin = AT.astimezone(timezone(timedelta(hours=1)))

    assert dialects.write_time(berlin) == "2026-11-21T09:30:00.123Z"
    assert dialects.write_time(AT.replace(microsecond=0)) == "2026-11-21T09:30:00.000Z"


TASK = Task(id=ID, context=Context(context_id="talk"))
OF = {"taskId": str(ID), "contextId": "talk"}


@pytest.mark.parametrize(
    ("state", "newer", "older", "final"),
    [
        ("working", "TASK_STATE_WORKING", "working", False),
        ("input_required", "TASK_STATE_INPUT_REQUIRED", "input-required", True),
        ("completed", "TASK_STATE_COMPLETED", "completed", True),
    ],
)
def test_a_state_is_one_event(state: str, newer: str, older: str, final: bool) -> None:
    event = Event(task=TASK, kind=Event.Kind.STATUS, state=state, at=AT)
    at = {"timestamp": "2026-11-21T09:30:00.123Z"}

    assert dialects.write_event(event, "1.0") == {
        "statusUpdate": OF | {"status": {"state": newer} | at}
    }
    assert dialects.write_event(event, "0.3") == OF | {
        "kind": "status-update",
        "status": {"state": older} | at,
        "final": final,
    }


def test_an_artifact_and_a_message_are_events() -> None:
    artifact = Artifact(artifact_id="a-1", parts_json='[{"data": 7}]')
    artifact_event = Event(task=TASK, kind=Event.Kind.ARTIFACT, artifact=artifact, at=AT)
    message_event = Event(
        task=TASK, kind=Event.Kind.MESSAGE, message=message_of([{"text": "Hi"}]), at=AT
    )

    newer, older = (
        dialects.write_event(artifact_event, "1.0"),
        dialects.write_event(artifact_event, "0.3"),
    )

    assert newer == {"artifactUpdate": OF | {"artifact": dialects.write_artifact(artifact, "1.0")}}
    assert (older["kind"], older["artifact"]["artifactId"]) == ("artifact-update", "a-1")
    assert dialects.write_event(message_event, "1.0").keys() == {"message"}
    assert dialects.write_event(message_event, "0.3")["kind"] == "message"


def test_push_configs_keep_their_secrets() -> None:
    config = PushConfig(
        task_id=ID,
        config_id="mine",
        url="https://x/",
        scheme="Bearer",
        token_ciphertext="secret",
        credentials_ciphertext="secret",
    )

    of = {"id": "mine", "url": "https://x/"}
    assert dialects.write_push_config(config, "1.0") == of | {
        "taskId": str(ID),
        "authentication": {"scheme": "Bearer"},
    }
    assert dialects.write_push_config(config, "0.3") == {
        "taskId": str(ID),
        "pushNotificationConfig": of | {"authentication": {"schemes": ["Bearer"]}},
    }
