"""Implements `wake run`. Claude Code ends at a question, and continues when a person has
answered."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from wake_client.answers import Answer
from wake_client.client import WakeClient
from wake_client.errors import Unavailable
from wake_client.files import state_file
from wake_client.hook.calls import BYPASS, BYPASSED
from wake_client.hook.deferred import Deferred
from wake_client.hook.settings import reports_of_claude
from wake_client.logins.stored import Access
from wake_client.shell.access import access
from wake_client.shell.output import ExitStatus, add_parser, guarded, progress, say
from wake_client.visible_text import visible_lines

MATCHER = "Bash|PowerShell|Write|Edit|NotebookEdit|WebFetch|AskUserQuestion|ExitPlanMode|mcp__.*"
DEFERRED = "tool_deferred"
# The hook denies the call after 45 seconds, because Claude Code runs a call whose hook takes too
# long.
HOOK_SECONDS = 60
# If the hook cannot be started, or is killed, this blocks the call. With any status but 0 and 2,
# Claude Code would run the call. Claude Code has `onFailure` for this since 2.1.295; earlier
# versions ignore that.
OR_BLOCK = "|| { echo 'wake hook did not run, so this call is blocked' >&2; exit 2; }"
BYPASSING = ("--dangerously-skip-permissions", BYPASS)
PRINT = ("-p", "--print")
NEXT_STEP = 'Put it after two dashes: wake run -- claude -p "Publish the package"'
EXAMPLE = """\
  wake run -- claude -p "Publish the package" --model sonnet
  wake run --resume 7c1e0f6a -- claude -p --model sonnet

Claude Code asks people before each tool that --tools names. Its process ends with the question, and
nothing is held open: the answer, after minutes or days, resumes the session. The prompt follows -p,
or comes on stdin. The exit status is the exit status of the last `claude`.
"""


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(
        subcommands, "run", "run Claude Code, and resume it with people's answers", start,
        example=EXAMPLE, json_help="print what Claude Code printed, which is JSON",
    )  # fmt: skip
    parser.add_argument("--resume", metavar="SESSION", help="go on with a session that asked")
    parser.add_argument(
        "--tools", metavar="REGEX", default=MATCHER, help="which tools to ask about"
    )
    parser.set_defaults(takes_command=True)


def start(
    arguments: argparse.Namespace,
    command: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    if not command:
        raise ValueError(f"There is no command to run. {NEXT_STEP}")
    if not any(flag in command for flag in PRINT):
        raise ValueError(f"Claude Code resumes only what -p started. {NEXT_STEP}")
    if any(word.rpartition("=")[2] in BYPASSING for word in command):
        raise ValueError(BYPASSED)
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )
    deferred = Deferred(state_file(variables, "deferred.json"))
    added = ["--settings", json.dumps(_settings(arguments, deferred.path, credentials))]
    if not any(word.startswith("--output-format") for word in command):
        added += ["--output-format", "json"]

    def work() -> int:
        words, is_first = [*command, *added], not arguments.resume
        if arguments.resume:
            words = [*without_prompt(command), "--resume", arguments.resume, *added]
        with make_client(
            credentials.endpoint, credentials.key, agent_id=credentials.agent_id
        ) as client:
            while True:
                done = _execute(words, has_prompt=is_first)
                result = _result(done.stdout)
                call = result.get("deferred_tool_use")
                if result.get("stop_reason") != DEFERRED or not isinstance(call, dict):
                    _print(arguments, done.stdout, result)
                    return done.returncode
                question = deferred.question_of(str(call.get("id")))
                if question is None:
                    say("wake: Claude Code ended at a call that no hook of `wake run` deferred.")
                    return ExitStatus.FAILED
                session = str(result.get("session_id"))
                say(f"Session {session} waits for the answer to {question.delivery_id}.")
                if _wait(client, question.delivery_id).is_withdrawn:
                    say("The question was withdrawn, so people are not asked any more.")
                    say(f"To ask again, run the same command with --resume {session}.")
                    return ExitStatus.WITHDRAWN
                words = [*without_prompt(command), "--resume", session, *added]
                is_first = False

    return guarded(work)


def without_prompt(command: list[str]) -> list[str]:
    """Returns the command that continues the session. The command has no prompt, because the
    session has read the prompt already."""
    words = list(command)
    at = next(place for place, word in enumerate(words) if word in PRINT)
    if at + 1 < len(words) and not words[at + 1].startswith("-"):
        del words[at + 1]
    return words


def _wait(client: WakeClient, delivery_id: str) -> Answer:
    """Waits without a limit, even while the server is away. Returns the answer, or the state of a
    question that was withdrawn."""
    with progress("Waiting for an answer"):
        while True:
            try:
                answer = client.wait(delivery_id)
            except Unavailable as error:
                say(f"wake: {error}; trying again")
                continue
            if answer.is_answered or answer.is_withdrawn:
                return answer


def _settings(arguments: argparse.Namespace, path: Path, credentials: Access) -> dict[str, Any]:
    """Returns settings for only this session. The settings do not contain the key, because the hook
    finds the key in the same way as this command."""
    wake = shutil.which("wake")
    words = [wake] if wake else [sys.executable, "-m", "wake_client"]
    words += ["hook", "--for", "claude-code"]
    rest = ["--endpoint", credentials.endpoint]
    rest += ["--agent", credentials.agent_id] if credentials.agent_id else []
    hook = {
        "type": "command",
        "command": f"{shlex.join([*words, '--deferring', str(path), *rest])} {OR_BLOCK}",
        "timeout": HOOK_SECONDS,
        "onFailure": "block",
    }
    before = {"matcher": arguments.tools, "hooks": [hook]}
    after = reports_of_claude(shlex.join([*words, *rest]), matcher=arguments.tools)
    return {"hooks": {"PreToolUse": [before], **{event: [entry] for event, entry in after}}}


def _execute(words: list[str], *, has_prompt: bool) -> subprocess.CompletedProcess[str]:
    stdin = None if has_prompt else subprocess.DEVNULL
    try:
        return subprocess.run(  # noqa: S603 - the person's own command
            words, stdin=stdin, stdout=subprocess.PIPE, text=True, check=False
        )
    except OSError as error:
        raise ValueError(f"{words[0]} cannot be started: {error.strerror}") from error


def _result(output: str) -> dict[str, Any]:
    """Returns the last JSON object that says how the session ended, or {}."""
    for line in reversed(output.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("type") == "result":
            return value
    return {}


def _print(arguments: argparse.Namespace, output: str, result: dict[str, Any]) -> None:
    text = result.get("result")
    if not arguments.json:
        output = visible_lines(f"{text}\n" if isinstance(text, str) else output)
    sys.stdout.write(output)
    sys.stdout.flush()
