"""Implements `wake doctor`, which finds problems between this machine and the server."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from wake_client.client import WakeClient
from wake_client.errors import KeyNotValid, NotAccepted, NotFound, WakeError
from wake_client.http import addresses
from wake_client.logins.stored import Access, path_of_logins
from wake_client.shell.access import access
from wake_client.shell.output import ExitStatus, add_parser, show
from wake_client.visible_text import visible

# A larger difference between clocks does harm: receivers of callbacks accept a signature for five
# minutes, and deadlines are shown to the second.
MAX_SECONDS_APART = 60
NOTHING = "00000000-0000-4000-8000-000000000000"
EXAMPLE = """\
  wake doctor
  wake doctor --callback https://hooks.example.com/wake
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Holds the result of one check: whether it passed, what to do if not, and the exit status
    then."""

    check: str
    passed: bool
    message: str
    status: ExitStatus = ExitStatus.OK

    def facts(self) -> dict[str, Any]:
        return {"check": self.check, "passed": self.passed, "message": self.message}


def _passed(check: str, message: str) -> Finding:
    return Finding(check, passed=True, message=message)


def _failed(check: str, message: str, *, status: ExitStatus = ExitStatus.FAILED) -> Finding:
    return Finding(check, passed=False, message=message, status=status)


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(subcommands, "doctor", "say what is wrong", start, example=EXAMPLE)
    parser.add_argument(
        "--callback", metavar="URL", help="checks that callbacks may go to this endpoint"
    )


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
    transport: httpx.BaseTransport | None = None,
    now: Callable[[], float] = time.time,
) -> int:
    """Returns 0 if every check passed, 3 if the key is not valid, else 1. A check is left out if it
    needs an earlier check that has failed."""
    findings: list[Finding] = []
    try:
        credentials = access(
            variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
        )
        addresses.origin(credentials.endpoint)
    except ValueError as error:
        findings.append(_failed("access", str(error)))
    else:
        findings += _of_files(variables)
        findings += _of_server(credentials, transport, now)
        if all(finding.passed for finding in findings):
            findings += _of_key(credentials, arguments.callback, make_client)
    passed = all(finding.passed for finding in findings)
    lines = [
        visible(f"{'ok  ' if each.passed else 'FAIL'} {each.check}: {each.message}")
        for each in findings
    ]
    facts = {"passed": passed, "findings": [finding.facts() for finding in findings]}
    show(arguments, facts, "\n".join(lines))
    return next((each.status for each in findings if not each.passed), ExitStatus.OK)


def _of_files(variables: Mapping[str, str]) -> list[Finding]:
    path = path_of_logins(variables)
    if not path.exists():
        return []
    if path.stat().st_mode & 0o077:
        return [_failed("file", f"others can read your keys: chmod 600 {path}")]
    return [_passed("file", f"{path} can be read by you alone")]


def _of_server(
    credentials: Access, transport: httpx.BaseTransport | None, now: Callable[[], float]
) -> list[Finding]:
    """Makes requests without the key, because the server may not be Wake."""
    origin = addresses.origin(credentials.endpoint)
    try:
        with httpx.Client(transport=transport, timeout=10, follow_redirects=False) as http:
            response = http.get(f"{addresses.api(credentials.endpoint)}")
    except httpx.ConnectError as error:
        is_tls = "CERTIFICATE" in str(error).upper() or "SSL" in str(error).upper()
        return [_failed("TLS" if is_tls else "server", f"{origin}: {error}")]
    except httpx.HTTPError as error:
        return [_failed("server", f"{origin} does not answer: {_reason(error)}")]
    try:
        protocol = response.json()["protocol"]
    except (ValueError, KeyError, TypeError):
        message = f"{origin} answered {response.status_code}, and is no Wake server"
        return [_failed("server", message)]
    findings = [_passed("server", f"{origin} speaks WAKE {protocol}")]
    if date := response.headers.get("Date"):
        findings.append(_clock(date, now()))
    return findings


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _clock(date: str, at: float) -> Finding:
    try:
        apart = int(at - parsedate_to_datetime(date).timestamp())
    except ValueError:
        return _passed("clock", "the server does not tell its time")
    if abs(apart) > MAX_SECONDS_APART:
        way = "ahead of" if apart > 0 else "behind"
        message = f"this machine is {abs(apart)} s {way} the server: set its clock"
        return _failed("clock", message)
    return _passed("clock", "this machine and the server agree on the time")


def _of_key(
    credentials: Access, callback: str | None, make_client: Callable[..., WakeClient]
) -> list[Finding]:
    try:
        with make_client(
            credentials.endpoint, credentials.key, agent_id=credentials.agent_id, retry_for=5
        ) as client:
            client.sweep(limit=1)
            findings = [_passed("key", "the server accepts it")]
            if not credentials.agent_id:
                message = "set WAKE_AGENT_ID, use --agent, or run `wake login`"
                return [*findings, _failed("agent", f"its id is not known: {message}")]
            return [*findings, *_of_deliveries(client, callback)]
    except KeyNotValid:
        message = "it is unknown, revoked or expired; ask a person for a new one"
        return [_failed("key", message, status=ExitStatus.KEY_NOT_VALID)]
    except (WakeError, ValueError) as error:
        return [_failed("key", str(error))]


def _of_deliveries(client: WakeClient, callback: str | None) -> list[Finding]:
    """Tries a delivery that supersedes a nonexistent one. The server checks this delivery like any
    other, and then refuses it. So nothing is stored, and no quota is used."""
    try:
        client.deliver(
            "update", "wake doctor", "This is not stored.",
            supersedes=NOTHING, callback_webhook=callback,
        )  # fmt: skip
    except (NotAccepted, NotFound) as refusal:
        problems = {problem.field: problem.message for problem in refusal.fields}
        if message := problems.get("callback_webhook"):
            return [_failed("allowlist", message)]
        if "supersedes" in problems:
            findings = [_passed("agent", "this key may deliver under its id")]
            hosts = _passed("allowlist", "callbacks may go there")
            return [*findings, hosts] if callback else findings
        return [_failed("agent", str(refusal))]
    except WakeError as error:
        return [_failed("agent", str(error))]
    return [_failed("agent", "the server stored a delivery that it should have refused")]
