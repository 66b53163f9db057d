"""Members read tasks, contexts and the connectors that run them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, User
from database.batched_queries import PAGE
from relay.cards import publishing
from relay.models import Artifact, CallerKey, Card, Task
from relay.pages import turns
from relay.pages.tasks import MAX_EVENTS
from relay.protocol.dialects import PushIn
from relay.tasks import lifecycle
from tests.inbox.person import Person, text_of
from tests.relay.calling import queue_pushes
from tests.relay.fake_connector import FakeConnector, ask, of
from tests.relay.many import add_events, artifact, tasks_like
from tests.types import Answer, MakeDelivery
from tests.wake.blobs.drawing import SVG, drawn, opened
from wake.models import Delivery

HOSTILE = "<script>alert(1)</script> [click](javascript:alert(1)) <img src=x onerror=alert(1)>"


@pytest.fixture
def connector(card: Card, key: ApiKey) -> FakeConnector:
    return FakeConnector(key, at=timezone.now(), machine="workshop", capacity=2)


@pytest.fixture
def task(card: Card, caller_key: CallerKey, connector: FakeConnector) -> Task:
    push = PushIn(config_id="p", url="https://hooks.example.com/a2a")
    task = ask(card, caller_key, f"Compare. {HOSTILE}", push=push, at=timezone.now())
    image = {"raw": base64.b64encode(b"<svg onload=alert(1)>").decode(), "filename": "chart.svg"}
    connector.end(
        connector.run(at=timezone.now()),
        "input_required",
        text=f"Which market? {HOSTILE}",
        artifacts=[
            {
                "artifactId": "report",
                "name": "report.md",
                "description": HOSTILE,
                "parts": [{"text": f"# Ten {HOSTILE}"}, image],
            }
        ],
        at=timezone.now(),
    )
    queue_pushes()
    return Task.objects.get(pk=task.pk)


def test_the_page_of_an_agent_leads_to_all_of_its_tasks(
    agent: Agent, card: Card, caller_key: CallerKey, connector: FakeConnector, ritas: Person
) -> None:
    first = ask(card, caller_key, "Compare the prices.", at=timezone.now())
    connector.end(connector.run(at=timezone.now()), "completed", text="Done.", at=timezone.now())
    second = ask(card, caller_key, HOSTILE, at=timezone.now())

    page = ritas.get(f"/agents/{agent.pk}/tasks/")

    assert f'href="/agents/{agent.pk}/tasks/"' in ritas.get(f"/agents/{agent.pk}/").content.decode()
    assert [task.pk for task, _ in page.context["lines"]] == [second.pk, first.pk]
    assert "Compare the prices. Completed by Build server" in text_of(page)
    assert "<script>alert" not in page.content.decode()


def test_the_list_of_tasks_is_paged_to_its_end(
    agent: Agent, card: Card, caller_key: CallerKey, ritas: Person
) -> None:
    first = ask(card, caller_key, at=timezone.now())
    asked = [first.pk, *(task.pk for task in tasks_like(first, 2 * PAGE))]
    listed: list[Any] = []
    query: dict[str, str] = {}

    while True:
        page = ritas.get(f"/agents/{agent.pk}/tasks/", **query)
        listed += [task.pk for task, _ in page.context["lines"]]
        if page.context["older"] is None:
            break
        query["before"] = str(page.context["older"])

    assert listed == asked[::-1]


def test_a_task_shows_its_messages_artifacts_and_events(task: Task, ritas: Person) -> None:
    page = ritas.get(f"/tasks/{task.pk}/")

    words = text_of(page)
    assert page.status_code == 200
    assert "Waiting for an answer" in words
    assert "by Build server" in words
    assert words.index("report.md") < words.index("Compare.") < words.rindex("Which market?")
    assert "Completed on workshop" in words
    assert "Push notifications" in words
    assert "hooks.example.com" in words
    assert f"/deliveries/{Delivery.objects.get().pk}/" in page.content.decode()
    assert f"/contexts/{task.context_id}/" in page.content.decode()


def test_text_from_anonymous_callers_is_escaped(task: Task, ritas: Person) -> None:
    pages = [f"/tasks/{task.pk}/", f"/contexts/{task.context_id}/"]
    pages.append(f"/deliveries/{Delivery.objects.get().pk}/")

    for path in pages:
        html = ritas.get(path).content.decode()
        assert "<script>alert" not in html
        assert "<img" not in html
        assert 'href="javascript' not in html


def test_a_file_is_only_ever_downloaded(task: Task, ritas: Person, mallory: User) -> None:
    artifact = task.artifacts.get()
    path = f"/tasks/{task.pk}/files/artifacts/{artifact.pk}/1"
    assert path in ritas.get(f"/tasks/{task.pk}/").content.decode()

    file = ritas.get(path)

    assert file.content == b"<svg onload=alert(1)>"
    assert file["Content-Disposition"] == 'attachment; filename="chart.svg"'
    assert file["Content-Type"] == "application/octet-stream"
    assert file["X-Content-Type-Options"] == "nosniff"
    assert file["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert Person(mallory).get(path).status_code == 404
    pk = artifact.pk
    for elsewhere in (
        f"artifacts/{pk + 1}/0",
        f"artifacts/{pk}/9",
        "messages/1/9",
        f"tasks/{pk}/1",
    ):
        assert ritas.get(f"/tasks/{task.pk}/files/{elsewhere}").status_code == 404


def test_a_long_text_is_cut_off_and_is_a_file(
    card: Card, caller_key: CallerKey, connector: FakeConnector, ritas: Person
) -> None:
    """The page shows only the beginning of a long text, but used to say that the rest was on this
    same page."""
    text, data = "word " * 5_000 + "end", {"rows": ["row"] * 9_000}
    task = ask(card, caller_key, "Compare.", at=timezone.now())
    artifact = {"artifactId": "report", "parts": [{"text": text}, {"data": data}, {"text": "Hm."}]}
    frame = connector.run(at=timezone.now())
    connector.end(frame, "completed", artifacts=[artifact], at=timezone.now())
    row = task.artifacts.get().pk

    page = ritas.get(f"/tasks/{task.pk}/")

    (turn,) = page.context["artifacts"]
    files = f"/tasks/{task.pk}/files/artifacts/{row}"
    assert [file.url for file in turn.files] == [f"{files}/0", f"{files}/1"]
    assert [file.label for file in turn.files] == ["text.txt, 25 kB", "data.json, 54 kB"]
    assert text_of(page).count("The rest is in the file below.") == 2
    assert "on the page of the task" not in text_of(page)
    assert ritas.get(f"{files}/0").content.decode() == text
    assert ritas.get(f"{files}/1").json() == data


def test_a_long_task_shows_how_it_ended(task: Task, ritas: Person) -> None:
    assert "Only the newest" not in text_of(ritas.get(f"/tasks/{task.pk}/"))
    add_events(task.pk, MAX_EVENTS)

    page = ritas.get(f"/tasks/{task.pk}/")

    assert page.context["events"] == list(task.events.all())[-MAX_EVENTS:]
    assert f"Only the newest {MAX_EVENTS} are shown." in text_of(page)


def test_a_picture_is_shown_as_it_was_written_again(
    card: Card,
    caller_key: CallerKey,
    connector: FakeConnector,
    ritas: Person,
    mallory: User,
) -> None:
    task = ask(card, caller_key, "Draw both.", at=timezone.now())
    files = {"chart.png": drawn(comment="secret"), "page.png": SVG}
    parts = [
        {"raw": base64.b64encode(content).decode(), "filename": name, "mediaType": "image/png"}
        for name, content in files.items()
    ]
    artifacts = [{"artifactId": "charts", "parts": parts}]
    run = connector.run(at=timezone.now())
    connector.end(run, "completed", artifacts=artifacts, at=timezone.now())
    path = f"/tasks/{task.pk}/pictures/artifacts/{task.artifacts.get().pk}"
    assert f'src="{path}/0"' in ritas.get(f"/tasks/{task.pk}/").content.decode()

    picture = ritas.get(f"{path}/0")

    assert picture["Content-Type"] == "image/png"
    assert picture["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert opened(picture.content).size == opened(files["chart.png"]).size
    assert ritas.get(f"{path}/1").status_code == 404
    assert ritas.get(f"{path}/2").status_code == 404
    assert Person(mallory).get(f"{path}/0").status_code == 404
    again = ritas.client.get(f"{path}/0", headers={"If-None-Match": picture["ETag"]})
    assert again.status_code == 304


def test_a_context_shows_its_tasks(
    task: Task, card: Card, caller_key: CallerKey, ritas: Person
) -> None:
    context_id = task.context.context_id
    second = ask(card, caller_key, "And Asia?", context_id=context_id, at=timezone.now())
    other = ask(card, caller_key, "Something else.", at=timezone.now())

    html = ritas.get(f"/contexts/{task.context_id}/").content.decode()

    assert html.index(f"/tasks/{second.pk}/") < html.index(f"/tasks/{task.pk}/")
    assert f"/tasks/{other.pk}/" not in html
    assert "And Asia?" in html


def test_a_delivery_links_to_its_task(task: Task, ritas: Person) -> None:
    page = ritas.see(Delivery.objects.get())

    assert f"/tasks/{task.pk}/" in page.content.decode()
    assert "written by the agent and its caller" in text_of(page)


def test_a_row_says_that_its_delivery_is_of_a_task(
    task: Task, alices: Person, make_delivery: MakeDelivery
) -> None:
    own = make_delivery(provider="A2A", headline="Of no task")
    row = "A2A task"

    page = alices.get("/").content.decode()

    assert page.count(row) == 1
    assert row not in page.split(f'id="row-{own.pk}"')[1].split("</li>")[0]


def test_an_output_says_that_no_caller_waits_for_an_answer(
    card: Card, caller_key: CallerKey, connector: FakeConnector, alices: Person
) -> None:
    ask(card, caller_key, at=timezone.now())
    result_artifact = {"artifactId": "a", "parts": [{"text": "All ten."}]}
    frame = connector.run(at=timezone.now())
    connector.end(frame, "completed", text="Done.", artifacts=[result_artifact], at=timezone.now())

    assert "not sent to the agent" in text_of(alices.see(Delivery.objects.get()))


def test_long_tasks_are_read_page_by_page(
    task: Task, card: Card, caller_key: CallerKey, ritas: Person
) -> None:
    for number in range(25):
        ask(card, caller_key, f"Turn {number}.", task_id=str(task.pk), at=timezone.now())

    newest = ritas.get(f"/tasks/{task.pk}/")
    assert "Turn 24." in text_of(newest)
    assert "Turn 4." not in text_of(newest)
    before = newest.context["older"]
    older = text_of(ritas.get(f"/tasks/{task.pk}/", before=before))

    assert "Turn 4." in older
    assert "Turn 24." not in older
    assert ritas.get(f"/tasks/{task.pk}/", before="x" * 99).status_code == 200
    assert ritas.get(f"/tasks/{task.pk}/", before="9" * 40).status_code == 200


def test_a_page_number_of_very_many_digits_is_the_newest_page(task: Task, ritas: Person) -> None:
    """Python reads no number of more than 4,300 digits, and refused this one with a 500."""
    page = ritas.get(f"/tasks/{task.pk}/", before="9" * 5_000)

    assert page.status_code == 200
    assert page.context["is_newest"]


def test_an_agents_page_shows_its_connectors_and_waiting_tasks(
    card: Card, caller_key: CallerKey, connector: FakeConnector, agent: Agent, ritas: Person
) -> None:
    for _ in range(2):
        ask(card, caller_key, at=timezone.now())

    words = text_of(ritas.get(f"/agents/{agent.pk}/"))

    assert "workshop connected" in words
    assert "2 queued, 0 running" in words

    connector.send_frame("ack", at=timezone.now(), **of(connector.look(at=timezone.now())[0]))

    assert "0 queued, 2 running" in text_of(ritas.get(f"/agents/{agent.pk}/"))


def test_an_agents_page_says_that_no_connector_is_online(
    card: Card, agent: Agent, ritas: Person
) -> None:
    assert "No connector is online" in text_of(ritas.get(f"/agents/{agent.pk}/"))


def test_the_audit_links_to_the_task(task: Task, ritas: Person) -> None:
    lifecycle.cancel(task, by=SYSTEM, at=timezone.now())

    assert f"/tasks/{task.pk}/" in ritas.get("/audit/").content.decode()


def test_an_erased_task_says_so(task: Task, ritas: Person) -> None:
    lifecycle.cancel(task, by=SYSTEM, at=timezone.now())
    Task.objects.update(erased_at=timezone.now())

    words = text_of(ritas.get(f"/tasks/{task.pk}/"))

    assert "Content erased" in words
    assert "Compare." not in words
    assert "Completed on workshop" in words


def test_pages_of_tasks_take_few_queries(
    task: Task,
    card: Card,
    caller_key: CallerKey,
    connector: FakeConnector,
    ritas: Person,
    answer: Answer,
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    answer(Delivery.objects.get(), "approved")
    frame = connector.run(at=timezone.now())
    connector.end(frame, "input_required", text="And then?", at=timezone.now())
    for _ in range(5):
        ask(card, caller_key, context_id=task.context.context_id, at=timezone.now())

    with django_assert_max_num_queries(11):
        ritas.get(f"/tasks/{task.pk}/")
    with django_assert_max_num_queries(5):
        ritas.get(f"/contexts/{task.context_id}/")
    question = Delivery.objects.unanswered().get()
    ritas.see(question)
    with CaptureQueriesContext(connection) as queries:
        ritas.see(question)
    # Only in a test does a transaction become a savepoint.
    asked = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert len(asked) <= 9


def test_the_list_of_agents_shows_which_have_a_connector(
    card: Card, key: ApiKey, alices: Person
) -> None:
    before = text_of(alices.get("/agents/"))
    FakeConnector(key, at=timezone.now())
    one = text_of(alices.get("/agents/"))
    FakeConnector(key, at=timezone.now())
    two = text_of(alices.get("/agents/"))
    publishing.unpublish(card, by=SYSTEM, at=timezone.now())

    assert "no connector online" in before
    assert "1 connector online" in one
    assert "2 connectors online" in two
    assert "connector" not in text_of(alices.get("/agents/"))


def test_the_files_of_a_task_are_paged(card: Card, caller_key: CallerKey, ritas: Person) -> None:
    task = ask(card, caller_key, "Compare.", at=timezone.now())
    long = "x" * (turns.LONGEST_PAGE * 3 // 5)
    Artifact.objects.bulk_create(
        [
            *(artifact(task, f"a{n}") for n in range(turns.ARTIFACTS_A_PAGE)),
            artifact(task, "e"),
            *(artifact(task, name, long) for name in "fg"),
            artifact(task, "h"),
        ]
    )

    pages, after = [], ""
    while after is not None:
        page = ritas.get(f"/tasks/{task.pk}/?files={after}")
        pages.append([turn.title for turn in page.context["artifacts"]])
        after = page.context["further_artifacts"]
        assert (f"?files={after}" in page.content.decode()) == (after is not None)

    assert [len(pages[0]), *pages[1:]] == [turns.ARTIFACTS_A_PAGE, ["e", "f"], ["g", "h"]]
