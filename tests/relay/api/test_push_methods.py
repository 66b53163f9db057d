"""Callers configure pushes for a task, and the card does not promise more."""

from __future__ import annotations

from typing import Any

import pytest

from relay.models import PushConfig, Task
from tests.relay.calling import Caller, State, move
from wake.models import Callback

UNKNOWN = "0e2c7c1a-4c9e-4b0f-9d69-0f3c5a9c1d11"
SECRET = {"token": "t0ken", "authentication": {"scheme": "Bearer", "credentials": "s3cret"}}


def test_push_configs_over_a2a_1_0(newer: Caller) -> None:
    task = newer.send()["id"]
    config = {"taskId": task, "id": "mine", "url": "https://hooks.example.com/a2a"}
    of = {"taskId": task, "id": "mine"}

    created = newer.result("CreateTaskPushNotificationConfig", config | SECRET)
    read = newer.result("GetTaskPushNotificationConfig", of)
    listed = newer.result("ListTaskPushNotificationConfigs", {"taskId": task})
    gone = [newer.result("DeleteTaskPushNotificationConfig", of) for _ in range(2)]
    error = newer.error("GetTaskPushNotificationConfig", of)

    assert created == read == config | {"authentication": {"scheme": "Bearer"}}
    assert listed == {"configs": [created], "nextPageToken": ""}
    assert gone == [{}, {}]
    assert error["code"] == -32001


def test_push_configs_over_a2a_0_3(older: Caller) -> None:
    task = older.send()["id"]
    config = {"id": "mine", "url": "https://hooks.example.com/a2a"}
    secret = SECRET | {"authentication": {"schemes": ["Bearer"], "credentials": "s3cret"}}
    of = {"id": task, "pushNotificationConfigId": "mine"}
    prefix = "tasks/pushNotificationConfig/"

    created = older.result(
        f"{prefix}set", {"taskId": task, "pushNotificationConfig": config | secret}
    )
    read, first = (older.result(f"{prefix}get", params) for params in (of, {"id": task}))
    listed = older.result(f"{prefix}list", {"id": task})
    gone = [older.ask(f"{prefix}delete", of) for _ in range(2)]

    authentication = {"authentication": {"schemes": ["Bearer"]}}
    assert created == read == first
    assert created == {"taskId": task, "pushNotificationConfig": config | authentication}
    assert listed == [created]
    assert gone == [{"jsonrpc": "2.0", "id": "req-1", "result": None}] * 2
    assert older.error(f"{prefix}get", of)["code"] == -32001


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_what_happened_before_a_config_is_deleted_is_still_pushed(
    version: str, newer: Caller, older: Caller
) -> None:
    """Pushes are made after the commit, so a caller may delete the config before the pushes are
    made."""
    task = newer.send()["id"]
    config = {"taskId": task, "id": "mine", "url": "https://hooks.example.com/a2a"}
    newer.result("CreateTaskPushNotificationConfig", config)
    move(task, State.COMPLETED)

    if version == "1.0":
        newer.result("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "mine"})
    else:
        of = {"id": task, "pushNotificationConfigId": "mine"}
        older.ask("tasks/pushNotificationConfig/delete", of)

    assert not PushConfig.objects.exists()
    [push] = Callback.objects.filter(about=task)
    assert b"TASK_STATE_COMPLETED" in bytes(push.body)


@pytest.mark.parametrize("maker", ["1.0", "0.3"])
def test_a_config_without_an_id_is_read_by_the_id_of_its_task(
    maker: str, newer: Caller, older: Caller
) -> None:
    get, url = "tasks/pushNotificationConfig/get", "https://hooks.example.com/default"
    named = {"id": "a", "url": "https://hooks.example.com/a"}
    caller, create = {
        "1.0": (newer, "CreateTaskPushNotificationConfig"),
        "0.3": (older, "tasks/pushNotificationConfig/set"),
    }[maker]
    task = caller.send()["id"]

    for config in (named, {"url": url}):
        caller.result(create, {"taskId": task, "pushNotificationConfig": config})
    by_default = older.result(get, {"id": task})
    by_id = older.result(get, {"id": task, "pushNotificationConfigId": task})

    assert by_default == by_id
    assert by_id["pushNotificationConfig"] == {"id": task, "url": url}


@pytest.mark.parametrize("first_id", ["", "a"])
def test_default_is_the_first_config_of_0_3_unless_a_config_has_this_id(
    first_id: str, older: Caller, newer: Caller
) -> None:
    """The conformance kit of 0.3 asks for `default` after it has created a config without an id."""
    prefix, url = "tasks/pushNotificationConfig/", "https://hooks.example.com/"
    task = older.send()["id"]

    def create(config_id: str) -> Any:
        config = {"url": f"{url}{config_id}"} | ({"id": config_id} if config_id else {})
        return older.result(f"{prefix}set", {"taskId": task, "pushNotificationConfig": config})

    of = {"id": task, "pushNotificationConfigId": "default"}
    missing = older.error(f"{prefix}get", of)
    first, second = create(first_id), create("b")
    read = older.result(f"{prefix}get", of)
    in_1_0 = newer.error("GetTaskPushNotificationConfig", {"taskId": task, "id": "default"})
    named = create("default")

    assert missing["code"] == in_1_0["code"] == -32001
    assert read == first != second
    assert older.result(f"{prefix}get", of) == named


def test_in_1_0_each_config_without_an_id_is_one_more(newer: Caller) -> None:
    task = newer.send()["id"]

    for name in ("a", "b"):
        newer.result(
            "CreateTaskPushNotificationConfig",
            {"taskId": task, "url": f"https://hooks.example.com/{name}"},
        )

    assert PushConfig.objects.values("config_id").distinct().count() == 2


def test_a_config_gets_pushes_of_its_own_version(newer: Caller, older: Caller) -> None:
    config = {"url": "https://hooks.example.com/a2a"}
    newer.result(
        "SendMessage", newer.sending() | {"configuration": {"taskPushNotificationConfig": config}}
    )
    older.result(
        "message/send", older.sending() | {"configuration": {"pushNotificationConfig": config}}
    )

    assert list(PushConfig.objects.values_list("wire_version", flat=True)) == ["1.0", "0.3"]


def test_a_task_that_has_ended_takes_a_config(newer: Caller) -> None:
    task = newer.send()["id"]
    move(task, State.COMPLETED)

    params = {"taskId": task, "url": "https://hooks.example.com/a2a"}

    assert newer.result("CreateTaskPushNotificationConfig", params)["id"]


@pytest.mark.parametrize("url", ["", None, 7, "ftp://x/", "javascript:alert(1)", "https://"])
def test_an_invalid_address_stores_nothing(url: Any, newer: Caller) -> None:
    configuration = {"taskPushNotificationConfig": {"url": url}}

    error = newer.error("SendMessage", newer.sending() | {"configuration": configuration})

    assert error["code"] == -32602
    assert not Task.objects.exists()


# Promises that no card makes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("message/stream", -32004),
        ("tasks/resubscribe", -32004),
        ("agent/getAuthenticatedExtendedCard", -32007),
        ("tasks/list", -32601),
    ],
)
def test_methods_that_0_3_does_not_have_are_refused(method: str, code: int, older: Caller) -> None:
    assert older.error(method, {"id": UNKNOWN})["code"] == code
