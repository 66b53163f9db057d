"""Measures the numbers of "When this is wrong" in docs/decisions.

A test that fails here asks for a decision: decide again, in writing, before the next change. Then
change the number on the page, and in the table below."""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pages.characters.look_alikes import LATIN_LOOK_ALIKES
from tests.architecture.figures import entries_by_directory
from tests.architecture.sources import ROOT, SOURCES, name, nodes, tree
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person
from tests.relay.calling import Caller
from tests.relay.conftest import caller_key, card, newer  # noqa: F401 - fixtures
from tests.types import MakeDelivery
from wake.mcp.tools import TOOLS
from wake.server.work.celery import app as celery

DECISIONS = ROOT / "docs/decisions"
SCRIPTS = sorted((ROOT / "static/js").glob("*.js"))
# A module belongs to sign-in if its path has one of these words in it.
SIGN_IN = ("sign_in", "oidc", "passkeys", "identities")


class Tripwire(NamedTuple):
    page: str
    what: str
    measure: Callable[[], int]
    most: int


def lines(paths: list[Path]) -> int:
    assert paths, "Nothing to measure: the code has moved."
    return sum(len(path.read_text().splitlines()) for path in paths)


def in_path(*words: str) -> list[Path]:
    """Returns the modules whose path names one of these folders or modules."""
    return [path for path in SOURCES if {*path.parts, path.stem} & set(words)]


def dialects() -> int:
    return lines([path for path in SOURCES if name(path).startswith("relay/protocol/")])


def sign_in() -> int:
    return lines([path for path in SOURCES if any(word in name(path) for word in SIGN_IN)])


def around_the_broker() -> int:
    """Counts the modules of the broker and of the fixes around it. The schedule, the ticks and the
    worker that needs no broker do not count as fixes."""
    fixes = {"consumer", "expired_jobs", "redis_broker", "silence", "watchdog"}
    return lines([path for path in in_path("work") if path.stem in fixes])


def scripts_compressed() -> int:
    return len(gzip.compress(b"".join(path.read_bytes() for path in SCRIPTS))) // 1000


def scripts_that_load_parts() -> int:
    return sum("responseType" in path.read_text() for path in SCRIPTS)


def modules_with_compiled_queries() -> int:
    names = {"CompiledQuery", "CompiledUpdate", "insert_columns"}
    return sum(
        any(isinstance(node, ast.Name) and node.id in names for node in nodes(path))
        for path in SOURCES
        if not name(path).startswith("database/")
    )


def hot_views() -> int:
    return len(_classes_with_base("HotView"))


def lines_of_dispatch() -> int:
    (view,) = (
        node
        for path in SOURCES
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and node.name == "HotView"
    )
    (dispatch,) = (node for node in view.body if isinstance(node, ast.FunctionDef))
    return (dispatch.end_lineno or 0) - dispatch.lineno + 1


def kinds_of_steps() -> int:
    """Counts the members of `Step` in the chains of writes."""
    (union,) = (
        node.value
        for node in tree(ROOT / "database/write_chains.py").body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "Step"
    )
    return len(ast.unparse(union).split("|"))


def tokens_of_tools() -> int:
    """Counts a token for each four characters of the list as a client gets it."""
    tools = [tool.listed() for tool in TOOLS.values()]
    return len(json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False)) // 4


def _classes_with_base(base: str) -> list[str]:
    return [
        node.name
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and base in {ast.unparse(one) for one in node.bases}
    ]


TRIPWIRES = [
    Tripwire("0002", "modules with a compiled query", modules_with_compiled_queries, 18),
    Tripwire("0009", "kB of scripts, compressed", scripts_compressed, 20),
    Tripwire("0009", "scripts that load parts of pages", scripts_that_load_parts, 3),
    Tripwire("0020", "lines of the broker and its fixes", around_the_broker, 240),
    Tripwire("0020", "jobs of beat", lambda: len(celery.conf.beat_schedule), 40),
    Tripwire("0021", "lines of the dialects", dialects, 1200),
    Tripwire("0026", "letters of the table", lambda: len(LATIN_LOOK_ALIKES), 200),
    Tripwire("0028", "hot views", hot_views, 5),
    Tripwire("0028", "lines of their dispatch", lines_of_dispatch, 15),
    Tripwire("0040", "lines of the charts", lambda: lines(in_path("charts")), 400),
    Tripwire("0056", "lines of web push", lambda: lines(in_path("web_push")), 600),
    Tripwire("0060", "entries of wake/", lambda: entries_by_directory()["wake"], 31),
    Tripwire("0060", "entries of inbox/", lambda: entries_by_directory()["inbox"], 24),
    Tripwire("0066", "kinds of steps of a chain", kinds_of_steps, 3),
    Tripwire("0073", "lines of sign-in", sign_in, 5000),
    Tripwire("0079", "tokens of the list of tools", tokens_of_tools, 2500),
]
# The tests below count the statements of a request.
STATEMENTS = {"poll": ("0027", 1), "bulk request": ("0027", 2), "list": ("0043", 8)}
ONE_STATEMENT = {"message over A2A": ("0063", 1), "delivery": ("0066", 1)}
# Pages whose number another run measures, with the place to look.
ELSEWHERE = {
    "0019": "`python -m bench`: deliver and poll, in times of the lean reference",
    "0047": "tests/pages/test_page_stack.py counts page faults of deep calls",
    "0054": "`make test` and `.ci/run` say at their end how long they took",
    "0066": "`python -m bench`: deliver; `python -m bench a2a`: the share of the a2a-sdk server",
    "0068": "no number: a second app that stores how one person works has a model for it",
    "0069": "no number: the contract of import-linter fails when a feature imports one above it",
    "0074": "tests/architecture/test_flows.py",
    "0067": "`python -m bench callbacks`: the worker's CPU for each callback",
    "0077": "no number: the destinations are those of one server's settings",
    "0078": "no number: what browsers show a person decides it",
    "0080": "no number: what people ask to see, and what other servers quote, decides it",
    "0082": "tests/check/test_kit.py",
    "0088": "`python -m bench idle`",
    "0084": "no number: what the clients of vendors do decides it",
    "0095": "`python -m bench growth`: the hot paths after a million deliveries",
    "0094": "no number: how people use the pages of one server decides it",
    "0096": "tests/stress/faults/test_broker.py",
    "0093": "no number: the size of one team, and what engines can do, decide it",
    "0085": "no number: what the pooler in use passes on decides it",
    "0086": "`python -m bench metrics`",
    "0087": "no number: what clients can read decides it",
    "0083": "`python -m bench claims`: claims, outcomes and receipts, in times of a poll",
    "0081": "no number: the releases of Zensical, and tests/browser/documentation",
    "0075": "no number: a log that has every receipt comes with a decision of its own",
    "0089": "tests/database/test_turns.py",
    "0076": "`python -m bench log`: a sweep of 1,000 events, and proofs",
    "0090": "no number: the companies whose people share a server decide it",
    "0092": "no number: the machine of an operator decides it",
    "0091": "no number: whether the package follows Helm's next version decides it",
}


def section_of(page: str) -> str:
    """Returns "When this is wrong" of a page, on one line, or an empty text if there is none."""
    (path,) = DECISIONS.glob(f"{page}-*.md")
    _, _, rest = path.read_text().partition("**When this is wrong.**")
    return " ".join(re.split(r"\n\n(?=\*\*|Both )", rest)[0].split())


@pytest.mark.once
@pytest.mark.parametrize("wire", TRIPWIRES, ids=lambda wire: f"{wire.page}, {wire.what}")
def test_a_decision_still_holds(wire: Tripwire) -> None:
    assert wire.measure() <= wire.most, f"Decide {wire.page} again: {section_of(wire.page)}"


@pytest.mark.once
def test_each_page_names_the_numbers_that_are_measured() -> None:
    numbers = [
        *((wire.page, wire.most) for wire in TRIPWIRES),
        *STATEMENTS.values(),
        *ONE_STATEMENT.values(),
    ]

    missing = [
        (page, most)
        for page, most in numbers
        if not re.search(rf"(?<![\d,]){most:,}(?!,?\d)", section_of(page))
    ]

    assert missing == []


@pytest.mark.once
def test_each_page_with_a_tripwire_is_measured() -> None:
    pages = {path.name[:4] for path in DECISIONS.glob("0*.md")}
    measured = {
        *(wire.page for wire in TRIPWIRES),
        *(page for page, _ in (*STATEMENTS.values(), *ONE_STATEMENT.values())),
        *ELSEWHERE,
    }

    assert {page for page in pages if section_of(page)} == measured


@pytest.mark.django_db
def test_a_poll_and_a_bulk_request_are_few_statements(caller: AgentClient) -> None:
    delivery = caller.deliver()

    for path, what in (
        (f"/wake/v1/response/{delivery}", "poll"),
        ("/wake/v1/responses", "bulk request"),
    ):
        caller.client.get(path, headers=caller.headers)
        with CaptureQueriesContext(connection) as captured:
            answer = caller.client.get(path, headers=caller.headers)

        assert answer.status_code == 200
        assert len(captured) <= STATEMENTS[what][1], captured.captured_queries


@pytest.mark.django_db
def test_the_list_is_few_statements(alices: Person, make_delivery: MakeDelivery) -> None:
    for _ in range(3):
        make_delivery()

    alices.get("/")
    with CaptureQueriesContext(connection) as captured:
        answer = alices.get("/")

    assert answer.status_code == 200
    assert len(captured) <= STATEMENTS["list"][1], captured.captured_queries


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite stores in steps")
def test_storing_is_one_statement(
    caller: AgentClient,
    newer: Caller,  # noqa: F811
    settings: Any,
) -> None:
    settings.WAKE_A2A_WAIT_SECONDS = 0
    requests: dict[str, Callable[[], object]] = {
        "delivery": caller.deliver,
        "message over A2A": newer.send,
    }

    for what, send in requests.items():
        send()
        with CaptureQueriesContext(connection) as captured:
            send()

        assert len(captured) <= ONE_STATEMENT[what][1], captured.captured_queries
