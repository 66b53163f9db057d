"""Implements `wake hook`, which a coding agent runs, and `wake hook install|uninstall|doctor`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from wake_client.client import WakeClient
from wake_client.errors import WakeError
from wake_client.files import state_file
from wake_client.hook import claims, settings, verdicts
from wake_client.hook.approved import Approved
from wake_client.hook.calls import AGENTS, CLAUDE_CODE, CURSOR
from wake_client.hook.decisions import LONGEST_DEADLINE, Asking, decide
from wake_client.hook.deferred import Deferred
from wake_client.hook.reporting import report
from wake_client.hook.settings import REPORT, WAIT_SECONDS
from wake_client.hook.stopping import Stopped, ignore_signals, raise_if_stopped
from wake_client.shell.access import access, known_access
from wake_client.shell.browser_login import offer, this_terminal
from wake_client.shell.output import ExitStatus, say, show
from wake_client.visible_text import visible

EPILOG = """\
Without an action, `wake hook` reads a call from stdin and prints the decision of a person:

  approved                     allow
  rejected                     deny, with the feedback
  redirected with an edit      allow with the edited arguments (Codex, Cursor: deny, with the edit)
  redirected with words        deny, with the words
  no answer, answered by a rule, server away, key not valid, anything unexpected: the agent asks in
  its terminal as always (Claude Code, Codex: nothing is printed; Cursor: ask)

It never allows what no person allowed. Its exit status is 0, except for a decision that cannot be
printed (Cursor and `wake run`: 2, which blocks the call). `wake run` adds --deferring: no terminal
asks there, so everything but a person's approval denies the call, with the reason.

An approval is used up before the call is allowed, and is for this one call: if the server says that
it was used before, taken back or not used in time, the call is denied. With --report, `wake hook`
reads how a call ended, and tells people what came of the call that they approved (Claude Code,
Cursor). If it cannot, it says so on stderr, with exit status 1.

examples:
  wake login https://wake.example.com --agent coder
  wake hook install claude-code
  wake hook install codex --project .
  wake hook doctor
  wake hook uninstall claude-code
"""
INSTALLED, NOT_INSTALLED = "installed", "not installed"
NO_KEY = "There is no key for the hook yet, so it cannot ask anyone: run `wake login {url}`."
USED_UP = "an approval is for one call"
NOT_USED_UP = "the server has none, so an approval is not used up"


# `wake run` lets a hook run for longer than this.
DENY_AFTER_SECONDS = 45.0
# With this exit status a hook blocks a call of Claude Code or Cursor without printing a decision.
BLOCK = 2
FAILED = "Wake has no answer of a person, so this call is denied: {reason}"


def main(
    words: list[str],
    variables: Mapping[str, str],
    *,
    make_client: Callable[..., WakeClient] = WakeClient,
) -> int:
    """Returns the exit status. An agent reads any other status than 0 as a decision, so even a
    usage error of the hook returns 0. The exception is a call that must be denied while nothing can
    be printed."""
    if words and words[0] in {"install", "uninstall", "doctor", "-h", "--help"}:
        return _manage(words, variables)
    if REPORT in words:
        return _report(words, variables, make_client)
    decision = Decision(words)
    try:
        try:
            arguments = _hook_parser().parse_args(words)
            decision.expect_within(arguments.within)
            raise_if_stopped()
            text = _decided(arguments, variables, make_client)
        except (Exception, SystemExit, KeyboardInterrupt, Stopped) as reason:
            text = decision.without_answer(reason)
        ignore_signals()
    # The signal may arrive while another failure is handled above.
    except (KeyboardInterrupt, Stopped) as reason:
        ignore_signals()
        text = decision.without_answer(reason)
    return decision.print(text)


def _report(
    words: list[str], variables: Mapping[str, str], make_client: Callable[..., WakeClient]
) -> int:
    try:
        arguments = _hook_parser().parse_args(words)
    except ValueError as error:
        sys.stderr.write(f"wake hook: {visible(str(error))}\n")
        return 1
    raise_if_stopped()
    client = partial(_client, arguments, variables, make_client)
    approved = _approved(variables)
    return report(sys.stdin.read, agent=arguments.agent_kind, approved=approved, client=client)


class Decision:
    """Prints the hook's decision once, as a whole. With --deferring, every failure denies the call,
    because there is no terminal that asks."""

    def __init__(self, words: list[str]) -> None:
        self.is_deferring = any(word.partition("=")[0] == "--deferring" for word in words)
        self.agent = CURSOR if {CURSOR, f"--for={CURSOR}"} & set(words) else CLAUDE_CODE
        self.is_verbose = "--verbose" in words
        self._printing = threading.Lock()
        self._watch: threading.Timer | None = None

    def without_answer(self, reason: BaseException) -> str:
        """Returns the output of the hook if no person has decided. `reason` says why."""
        text = str(reason) or type(reason).__name__
        if isinstance(reason, Stopped | KeyboardInterrupt):
            text = "the hook was stopped"
        if self.is_verbose:
            sys.stderr.write(f"wake hook: {visible(f'{type(reason).__name__}: {text}')}\n")
        if self.is_deferring:
            return verdicts.denied(FAILED.format(reason=text))
        return verdicts.undecided(self.agent)

    def print(self, text: str) -> int:
        """Prints the output. Returns the exit status."""
        self._printing.acquire()  # never released, because there is only one decision
        if self._watch:
            self._watch.cancel()
        return self._write(text)

    def expect_within(self, seconds: float) -> None:
        """Denies the call if nothing was printed after so many seconds, because Claude Code runs a
        call whose hook takes too long. A thread waits for this time: a signal cannot interrupt
        every wait, such as a DNS lookup."""
        if self.is_deferring:
            self._watch = threading.Timer(seconds, self._give_up, [seconds])
            self._watch.daemon = True
            self._watch.start()

    def _give_up(self, seconds: float) -> None:
        if self._printing.acquire(blocking=False):
            late = TimeoutError(f"there was none within {seconds:g} seconds")
            os._exit(self._write(self.without_answer(late)))

    def _write(self, text: str) -> int:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except (OSError, ValueError, AttributeError):  # None if stdout was closed
            sys.stdout = None  # otherwise the interpreter would flush it again at exit
            # The command line of Cursor runs a call whose hook printed nothing.
            return BLOCK if self.is_deferring or self.agent == CURSOR else 0
        return 0


class _QuietParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _decided(
    arguments: argparse.Namespace,
    variables: Mapping[str, str],
    make_client: Callable[..., WakeClient],
) -> str:
    if arguments.deferring and arguments.agent_kind != CLAUDE_CODE:
        raise ValueError("Only calls of Claude Code can be deferred.")
    deferred = Deferred(Path(arguments.deferring)) if arguments.deferring else None
    asking = Asking(arguments.agent_kind, arguments.wait, deferred, _approved(variables))
    return decide(sys.stdin.read(), asking, partial(_client, arguments, variables, make_client))


def _client(
    arguments: argparse.Namespace,
    variables: Mapping[str, str],
    make_client: Callable[..., WakeClient],
) -> WakeClient:
    credentials = access(
        variables, endpoint=arguments.endpoint or "", agent_id=arguments.agent or ""
    )
    return make_client(
        credentials.endpoint,
        credentials.key,
        agent_id=credentials.agent_id,
        provider=arguments.agent_kind,
        retry_for=min(10.0, arguments.wait),
    )


def _approved(variables: Mapping[str, str]) -> Approved:
    return Approved(state_file(variables, "approved.json"))


def _manage(words: list[str], variables: Mapping[str, str]) -> int:
    arguments = _manage_parser().parse_args(words)
    try:
        return int(arguments.run(arguments, variables))
    except KeyboardInterrupt:
        say("wake hook: stopped")
        return ExitStatus.STOPPED
    except (ValueError, OSError, WakeError) as error:
        sys.stderr.write(f"wake hook: {visible(str(error))}\n")
        return 1


def _install(arguments: argparse.Namespace, variables: Mapping[str, str]) -> int:
    path = _path(arguments, arguments.agent_kind, variables)
    if not arguments.dry_run:
        _sign_in_if_needed(arguments, variables)
    change = settings.install(
        arguments.agent_kind, path, command=_command(arguments), wait=arguments.wait
    )
    _apply(change, arguments, note=settings.NOTES[arguments.agent_kind])
    return 0


def _sign_in_if_needed(arguments: argparse.Namespace, variables: Mapping[str, str]) -> None:
    """Offers to sign in if the hook would have no key. A person may choose another agent there than
    the agent of `--agent`, and then the hook uses that one."""
    known = known_access(variables, agent_id=arguments.agent or "")
    if known.endpoint and known.key:
        return
    login = offer(variables, this_terminal(variables), url=known.endpoint, agent_id=known.agent_id)
    if login is None:
        say(NO_KEY.format(url=known.endpoint or "URL"))
    elif arguments.agent:
        arguments.agent = login.agent_id


def _uninstall(arguments: argparse.Namespace, variables: Mapping[str, str]) -> int:
    change = settings.uninstall(_path(arguments, arguments.agent_kind, variables))
    _apply(change, arguments)
    return 0


def _apply(change: settings.Change, arguments: argparse.Namespace, *, note: str = "") -> None:
    is_changed = change.before != change.after
    if is_changed and not arguments.dry_run:
        change.write()
    facts = {"path": str(change.path), "changed": is_changed, "diff": change.diff}
    text = change.diff if is_changed else f"{change.path}: nothing to change."
    show(arguments, facts, f"{text}\n{note}" if note else text)


def _doctor(arguments: argparse.Namespace, variables: Mapping[str, str]) -> int:
    places = {agent: _path(arguments, agent, variables) for agent in AGENTS}
    states = {agent: _state(path) for agent, path in places.items()}
    installed = [agent for agent, state in states.items() if state == INSTALLED]
    unreadable = {
        agent: state for agent, state in states.items() if state not in {INSTALLED, NOT_INSTALLED}
    }
    lines = [f"{agent}: {state} ({places[agent]})" for agent, state in states.items()]
    problem, uses = _checked_access(variables)
    lines.append(f"access: {problem or 'the key works'}")
    lines += [f"claims: {uses}"] if uses else []
    facts = {"installed": installed, "unreadable": unreadable, "problem": problem, "claims": uses}
    show(arguments, facts, "\n".join(visible(line) for line in lines))
    return 0 if installed and not problem and not unreadable else 1


def _state(path: Path) -> str:
    """Returns whether the hook is installed, or why the settings cannot be read."""
    try:
        return INSTALLED if settings.is_installed(path) else NOT_INSTALLED
    except ValueError as error:
        return f"cannot be read: {error}"


def _checked_access(variables: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Returns two values. The first is the problem of the access, or None. The second is whether
    approvals are used up, or None if the server cannot be asked."""
    try:
        credentials = access(variables)
        with WakeClient(
            credentials.endpoint, credentials.key, agent_id=credentials.agent_id, retry_for=5
        ) as client:
            client.sweep(limit=1)
            return None, _claims(client)
    except (ValueError, WakeError) as error:
        return str(error), None


def _claims(client: WakeClient) -> str:
    try:
        return USED_UP if claims.lists_claims(client) else NOT_USED_UP
    except claims.NoList as warning:
        return str(warning)


def _path(arguments: argparse.Namespace, agent: str, variables: Mapping[str, str]) -> Path:
    home = Path(variables.get("HOME") or Path.home())
    project = Path(arguments.project).resolve() if arguments.project else None
    if project and not project.is_dir():
        raise ValueError(f"{project} is not a folder.")
    return settings.path_of(agent, home=home, project=project)


def _command(arguments: argparse.Namespace) -> str:
    """Returns the command with which an agent starts the hook. Settings of a project are shared
    between machines, so they name `wake` without its path."""
    wake = "wake" if arguments.project else shutil.which("wake")
    words = [wake] if wake else [sys.executable, "-m", "wake_client"]
    words += ["hook", "--for", arguments.agent_kind]
    words += ["--wait", str(arguments.wait)] if arguments.wait != WAIT_SECONDS else []
    words += ["--agent", arguments.agent] if arguments.agent else []
    return shlex.join(words)


def _seconds(text: str) -> int:
    seconds = int(text)
    if not 1 <= seconds <= LONGEST_DEADLINE:
        raise ValueError
    return seconds


def _hook_parser() -> argparse.ArgumentParser:
    parser = _QuietParser("wake hook", allow_abbrev=False)
    parser.add_argument("--for", dest="agent_kind", choices=AGENTS, default=CLAUDE_CODE)
    parser.add_argument("--wait", type=float, default=float(WAIT_SECONDS))
    parser.add_argument("--deferring", metavar="FILE")
    parser.add_argument("--within", type=float, default=DENY_AFTER_SECONDS)
    parser.add_argument("--endpoint")
    parser.add_argument("--agent")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument(REPORT, action="store_true")
    return parser


def _manage_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "wake hook",
        description="Lets people answer the permission prompts of a coding agent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    for name, help, run in (
        ("install", "add the hook to the agent's settings, and print the change", _install),
        ("uninstall", "remove it, and print the change", _uninstall),
        ("doctor", "say where it is installed, and whether the key works", _doctor),
    ):
        action: Any = actions.add_parser(name, help=help)
        if name != "doctor":
            action.add_argument(
                "agent_kind", metavar="AGENT", choices=AGENTS, help=", ".join(AGENTS)
            )
            action.add_argument("--dry-run", action="store_true", help="only print the change")
        if name == "install":
            action.add_argument("--agent", metavar="ID", help="which stored login it uses")
            action.add_argument(
                "--wait",
                type=_seconds,
                default=WAIT_SECONDS,
                metavar="SECONDS",
                help=f"how long it waits before the terminal asks (default: {WAIT_SECONDS})",
            )
        action.add_argument("--json", action="store_true", help="print JSON")
        action.add_argument("--project", metavar="FOLDER", help="the settings of this project")
        action.set_defaults(run=run)
    return parser
