"""Reads the hosts to which a team lets clients send people back."""

from __future__ import annotations

import re

import idna
from django.core.exceptions import ValidationError

from accounts.oauth.clients import LOCAL, LOOPBACK

MAX_HOSTS = 50
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"{LABEL}(?:\.{LABEL})+")
SHOWN = 60


def read_hosts(text: str) -> list[str]:
    """Returns the hosts, one on each line, in lower case and ASCII, without repetitions. Raises
    ValidationError, which says what is wrong with each line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_HOSTS:
        raise ValidationError(f"Enter at most {MAX_HOSTS} hosts.")
    hosts, problems = [], []
    for line in lines:
        try:
            hosts.append(_read(line))
        except ValueError as problem:
            problems.append(f"“{line[:SHOWN]}”: {problem}")
    if problems:
        raise ValidationError(problems)
    return list(dict.fromkeys(hosts))


def _read(line: str) -> str:
    """Returns one host. Raises ValueError."""
    if line in LOOPBACK:
        return LOCAL
    problem = _problem(line)
    if problem:
        raise ValueError(problem)
    try:
        host = idna.encode(line, uts46=True).decode().lower()
    except idna.IDNAError:
        host = ""
    if not HOST.fullmatch(host):
        raise ValueError("enter a host name, such as chatgpt.com.")
    return host


def _problem(line: str) -> str:
    """Returns what is there beside a host name."""
    if "://" in line:
        return "leave out the scheme and the path, and enter only the host."
    if "*" in line:
        return "enter each host, because * isn't allowed."
    if any(character in line for character in "/?#"):
        return "leave out the path, and enter only the host."
    if ":" in line:
        return "leave out the port, and enter only the host."
    if any(character in line for character in " ,;@\t"):
        return "enter one host on each line, and nothing else."
    return ""
