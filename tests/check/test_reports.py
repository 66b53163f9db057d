"""A report shows each FAIL so that another person can repeat it, and no key."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from tests.check.clock import FastClock
from tests.check.judging import NO_PLAIN_HTTP, TEXTS, judged
from tests.check.small_server import SmallServer, listening
from tests.check.variants import (
    DeclaresTooMuch,
    FailsOnBadJson,
    RedirectsSlash,
    SignsOtherBytes,
    TellsNoChallenge,
)
from wake_check import arguments, reports
from wake_check.__main__ import judge, main
from wake_check.exchanges import Exchange, masked
from wake_check.preparing import Unusable
from wake_check.reports import Report
from wake_check.verdicts import Result

VARIABLES = {**TEXTS, "WAKE_AGENT_ID": "painter"}


@pytest.fixture(scope="module")
def report() -> Report:
    return judged(FailsOnBadJson)


def test_a_failure_shows_the_sentence_the_request_the_answer_and_a_command(report: Report) -> None:
    text = reports.text(report)

    assert "FAIL        must       deliver-malformed" in text
    assert "“400: Malformed body or missing required fields” (spec, Error responses)" in text
    assert "The status is 500, and not 400: the body is an unclosed object." in text
    assert "authorization: Bearer wk_live_..." in text
    assert '"code": "internal_error"' in text
    assert '-H "Authorization: Bearer $WAKE_API_KEY"' in text
    assert [key for key in TEXTS.values() if key in text] == []


def test_the_command_repeats_the_request() -> None:
    small = SmallServer(FastClock())
    with listening(small) as origin:
        exchange = Exchange(
            "POST",
            f"{origin}/wake/v1/deliver",
            {"authorization": "Bearer wk_live_own", "content-type": "application/json"},
            b'{"it\'s": 1}',
            "WAKE_API_KEY",
        )
        done = subprocess.run(
            ["/bin/sh", "-c", f"{exchange.curl} -s"], env=VARIABLES, capture_output=True, text=True
        )

    assert done.stdout.startswith("HTTP/1.1 400")
    assert "missing_field" in done.stdout


def test_a_verdict_that_was_not_made_has_its_reason(report: Report) -> None:
    shown = reports.text(report)
    whole = reports.text(report, is_whole=True)

    assert "The agent has" in shown
    assert "agent-must-1" not in shown
    assert "It binds agents, and this kit judges servers." in whole
    assert "PASS        must       deliver-created" in whole


def test_an_extension_without_a_check_is_named(report: Report) -> None:
    unknown = Report(report.server, report.revision, report.verdicts, ["teleport", "batch"])

    assert "NOT JUDGED  extension teleport" in reports.text(unknown)
    assert json.loads(reports.as_json(unknown))["extensions_without_check"] == ["teleport"]


def test_json_has_every_requirement(report: Report) -> None:
    value = json.loads(reports.as_json(report))
    (malformed,) = [row for row in value["verdicts"] if row["id"] == "deliver-malformed"]

    assert len(value["verdicts"]) == len(report.verdicts)
    assert value["broken"] is True
    assert malformed["result"] == "FAIL"
    assert malformed["exchange"]["curl"].startswith("curl -i http://127.0.0.1:")
    assert value["counts"]["must"]["FAIL"] == 1


def test_junit_has_failures_and_skipped_cases(report: Report) -> None:
    suite = ET.fromstring(reports.junit(report))  # noqa: S314 - our own

    assert suite.get("tests") == str(len(report.verdicts))
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert failed == {"deliver-malformed", "json-strict"}
    skipped = {case.get("name"): case.find("skipped") for case in suite}
    reason = skipped["agent-must-1"]
    assert reason is not None
    assert reason.get("message") == "It binds agents, and this kit judges servers."


def test_a_callback_is_shown_as_it_came() -> None:
    text = reports.text(judged(SignsOtherBytes))

    assert "X-Wake-Signature does not match the bytes of the body." in text
    assert "x-wake-signature: sha256=" in text


@pytest.mark.parametrize(
    ("variant", "options", "status"),
    [
        (SmallServer, [], 0),
        (DeclaresTooMuch, [], 1),
        (RedirectsSlash, [], 0),
        (RedirectsSlash, ["--strict"], 1),
        (TellsNoChallenge, ["--strict"], 0),
    ],
)
def test_the_exit_status(
    variant: type[SmallServer],
    options: list[str],
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The challenge of a 401 is disputed, so breaking it is shown and does not count."""
    clock = FastClock()
    files = ["--junit", str(tmp_path / "a.xml"), "--markdown", str(tmp_path / "a.md")]
    with listening(variant(clock)) as origin:
        words = [origin, "--driver", "none", "--callback-port", "0", *files, *options]
        given = arguments.parser().parse_args([*words, "--plain-http", NO_PLAIN_HTTP])

        assert judge(given, VARIABLES, clock) == status

    printed = capsys.readouterr().out
    assert "No person answers: choose one with --driver." in printed
    assert ("Disputed: " in printed) == (variant is TellsNoChallenge)
    assert (tmp_path / "a.xml").read_text().startswith("<?xml")
    assert "| `deliver-created` |" in (tmp_path / "a.md").read_text()


def test_a_server_that_does_not_answer_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)

    assert main(["http://127.0.0.1:9"]) == 2
    assert "http://127.0.0.1:9 does not answer." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WAKE_AGENT_ID": "painter"}, "Set WAKE_API_KEY"),
        ({**VARIABLES, "WAKE_AGENT_ID": ""}, "Set WAKE_API_KEY"),
        ({**VARIABLES, "WAKE_API_KEY": "wk_live_unknown"}, "refuses the key"),
    ],
)
def test_a_key_that_does_not_work_is_no_verdict(variables: dict[str, str], message: str) -> None:
    with listening(SmallServer(FastClock())) as origin:
        given = arguments.parser().parse_args([origin, "--driver", "none"])

        with pytest.raises(Unusable, match=message):
            judge(given, variables, FastClock())


def test_a_key_of_another_form_is_masked_too() -> None:
    exchange = Exchange(
        "POST", "http://a/", {"authorization": "Bearer odd key"}, b"{}", "WAKE_API_KEY", 401
    )
    exchange.key, exchange.answer = "odd key", b'{"error": "odd key is unknown"}'

    for text in (exchange.request_text, exchange.answer_text, exchange.curl):
        assert "odd key" not in text


def test_an_answer_does_not_control_the_terminal(report: Report) -> None:
    (verdict, *_) = [each for each in report.verdicts if each.result is Result.FAIL]
    assert verdict.exchange is not None
    shown = replace(verdict, exchange=replace(verdict.exchange, answer=b"\x1b[2J gone"))

    text = reports.text(Report(report.server, report.revision, [shown], []))

    assert "\x1b" not in text
    assert "\\x1b[2J gone" in text


def test_keys_and_secrets_are_masked() -> None:
    text = "wk_live_abc-D_1 and wk_test_x, whsec_YWJj/+= and wk_gate_1"

    assert masked(text) == "wk_live_... and wk_test_..., whsec_... and wk_gate_..."
