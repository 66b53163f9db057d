"""A person approves and signs a refund in Chromium. The agent sees the approval, a gate uses it
once, and the agent reports what came of it. A stranger then verifies all of this from files, in an
empty folder and without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_django.live_server_helper import LiveServer

from accounts.agents import gates
from accounts.audit import SYSTEM
from accounts.log import sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import ApiKey, Passkey, Team, User
from accounts.sign_in.passkeys.public_keys import fingerprint
from database.clock import database_now
from tests.browser.answering.test_signing import SIGN
from tests.browser.people.test_passkeys import SUGGESTS_NONE, Device, add
from tests.browser.screen import Open, wait_for_answers
from tests.client.connector.relay import CLIENT
from tests.types import Age
from wake_client import WakeClient
from wake_client.shell.output import ExitStatus

# The command ends if it asks for a name or opens a socket.
OFFLINE = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"{event} was called")

sys.addaudithook(refuse)
from wake_client.__main__ import main
sys.exit(main())
"""
REFUND = {"action": "refund", "order": "4711", "amount": 180, "currency": "EUR"}


def wake(folder: Path, *words: str, key: str = "", origin: str = "") -> Any:
    """Runs a command of the client. Without an origin, the command has no network."""
    begin = ["-m", "wake_client"] if origin else ["-c", OFFLINE]
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CLIENT), "HOME": str(folder)}
    if origin:
        variables |= {"WAKE_ENDPOINT": origin, "WAKE_API_KEY": key}
        variables["WAKE_AGENT_ID"] = "research-agent-01"
    return subprocess.run(
        [sys.executable, *begin, *words],
        env=variables,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_was_approved_is_done_once_and_can_be_proved(
    open_browser: Open,
    live_server: LiveServer,
    alice: User,
    team: Team,
    key: ApiKey,
    age: Age,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.WAKE_ORIGIN = live_server.url
    Team.objects.update(signs_irreversible=True)
    text: str = key.text  # type: ignore[attr-defined]
    _, gate_key = gates.issue(
        team, name="Refunds", agents=[key.agent], by=SYSTEM, at=database_now()
    )
    agent = WakeClient(live_server.url, text, agent_id=key.agent.agent_id, provider="claude")
    receipt = agent.deliver(
        "question",
        "Refund 180 EUR?",
        "To the customer of order 4711.",
        details=REFUND,
        irreversible=True,
        digest=True,
    )

    # A person reads the delivery, approves it, and signs with a passkey.
    screen = open_browser(alice, accept_downloads=True)
    screen.context.add_init_script(SUGGESTS_NONE)
    Device(screen)
    add(screen)
    page = screen.go(f"/deliveries/{receipt.delivery_id}/")
    assert "180" in page.inner_text("main")
    wait_for_answers(page)
    screen.press("Yes, go ahead")
    screen.press(SIGN)
    age(receipt.delivery_id, minutes=1)

    # The agent compares the answer with what it sent. The gate uses the approval once.
    answer = agent.wait(receipt.delivery_id, digest=receipt.digest)
    assert answer.status == "approved"
    claim = ["claim", receipt.delivery_id, "--digest", receipt.digest or ""]
    used = wake(tmp_path, *claim, key=gate_key, origin=live_server.url)
    again = wake(tmp_path, *claim, key=gate_key, origin=live_server.url)
    assert (used.returncode, again.returncode) == (ExitStatus.OK, ExitStatus.NOT_CLAIMED)
    reported = wake(
        tmp_path,
        *("report", receipt.delivery_id, "done", "Refund re_3F sent."),
        key=text,
        origin=live_server.url,
    )
    assert reported.returncode == ExitStatus.OK

    # The page tells the person how the refund ended.
    shown = screen.go(f"/deliveries/{receipt.delivery_id}/").inner_text("main")
    for line in ("Refund re_3F sent.", "by Refunds", "passkey"):
        assert line in shown

    # The first download makes the receipt. The second download, after the next checkpoint, has the
    # proof, too.
    for _ in range(2):
        with page.expect_download() as download:
            page.get_by_role("link", name="Download receipt").click()
        sweep.append_new(at=database_now())
        checkpoints.make(at=database_now())
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    Path(download.value.path()).rename(stranger / "receipt.tlog-proof")
    keys = screen.context.request.get(f"{live_server.url}/.well-known/wake-keys.json")
    (stranger / "keys.json").write_text(keys.text())
    raw = screen.context.request.get(
        f"{live_server.url}/wake/v1/response/{receipt.delivery_id}",
        headers={"Authorization": f"Bearer {text}"},
    )
    (stranger / "answer.json").write_text(raw.text())

    # A stranger believes neither the agent nor the server, and has no network.
    known = fingerprint(Passkey.objects.get())
    verify = ["verify", "receipt.tlog-proof", "--keys", "keys.json", "--signer", known]
    proved = wake(stranger, *verify, "--answer", "answer.json", "--json")
    assert proved.returncode == ExitStatus.OK, proved.stdout + proved.stderr
    verdicts = json.loads(proved.stdout)
    assert [verdicts[name] for name in ("signed", "signed_by_passkey", "logged")] == [True] * 3
    assert verdicts["content_matches"] is True
    claims = verdicts["claims"]
    assert (claims["status"], claims["digest"], claims["via"]) == (
        *("approved", receipt.digest),
        "passkey",
    )
    assert claims["claimed_at"] is not None

    changed = (stranger / "answer.json").read_text().replace('"feedback":""', '"feedback":"All."')
    changed = changed.replace('"feedback":null', '"feedback":"All."')
    (stranger / "answer.json").write_text(changed)
    refused = wake(stranger, *verify, "--answer", "answer.json")
    assert refused.returncode == ExitStatus.CONTENT_DIFFERS
