"""The people, teams and agents of every test: Alice owns, Bob reviews, Rita reads, Mallory does
not belong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client

from accounts import append_only, keys, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Membership, Team, User
from tests import migrated
from wake.deliveries import deliver
from wake.models import CallbackHost, Delivery, Response
from wake.responses import release, respond

PASSWORD = "correct horse battery"


def pytest_unconfigure(config: pytest.Config) -> None:
    """The folder is this process's own (tests/settings.py)."""
    shutil.rmtree(settings.WAKE_DATA, ignore_errors=True)
    if not hasattr(config, "workerinput"):
        migrated.remove(settings.DATABASE_URL)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """What is there, a copy, is not made anew. SQLite's file goes with its folder."""
    return connection.vendor == "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """Names are of this process already (tests/settings.py)."""
    source, ours = migrated.migrated(settings.DATABASE_URL), connection.settings_dict["TEST"]
    if connection.vendor == "postgresql":
        ours["TEMPLATE"] = source
    else:
        shutil.copy(source, ours["NAME"])


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


@pytest.fixture(autouse=True)
def _flushed_audit(request: pytest.FixtureRequest) -> Iterator[None]:
    """A transactional test ends with a flush, which empties the audit, too, and then makes its
    triggers again as after a migration."""
    marker = request.node.get_closest_marker("django_db")
    needed = {"transactional_db", "live_server"} & set(request.fixturenames)
    if not needed and not (marker and marker.kwargs.get("transaction")):
        yield
        return
    request.getfixturevalue("transactional_db")  # so that this ends before it does
    yield
    append_only.let_go(connection)
    if connection.vendor == "postgresql":
        ops: Any = connection.ops
        ops.sql_flush = _delete_all


def _delete_all(_: Any, tables: Sequence[str], **__: Any) -> list[str]:
    """TRUNCATE gives each of fifty tables a new file, which takes a third of a second; foreign keys
    are looked at when all of it is done."""
    return [f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables]  # noqa: S608


def _member(team: Team, email: str, role: str) -> User:
    user = User.objects.create_user(email, PASSWORD)
    Membership.objects.create(team=team, user=user, role=role)
    return user


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(slug="garden", name="Garden")


@pytest.fixture
def alice(team: Team) -> User:
    return _member(team, "alice@example.com", Membership.Role.OWNER)


@pytest.fixture
def bob(team: Team) -> User:
    return _member(team, "bob@example.com", Membership.Role.REVIEWER)


@pytest.fixture
def rita(team: Team) -> User:
    return _member(team, "rita@example.com", Membership.Role.READER)


@pytest.fixture
def mallory(db: None) -> User:
    return _member(
        Team.objects.create(slug="other", name="Other"),
        "mallory@example.com",
        Membership.Role.OWNER,
    )


@pytest.fixture
def agent(team: Team) -> Agent:
    agent = Agent.objects.create(team=team, agent_id="research-agent-01")
    signing_secrets.ensure_secret(agent, by=SYSTEM)
    return agent


@pytest.fixture
def key(agent: Agent) -> ApiKey:
    """The row; its text is `key.text`."""
    row, text = keys.mint(agent, by=SYSTEM)
    row.text = text  # type: ignore[attr-defined]
    return row


class AgentClient:
    """An agent's HTTP: JSON in, and Django's own test response out."""

    def __init__(self, key: ApiKey, agent_id: str) -> None:
        self.key = key
        self.agent_id = agent_id
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]

    def payload(self, **fields: Any) -> dict[str, Any]:
        return {
            "agent_id": self.agent_id,
            "provider": "claude",
            "type": "output",
            "headline": "Market report ready for your review",
            "summary": "Analysed the ten largest competitors.",
            **fields,
        }

    def post(self, body: Any, **headers: str) -> Any:
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(
            "/wake/v1/deliver",
            content,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def deliver(self, **fields: Any) -> str:
        """The id of a delivery that was accepted."""
        answer = self.post(self.payload(**fields))
        assert answer.status_code == 201, answer.content
        return str(answer.json()["delivery_id"])

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/wake/v1/{path}", query, headers=self.headers)

    def poll(self, delivery_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.get(f"response/{delivery_id}").json()
        return answer

    def sweep(self, **query: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.get("responses", **query).json()
        return answer


@pytest.fixture
def caller(key: ApiKey) -> AgentClient:
    return AgentClient(key, key.agent.agent_id)


@pytest.fixture
def others(team: Team) -> AgentClient:
    """Another agent of the same team."""
    agent = Agent.objects.create(team=team, agent_id="writing-agent-02")
    row, text = keys.mint(agent, by=SYSTEM)
    row.text = text  # type: ignore[attr-defined]
    return AgentClient(row, agent.agent_id)


@pytest.fixture
def in_test_lane(agent: Agent) -> AgentClient:
    """The same agent as `caller`, with a wk_test_ key."""
    row, text = keys.mint(agent, by=SYSTEM, lane=ApiKey.Lane.TEST)
    row.text = text  # type: ignore[attr-defined]
    return AgentClient(row, agent.agent_id)


@pytest.fixture
def allowed_host(team: Team) -> str:
    """A host that the team's callbacks may go to."""
    return CallbackHost.objects.create(team=team, pattern="hooks.example.com").pattern


@pytest.fixture
def make_delivery(agent: Agent) -> Callable[..., Delivery]:
    """A delivery through the verb, without HTTP or quota."""

    def make(**fields: Any) -> Delivery:
        given: dict[str, Any] = {
            "agent_id": agent.agent_id,
            "provider": "claude",
            "type": "output",
            "headline": "Market report ready for your review",
            "summary": "Analysed the ten largest competitors.",
            **fields,
        }
        return deliver(agent, **given).delivery

    return make


@pytest.fixture
def answer(alice: User) -> Callable[..., Response]:
    """Alice's answer to a delivery or its id: released at once, unless `held`; given `at` that
    instant."""

    def give(
        delivery: Delivery | str,
        status: str = "approved",
        *,
        by: User = alice,
        at: datetime | None = None,
        held: bool = False,
        **words: Any,
    ) -> Response:
        row = delivery if isinstance(delivery, Delivery) else Delivery.objects.get(pk=delivery)
        response = respond(row, by=by, status=status, content_hash=row.content_hash, at=at, **words)
        if not held:
            release(response, at=response.answered_at)
            response.refresh_from_db()
        return response

    return give


@pytest.fixture
def age() -> Callable[..., None]:
    """Lets time pass for a delivery and its answer, as if both had happened that much earlier."""

    def shift(delivery: Delivery | str, **much: float) -> None:
        by = timedelta(**much)
        pk = delivery.pk if isinstance(delivery, Delivery) else delivery
        _shift(Delivery, by, pk=pk)
        _shift(Response, by, delivery_id=pk)

    return shift


def _shift(model: Any, by: timedelta, **which: Any) -> None:
    """Every time that the row has, except the cursor's stamp, which is what was handed out."""
    for row in model.objects.filter(**which):
        names = [field.name for field in model._meta.concrete_fields if field.name.endswith("_at")]
        for name in names:
            if name != "activity_at" and (then := getattr(row, name)) is not None:
                setattr(row, name, then - by)
        row.save(update_fields=names)


@pytest.fixture
def signed_in(client: Client) -> Callable[[User], Client]:
    def sign_in(user: User) -> Client:
        client.force_login(user)
        return client

    return sign_in
