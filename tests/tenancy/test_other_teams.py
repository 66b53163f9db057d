"""Another team's object and a missing object get the same answer, for people and for keys."""

from __future__ import annotations

import ast
import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData, everything, without_own_channels

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|2000000000|nobody-there")
# The two batch addresses show what the same session stored, and the look-up asks a name server.
ELSEWHERE = {"batch/<uuid:pk>/", "batch/<uuid:pk>/undo", "settings/allowlist/<slug:slug>/look-up"}
NOT_THERE = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


def fields(data: TeamData) -> dict[str, Any]:
    """Returns fields of all forms, enough for each view to carry out its action."""
    return {
        "status": "approved",
        "content_hash": data.delivery.content_hash,
        "feedback": "Go ahead.",
        "choice": "tomorrow",
        "pattern": data.host.pattern,
        "name": "Name",
        "access": "public",
        "text": "Text",
        "id": str(uuid4()),
        "read": "no",
        "saved_reply": str(data.saved_reply.pk),
    }


def refusal(answer: Any, *ids: Any) -> tuple[int, str, str]:
    """Returns what distinguishes two answers, without the requested ids."""
    location, body = answer.get("Location", ""), TOKEN.sub("", b"".join(answer).decode())
    for known in sorted(map(str, ids), key=len, reverse=True):
        location, body = location.replace(known, "…"), body.replace(known, "…")
    return answer.status_code, ID.sub("…", location), ID.sub("…", body)


def both_ways(client: Client, path: str, form: dict[str, Any], **extra: Any) -> list[Any]:
    return [client.get(path, **extra), client.post(path, form, by_hand=True, **extra)]


def test_objects_of_another_team_are_a_404(
    alices: Person, ours: TeamData, theirs: TeamData, subtests: pytest.Subtests
) -> None:
    form, before = fields(theirs), everything()

    for address in addresses.WITH_AN_OBJECT:
        with subtests.test(address.route):
            not_ours = both_ways(alices.client, address.path_in(theirs), form)
            nothing = both_ways(alices.client, address.path_to_nothing(), form)

            # Both answers are compared without the ids, because other numbers of the page may look
            # like the id of the event.
            ids = [theirs.event.pk, theirs.team.slug]
            one, other = ([refusal(a, *ids) for a in answers] for answers in (not_ours, nothing))
            assert one == other
            codes = {answer.status_code for answer in not_ours}
            assert codes <= NOT_THERE
            assert HTTPStatus.NOT_FOUND in codes
    assert everything() == before


def test_objects_of_the_own_team_are_found(
    alices: Person, ours: TeamData, subtests: pytest.Subtests
) -> None:
    """Without this test, an address that leads nowhere would pass the test above."""
    for address in addresses.WITH_AN_OBJECT:
        if address.route in ELSEWHERE:
            continue
        with subtests.test(address.route):
            answers = both_ways(alices.client, address.path_in(ours), fields(ours))

            assert {answer.status_code for answer in answers} - NOT_THERE


def names_in_forms() -> list[str]:
    """Returns the name of every field that a page reads from a query or a form."""
    calls = [
        node
        for path in (ROOT / "inbox").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return sorted(
        {
            call.args[0].value
            for call in calls
            if call.func.attr in {"get", "getlist", "pop"}  # type: ignore[attr-defined]
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and isinstance(call.args[0].value, str)
        }
    )


def test_ids_of_another_team_in_queries_and_forms_have_no_effect(
    alices: Person, ours: TeamData, theirs: TeamData, subtests: pytest.Subtests
) -> None:
    names = names_in_forms()
    assert {"id", "deliveries", "agent", "answered"} <= set(names)
    before = of_teams(everything())

    def check(answer: Any, asked: str) -> None:
        assert answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        page = b"".join(answer).decode().replace(asked, "…")
        assert theirs.words not in page
        assert theirs.owner.email not in page

    for address in addresses.WITHOUT:
        path = f"/{address.route}"
        if address.route == "logout/":
            continue
        for asked in theirs.ids():
            with subtests.test(address.route, asked=asked):
                form = dict.fromkeys(names, asked)
                check(alices.client.get(path, form), asked)
                check(alices.client.post(path, form, by_hand=True), asked)
        with subtests.test(address.route, asked="nothing, after the forms"):
            check(alices.get(path), asked)

    assert of_teams(everything()) == before


def of_teams(rows: dict[str, Any]) -> dict[str, Any]:
    """Returns the rows, without the values that these forms may change for their sender."""
    own = {
        "AuditEvent",
        "Preferences",
        "Session",
        "SignInAttempts",
        "RecoveryCode",
        "User",
    }
    rows = without_own_channels(rows)
    return {name: rows[name] for name in rows if name not in own}


@pytest.mark.parametrize("query", [{}, {"q": "theirplan"}, {"q": "agent:other-theirplan-agent"}])
@pytest.mark.parametrize("path", ["/", "/history/", "/agents/", "/callbacks/", "/audit/"])
def test_lists_contain_nothing_of_another_team(
    alices: Person, ours: TeamData, theirs: TeamData, path: str, query: dict[str, str]
) -> None:
    page = alices.get(path, **query).content.decode()

    assert "theirplan is the headline" not in page
    assert "theirplan.example.com" not in page
    asked = query.get("q", "-")
    assert "theirplan" not in page.replace(asked, "").replace(asked.partition(":")[2] or "-", "")


def test_team_owners_cannot_open_the_admin(
    alices: Person, ours: TeamData, theirs: TeamData
) -> None:
    before = everything()

    for address in addresses.OF_ADMIN:
        not_hers = both_ways(alices.client, address.path_in(theirs), {})
        nothing = both_ways(alices.client, address.path_to_nothing(), {})
        asked = address.path_in(theirs), address.path_to_nothing()
        for one, other in zip(not_hers, nothing, strict=True):
            assert refusal(one, asked[0])[0] == refusal(other, asked[1])[0], address.route
            assert one.status_code in {302, 307, 404}, address.route
            assert theirs.words not in one.content.decode()
        if address.route not in {"admin/logout/", "admin/login/"}:
            assert all(one["Location"].startswith("/admin/login/") for one in not_hers), address

    assert everything() == before


OF_A_DELIVERY = [each for each in addresses.ALL if each.route.startswith("wake/") and each.room]


@pytest.mark.parametrize("address", OF_A_DELIVERY, ids=lambda address: address.route)
def test_a_key_finds_only_its_own_agents_deliveries(
    ours: TeamData, theirs: TeamData, address: addresses.Address
) -> None:
    client = Client(headers={"Authorization": f"Bearer {ours.key_text}"})
    digest = ours.response.delivery.content_hash
    bodies: dict[str, Any] = {
        "withdraw": {},
        "claim": {"digest": digest},
        "outcome": {"status": "done"},
    }
    body = next((bodies[name] for name in bodies if name in address.route), None)
    method = "GET" if body is None else "POST"

    def call(path: str) -> Any:
        return client.generic(method, path, json.dumps(body), content_type="application/json")

    other = call(address.path_in(theirs))
    nothing = call(address.path_to_nothing())
    own = call(address.path_in(ours))

    assert own.status_code in {200, 201}, own.content
    assert refusal(other) == refusal(nothing)
    assert other.status_code == 404


def test_a_sweep_contains_nothing_of_another_team(ours: TeamData, theirs: TeamData) -> None:
    client = Client(headers={"Authorization": f"Bearer {ours.key_text}"})

    for agent_id in ("", ours.agent.agent_id, theirs.agent.agent_id):
        page = client.get("/wake/v1/responses", {"agent_id": agent_id} if agent_id else {})
        assert theirs.words not in page.content.decode().replace(agent_id or "-", "")


def test_every_address_requires_a_sign_in(ours: TeamData, subtests: pytest.Subtests) -> None:
    client = Client()

    for address in [*addresses.WITH_AN_OBJECT, *addresses.WITHOUT]:
        if address.route.startswith(addresses.PUBLIC):
            continue
        with subtests.test(address.route):
            answers = both_ways(client, address.path_in(ours), fields(ours))

            assert {answer.status_code for answer in answers} <= {302, 405}
            assert any(answer.get("Location", "").startswith("/login/") for answer in answers)
            assert all(ours.words not in answer.content.decode() for answer in answers)


def test_public_pages_are_the_same_for_everyone(alices: Person, ours: TeamData) -> None:
    for path in ("/manifest.webmanifest", "/offline/", "/service-worker.js"):
        own, strange = alices.client.get(path), Client().get(path)

        assert own.status_code == strange.status_code == 200
        assert ours.words not in own.content.decode()
        assert ours.team.name not in own.content.decode()


def test_a_key_opens_no_page_and_a_session_no_endpoint(
    alices: Person, ours: TeamData, theirs: TeamData
) -> None:
    with_key = Client(headers={"Authorization": f"Bearer {ours.key_text}"})

    for address in addresses.ALL:
        path = address.path_in(ours) if address.room not in addresses.OF_NO_TEAM else "/"
        if address.is_protocol and address.route.startswith("wake/v1/resp"):
            assert alices.client.get(path).status_code == 401
        elif not address.is_protocol and not address.route.startswith(addresses.PUBLIC):
            for answer in both_ways(with_key, path, {}):
                assert answer.status_code in {302, 303, 307, 405}, address.route
                assert ours.words not in answer.content.decode()


def test_the_notice_of_an_answer_is_shown_to_its_team_only(
    alices: Person, ours: TeamData, theirs: TeamData
) -> None:
    page = alices.get("/", answered=str(theirs.response.delivery_id)).content.decode()

    assert theirs.words not in page
