"""Answers about large tasks are limited, and lead to all of the content."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiKey
from relay.api import task_list
from relay.content import artifacts as artifact_selection
from relay.models import Artifact, Task
from tests.fixtures.strict_client import Client
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, after

GET = {"1.0": "GetTask", "0.3": "tasks/get"}
LONG = "x" * 3_000
FILE = base64.b64encode(b"y" * 70_000).decode()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lowers the limits of an answer, which are 20 and 10 MB. Otherwise each of these tests would
    fill the limits several times, with tasks that are parsed, stored and written."""
    for module, name in ((artifact_selection, "LONGEST"), (task_list, "LONGEST_PAGE")):
        monkeypatch.setattr(module, name, 7_000)  # no argument sets the limits of an answer


def ended(caller: Caller, key: ApiKey, *texts: str) -> str:
    """Completes a task with an artifact for each text, and returns its id."""
    task: str = caller.send("Hi")["id"]
    connector = FakeConnector(key)
    artifacts = [
        {"artifactId": f"a-{n}", "name": f"Part {n}", "parts": [{"text": text}]}
        for n, text in enumerate(texts)
    ]
    connector.end(connector.run(at=after(1)), "completed", artifacts=artifacts, at=after(2))
    return task


def read(url: str) -> Any:
    assert url.startswith(django_settings.WAKE_ORIGIN)
    return Client(raise_request_exception=False).get(
        url.removeprefix(django_settings.WAKE_ORIGIN), headers={"X-Forwarded-Proto": "https"}
    )


@pytest.mark.usefixtures("small")
def test_artifacts_that_do_not_fit_are_links_to_their_json(either: Caller, key: ApiKey) -> None:
    task = ended(either, key, LONG, LONG, LONG, "short")

    artifacts = either.result(GET[either.version], {"id": task})["artifacts"]

    assert [one["artifactId"] for one in artifacts] == ["a-0", "a-1", "a-2", "a-3"]
    assert [one["name"] for one in artifacts] == [f"Part {n}" for n in range(4)]
    assert [one["parts"][0].get("text") for one in artifacts[:2]] == [LONG, LONG]
    (part,) = artifacts[2]["parts"]
    url = part["url"] if either.version == "1.0" else part["file"]["uri"]
    answer = read(url)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert json.loads(answer.content)["parts"] == [{"text": LONG}]
    Task.objects.update(erased_at=after(9))
    assert read(url).status_code == 404


@pytest.mark.usefixtures("small")
def test_long_metadata_of_artifacts_counts_too(newer: Caller, key: ApiKey) -> None:
    task: str = newer.send("Hi")["id"]
    connector = FakeConnector(key)
    artifacts = [
        {"artifactId": f"a-{n}", "parts": [{"text": "short"}], "metadata": {"m": LONG}}
        for n in range(4)
    ]
    connector.end(connector.run(at=after(1)), "completed", artifacts=artifacts, at=after(2))

    with CaptureQueriesContext(connection) as queries:
        listed = newer.result("GetTask", {"id": task})["artifacts"]

    assert sum('FROM "relay_artifact"' in query["sql"] for query in queries) == 3
    assert [one.get("metadata") for one in listed] == [{"m": LONG}, {"m": LONG}, None, None]
    linked = json.loads(read(listed[3]["parts"][0]["url"]).content)
    assert linked["metadata"] == {"m": LONG}


@pytest.mark.usefixtures("small")
def test_what_does_not_fit_is_not_read(newer: Caller, key: ApiKey) -> None:
    task = ended(newer, key, *[LONG] * 20)

    with CaptureQueriesContext(connection) as queries:
        newer.result("GetTask", {"id": task})

    whole = [query["sql"] for query in queries if '"relay_artifact"."parts_json",' in query["sql"]]
    assert len(whole) == 1
    assert Artifact.objects.count() == 20


def test_a_task_that_fits_is_read_in_one_query(newer: Caller, key: ApiKey) -> None:
    task = ended(newer, key, LONG, LONG)

    with CaptureQueriesContext(connection) as queries:
        newer.result("GetTask", {"id": task})

    of_artifacts = [query for query in queries if 'FROM "relay_artifact"' in query["sql"]]
    assert len(of_artifacts) == 1


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("with_artifacts", [True, False])
def test_a_page_of_tasks_ends_where_it_would_be_too_long(
    with_artifacts: bool, newer: Caller, key: ApiKey
) -> None:
    tasks = [ended(newer, key, LONG) for _ in range(5)]
    pages: list[list[str]] = []
    token = ""

    while not pages or token:
        params = {"includeArtifacts": with_artifacts, "pageToken": token}
        page = newer.result("ListTasks", params)
        pages.append([task["id"] for task in page["tasks"]])
        assert page["totalSize"] == 5
        token = page["nextPageToken"]

    assert sorted(task for page in pages for task in page) == sorted(tasks)
    assert [len(page) for page in pages] == ([2, 2, 1] if with_artifacts else [5])


@pytest.mark.usefixtures("small")
def test_a_page_of_tasks_counts_the_messages_of_their_states(newer: Caller, key: ApiKey) -> None:
    for _ in range(3):
        newer.send("Hi")
        connector = FakeConnector(key)
        connector.end(connector.run(at=after(1)), "completed", text=LONG, at=after(2))

    page = newer.result("ListTasks", {})

    assert len(page["tasks"]) == 2
    assert page["nextPageToken"]


def test_reads_of_files_are_limited(newer: Caller, key: ApiKey, settings: Any) -> None:
    """A link needs no key, so reads are counted by network."""
    newer.send("Hi")
    connector = FakeConnector(key)
    artifact = {"parts": [{"raw": FILE, "filename": "y.bin"}]}
    connector.end(connector.run(at=after(1)), "completed", artifacts=[artifact], at=after(2))
    (listed,) = newer.result("ListTasks", {"includeArtifacts": True})["tasks"]
    url = listed["artifacts"][0]["parts"][0]["url"]
    assert read(url).status_code == 200

    settings.WAKE_READS_PER_MINUTE = 0
    refused = read(url)

    assert refused.status_code == 429
    assert int(refused["Retry-After"]) <= 60
    assert "try again later" in refused.content.decode()
