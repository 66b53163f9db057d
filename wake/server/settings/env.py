"""Reads environment variables for the settings."""

import os
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from database.postgresql.bounded_connections import LIMITS, BoundedByRole, BoundedConnection

ROLES = ("owner", "reviewer", "reader")
MAX_REQUESTS = 1_000  # that a process handles at a time
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


class BadVariable(ValueError):
    """An environment variable has a value that is not allowed. The message names both."""


def flag(name: str) -> bool | None:
    """Returns True for 1, true, yes or on, False for any other text, and None if the variable is
    unset or empty."""
    value = os.environ.get(name, "").strip().lower()
    return value in {"1", "true", "yes", "on"} if value else None


def one_of(name: str, *choices: str) -> str:
    """Returns the variable, or the first choice if it is unset or empty. Raises BadVariable."""
    value = os.environ.get(name, "").strip().lower() or choices[0]
    if value not in choices:
        raise BadVariable(f"{name} must be {' or '.join(choices)}, not {value!r}.")
    return value


def words(name: str) -> list[str]:
    """Returns the parts of a comma-separated list, without spaces."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def secret_text(name: str) -> str:
    """Returns the variable `name`, or the content of the file that the variable `name` + `_FILE`
    names. A file keeps a secret out of the environment. Raises BadVariable."""
    path = os.environ.get(f"{name}_FILE", "").strip()
    if not path:
        return os.environ.get(name, "").strip()
    try:
        content = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadVariable(f"{name}_FILE names a file that cannot be read: {path!r}.") from error
    if not content:
        raise BadVariable(f"{name}_FILE names a file that is empty: {path!r}.")
    return content


def secret_list(text: str) -> list[str]:
    """Returns the parts of a comma-separated list of keys, the newest first."""
    return [key.strip() for key in text.split(",") if key.strip()]


def group_roles(name: str) -> list[tuple[str, str, str]]:
    """Returns `wake-admins=main:owner,wake=main:reviewer` as (group, team, role). The last `=`
    separates, because the names of directory groups may contain others. Raises BadVariable."""
    lines = []
    for word in words(name):
        group, _, target = word.rpartition("=")
        team, _, role = target.partition(":")
        if not (group.strip() and SLUG.fullmatch(team) and role in ROLES):
            raise BadVariable(
                f"{name} must look like wake-admins=main:owner,wake=main:reviewer (group=team:role,"
                f" with one of the roles {', '.join(ROLES)}), not {word!r}."
            )
        lines.append((group.strip(), team, role))
    return lines


def number(name: str, *, default: int, low: int, high: int) -> int:
    """Returns a whole number within its limits. Raises BadVariable."""
    text = os.environ.get(name, "").strip()
    try:
        value = int(text) if text else default
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise BadVariable(f"{name} must be a whole number from {low} to {high}, not {text!r}.")
    return value


def cell(name: str) -> str:
    """Returns one lower-case letter or digit, or an empty text if the variable is unset. Raises
    BadVariable."""
    text = os.environ.get(name, "").strip()
    if not re.fullmatch(r"[0-9a-z]?", text, re.ASCII):
        raise BadVariable(f"{name} must be one letter from a to z, or one digit, not {text!r}.")
    return text


def quota(name: str, *, default: str) -> tuple[int, int]:
    """Parses a quota such as `500/50`: deliveries an hour, and burst. Raises BadVariable."""
    text = os.environ.get(name, "").strip() or default
    hourly, _, burst = text.partition("/")
    if not (hourly.isdecimal() and burst.isdecimal() and int(hourly) > 0 and int(burst) > 0):
        raise BadVariable(f"{name} must look like 500/50 (an hour, burst), not {text!r}.")
    return int(hourly), int(burst)


def secret(name: str, *, folder: Path, generate: bool) -> str:
    """Returns `secret_text`, or the content of the file of the same name in `folder`. If that file
    is missing, creates it (mode 0600) with `generate`, and returns an empty text without. Raises
    BadVariable."""
    if value := secret_text(name):
        return value
    path = folder / name.lower()
    if generate and not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(path, secrets.token_urlsafe(48))
    return path.read_text().strip() if path.exists() else ""


def _write_once(path: Path, text: str) -> None:
    """Creates the file with its whole content. If two processes start together, each writes a
    temporary file and links it to the final name. The file that is linked first is kept."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    try:
        os.link(own, path)
    except FileExistsError:
        pass
    finally:
        own.unlink()


def postgresql(
    name: str, url: str, *, connections: int, prepare: bool, is_pooled: bool = False
) -> dict[str, Any]:
    """Returns the DATABASES entry for `postgresql://user:password@host:port/name?option=value`,
    the value of the variable `name`. `is_pooled` means that a transaction pooler is there. Raises
    BadVariable."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise BadVariable(f"{name} must begin with postgresql://.")
    given = dict(parse_qsl(parts.query))
    options = " ".join([f"-c {limit}={value}" for limit, value in LIMITS.items()])
    if is_pooled and "options" in given:
        raise BadVariable(f"{name} must have no `options` behind a pooler, which refuses them.")
    return {
        "ENGINE": "database.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        # Without the health check each request waits 30 s for a stopped server. A new connection
        # takes 5.8 ms.
        "CONN_HEALTH_CHECKS": True,
        # A cursor outlives its statement, and a pooler may run the next statement elsewhere.
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
        "OPTIONS": {
            # An unreachable server acknowledges nothing. If the server is frozen, its kernel still
            # acknowledges (database/postgresql/bounded_connections.py).
            "tcp_user_timeout": 5000,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            **given,
            # The pool does not pause between attempts to connect, because its pauses would outlast
            # an outage. Each request tries again.
            "pool": {
                "name": name,  # in the log
                "connection_class": BoundedByRole if is_pooled else BoundedConnection,
                "min_size": 1,
                "max_size": connections,
                "timeout": 1,
                "reconnect_timeout": 0,
            },
            "server_side_binding": True,
            "prepare_threshold": 5 if prepare else None,
            "connect_timeout": 3,
            **({} if is_pooled else {"options": f"{options} {given.get('options', '')}".strip()}),
        },
    }


def sqlite(path: Path) -> dict[str, Any]:
    """Returns the DATABASES entry for one file. Writers queue up instead of failing, a commit is
    written to the disk, and deleted content is overwritten."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
            ),
        },
    }
