"""Reads environment variables for the settings."""

import os
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from database.bounded_connections import BoundedConnection

ROLES = ("owner", "reviewer", "reader")
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,50}")


class BadVariable(ValueError):
    """An environment variable has a value that is not allowed. The message names both."""


def flag(name: str) -> bool | None:
    """Returns True for 1, true, yes or on, False for any other text, and None if the variable is
    unset or empty."""
    value = os.environ.get(name, "").strip().lower()
    return value in {"1", "true", "yes", "on"} if value else None


def words(name: str) -> list[str]:
    """Returns the parts of a comma-separated list, without spaces."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def secret_text(name: str, file: str) -> str:
    """Returns the variable `name`, or the content of the file that the variable `file` names. A
    file keeps a secret out of the environment. Raises BadVariable."""
    path = os.environ.get(file, "").strip()
    if not path:
        return os.environ.get(name, "").strip()
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadVariable(f"{file} names a file that cannot be read: {path!r}.") from error


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


def quota(name: str, *, default: str) -> tuple[int, int]:
    """Parses a quota such as `500/50`: deliveries an hour, and burst. Raises BadVariable."""
    text = os.environ.get(name, "").strip() or default
    hourly, _, burst = text.partition("/")
    if not (hourly.isdecimal() and burst.isdecimal() and int(hourly) > 0 and int(burst) > 0):
        raise BadVariable(f"{name} must look like 500/50 (an hour, burst), not {text!r}.")
    return int(hourly), int(burst)


def secret(name: str, *, folder: Path, generate: bool) -> str:
    """Returns the variable, or the content of the file of the same name in `folder`. If that file
    is missing, creates it (mode 0600) with `generate`, and returns an empty text without."""
    if value := os.environ.get(name, "").strip():
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


def postgresql(url: str, *, connections: int, prepare: bool) -> dict[str, Any]:
    """Returns the DATABASES entry for `postgresql://user:password@host:port/name?option=value`.
    Raises BadVariable."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise BadVariable("DATABASE_URL must begin with postgresql://.")
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
        "OPTIONS": {
            # An unreachable server acknowledges nothing. If the server is frozen, its kernel still
            # acknowledges (database/bounded_connections.py).
            "tcp_user_timeout": 5000,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            **dict(parse_qsl(parts.query)),
            # The pool does not pause between attempts to connect, because its pauses would outlast
            # an outage. Each request tries again.
            "pool": {
                "connection_class": BoundedConnection,
                "min_size": 1,
                "max_size": connections,
                "timeout": 1,
                "reconnect_timeout": 0,
            },
            "server_side_binding": True,
            "prepare_threshold": 5 if prepare else None,
            "connect_timeout": 3,
            # Without jit=off, PostgreSQL compiled a query of ten milliseconds for six seconds.
            # Without max_parallel_workers_per_gather=0, PostgreSQL started two more processes to
            # find eighteen rows.
            "options": "-c statement_timeout=10000 -c lock_timeout=5000 -c jit=off"
            " -c max_parallel_workers_per_gather=0",
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
