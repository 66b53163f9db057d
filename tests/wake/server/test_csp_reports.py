"""Browsers report what the content security policy blocked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.logged import logged
from tests.fixtures.strict_client import Client
from tests.spec.http.test_errors import error_of
from wake.server import csp_reports
from wake.server.http.machine_paths import row_of

OLD, NEW = "application/csp-report", "application/reports+json"
SECRET = "saffroninthesafe"


@pytest.fixture(autouse=True)
def _nothing_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csp_reports, "_seen", csp_reports.Seen())  # another process


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """Returns the lines of the log, as they are written."""
    with logged(csp_reports.log) as lines:
        yield lines


def old(blocked: str = "inline", directive: str = "script-src-elem") -> dict[str, Any]:
    page = f"https://wake.example.com/deliveries/{SECRET}/"
    report = {"document-uri": page, "effective-directive": directive, "blocked-uri": blocked}
    return {"csp-report": {**report, "script-sample": SECRET, "status-code": 200}}


def new(blocked: str = "inline", directive: str = "script-src-elem") -> dict[str, Any]:
    page = f"https://wake.example.com/deliveries/{SECRET}/"
    body = {"documentURL": page, "effectiveDirective": directive, "blockedURL": blocked}
    about = {"type": "csp-violation", "url": page, "age": 5, "user_agent": SECRET}
    return {**about, "body": {**body, "sample": SECRET}}


def send(body: Any, kind: str, **headers: str) -> Any:
    raw = body if isinstance(body, str | bytes) else json.dumps(body)
    return Client(sends_tokens=False).post("/csp-reports", raw, kind, headers=headers)


@pytest.mark.parametrize(("body", "kind"), [(old(), OLD), ([new(), new()], NEW)])
def test_both_formats_are_taken_and_logged_in_one_line(
    body: Any, kind: str, lines: list[str]
) -> None:
    answers = [send(body, kind) for _ in range(3)]

    assert {answer.status_code for answer in answers} == {204}
    assert lines == ["A browser blocked content: script-src-elem, inline (reports: 1)"]


@pytest.mark.parametrize(
    ("blocked", "words"),
    [
        (f"https://{SECRET}.example/{SECRET}?{SECRET}", "https"),
        ("http://127.0.0.1:8000/static/x.js", "an address of this server"),
        (f"chrome-extension://{SECRET}/x.js", "a browser extension"),
        ("data", "data"),
        ("trusted-types-sink", "trusted-types-sink"),
        (SECRET, "something else"),
        ("http://[", "something else"),
        ("a\nb", "something else"),
        ("", "something else"),
        # The time to normalise a host grows with the square of its length, here to minutes.
        ("https://a" + "\u0301\u0316" * 200_000, "https"),
    ],
)
def test_only_known_words_of_a_report_are_logged(
    blocked: str, words: str, lines: list[str]
) -> None:
    send(old(blocked), OLD)

    assert lines == [f"A browser blocked content: script-src-elem, {words} (reports: 1)"]


def test_other_kinds_of_reports_are_ignored(lines: list[str]) -> None:
    other = {"type": "deprecation", "url": "https://x", "body": {"id": SECRET}}

    assert send([other, new("eval")], NEW).status_code == 204
    assert lines == ["A browser blocked content: script-src-elem, eval (reports: 1)"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", OLD),
        ("{oops", OLD),
        (b"\xff", OLD),
        ({}, OLD),
        ({"csp-report": []}, OLD),
        ({"csp-report": {}}, OLD),
        (old(directive=f"{SECRET}-src"), OLD),
        ({"csp-report": {"effective-directive": 7}}, OLD),
        ({"csp-report": {"effective-directive": "img-src", "blocked-uri": {}}}, OLD),
        (old(), NEW),
        ([new()], OLD),
        ([new()], "application/json"),
        ([SECRET], NEW),
        ([{"type": "csp-violation"}], NEW),
        ([{"type": "csp-violation", "body": {}}], NEW),
        ([new()] * 101, NEW),
        ("[" * 10_000, NEW),
    ],
)
def test_a_tampered_body_is_malformed(body: Any, kind: str, lines: list[str]) -> None:
    error_of(send(body, kind), 400, "malformed")

    assert lines == []


def test_reports_do_not_flood_the_log(lines: list[str], settings: Any) -> None:
    """The reports of one network are limited. Many networks together can only report a few
    kinds."""
    codes = [send(old(f"https://{number}.example/"), OLD).status_code for number in range(130)]
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"
    for number in range(130):
        send(old(f"scheme{number}://x"), OLD, **{"X-Real-Ip": f"192.0.2.{number}"})

    assert codes[:60] == [204] * 60
    assert 429 in codes, "A new minute may begin once meanwhile."
    assert len(lines) == 2


def test_while_redis_is_away_the_log_is_not_flooded_either(
    lines: list[str], redis_away: None
) -> None:
    codes = {send(old(), OLD).status_code for _ in range(100)}

    assert codes == {204}
    assert len(lines) == 1


def test_a_kind_is_logged_again_after_an_hour_with_its_number() -> None:
    seen = csp_reports.Seen()
    kind = ("img-src", "data")

    assert seen.record(kind, at=0.0) == 1
    assert [seen.record(kind, at=at) for at in (1.0, 3_599.0)] == [None, None]
    assert seen.record(kind, at=3_600.0) == 3


def test_only_a_post_is_a_report(client: Client) -> None:
    answer = client.get("/csp-reports")

    error_of(answer, 405, "method_not_allowed")
    assert answer["Allow"] == "POST"


def test_a_body_is_small_and_a_page_names_the_endpoint(client: Client, db: None) -> None:
    row = row_of("/csp-reports")
    page = client.get("/login/")

    assert row is not None
    assert row.body_limit == "WAKE_MAX_REPORT_BYTES"
    assert page["Reporting-Endpoints"] == 'csp="/csp-reports"'
    assert "report-to csp" in page["Content-Security-Policy"]
