"""Signs this machine in by the browser, for `wake login URL` and for the commands that need a
key."""

from __future__ import annotations

import socket
import sys
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wake_client.http import addresses
from wake_client.logins.device_flow import Code, sign_in
from wake_client.logins.stored import Access, Login, path_of_logins, read_logins, store_login
from wake_client.shell.output import progress, say

SignIn = Callable[..., Access]


@dataclass(frozen=True, slots=True)
class Terminal:
    """Describes where the program runs. `ask` puts a question to the person there, or is None if
    there is no person. `open_link` opens a link where they see it, and returns whether it did."""

    machine: str
    ask: Callable[[str], str] | None
    open_link: Callable[[str], bool]


def this_terminal(variables: Mapping[str, str]) -> Terminal:
    is_watched = sys.stderr.isatty()
    return Terminal(
        machine=socket.gethostname(),
        ask=_ask if is_watched and sys.stdin.isatty() else None,
        open_link=_open if is_watched and has_screen(variables) else open_nothing,
    )


def log_in(
    url: str,
    variables: Mapping[str, str],
    terminal: Terminal,
    *,
    agent_id: str = "",
    sign_in: SignIn = sign_in,
) -> Login:
    """Stores what a person approved in the browser, and returns it. Raises ValueError, and
    WakeError if the server issued no key."""
    origin = addresses.origin(url)
    read_logins(variables)  # a damaged file is noticed before a key is issued

    def announce(code: Code) -> None:
        say(f"Your code: {code.text}")
        if terminal.open_link(code.link):
            say(f"Your browser shows it at {code.address}. Check the code there, then connect.")
        else:
            say(f"Open {code.link} and check the code there,")
            say(f"or open {code.address} in any browser, and type it.")

    with progress("Waiting for your approval"):
        access = sign_in(origin, machine=terminal.machine, agent_id=agent_id, announce=announce)
    return store_login(access, variables)


def report_of(login: Login, variables: Mapping[str, str]) -> str:
    """Returns a sentence about a login that was stored."""
    file = path_of_logins(variables)
    place = f"its key is in the keyring, and its name in {file}" if login.key is None else file
    return f"{login.agent_id} is logged in at {login.endpoint} ({place})"


def offer(
    variables: Mapping[str, str],
    terminal: Terminal,
    *,
    url: str = "",
    agent_id: str = "",
    sign_in: SignIn = sign_in,
) -> Login | None:
    """Asks in the terminal whether to sign in now. Returns None if there is no person, or if they
    do not want to. Raises as `log_in` does."""
    if terminal.ask is None:
        return None
    if url:
        answer = terminal.ask(f"No key is stored for {url}. Sign in with your browser now? [Y/n] ")
        url = url if answer.lower() in {"", "y", "yes"} else ""
    else:
        url = terminal.ask("No key is stored. The address of your Wake server (Enter: not now): ")
    if not url:
        return None
    login = log_in(url, variables, terminal, agent_id=agent_id, sign_in=sign_in)
    say(report_of(login, variables))
    return login


def has_screen(variables: Mapping[str, str], *, platform: str = sys.platform) -> bool:
    """Returns whether a browser that this process opens is on the screen of the person."""
    if variables.get("SSH_CONNECTION"):
        return False
    has_display = bool(variables.get("DISPLAY") or variables.get("WAYLAND_DISPLAY"))
    return platform == "darwin" or has_display


def _open(link: str) -> bool:
    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


def open_nothing(link: str) -> bool:
    return False


def _ask(question: str) -> str:
    """Asks on stderr, because a program may read stdout. Ctrl-D stops the program, like Ctrl-C."""
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise KeyboardInterrupt
    return line.strip()
