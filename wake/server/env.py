"""Turns environment variables into what the settings need."""

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from database.bounded_connections import BoundedConnection


class BadVariable(ValueError):
    """A variable of the environment is not what it can be; the message says which, and what it can
    be."""


def flag(name: str) -> bool | None:
    """True for 1/true/yes/on, False for any other text, None where the variable is unset or
    empty."""
    value = os.environ.get(name, "").strip().lower()
    return value in {"1", "true", "yes", "on"} if value else None


def words(name: str) -> list[str]:
    """A comma list as its parts, without blanks."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def number(name: str, *, default: int, low: int, high: int) -> int:
    """A whole number within its limits; raises BadVariable."""
    text = os.environ.get(name, "").strip()
    try:
        found = int(text) if text else default
    except ValueError:
        found = None
    if found is None or not low <= found <= high:
        raise BadVariable(f"{name} must be a whole number from {low} to {high}, not {text!r}.")
    return found


def quota(name: str, *, default: str) -> tuple[int, int]:
    """`500/50` as (deliveries an hour, burst); raises BadVariable."""
    text = os.environ.get(name, "").strip() or default
    hourly, _, burst = text.partition("/")
    if not (hourly.isdecimal() and burst.isdecimal() and int(hourly) > 0 and int(burst) > 0):
        raise BadVariable(f"{name} must look like 500/50 (an hour, burst), not {text!r}.")
    return int(hourly), int(burst)


def secret(name: str, *, folder: Path, generate: bool) -> str:
    """The variable, else the file of the same name in `folder`, made (mode 0600) where allowed;
    else empty."""
    if value := os.environ.get(name, "").strip():
        return value
    path = folder / name.lower()
    if generate and not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_once(path, secrets.token_urlsafe(48))
    return path.read_text().strip() if path.exists() else ""


def _write_once(path: Path, text: str) -> None:
    """Two processes may start at once: each writes a file of its own, and the first link wins
    whole."""
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
    """Django's DATABASES entry for `postgres://user:password@host:port/name?option=value`; raises
    BadVariable."""
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
        # A stopped server costs 30 s a request without the health check, and a new connection 5.8
        # ms.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            # A server that is cut off acknowledges nothing; one that is frozen has the kernel do so
            # (database/bounded_connections.py).
            "tcp_user_timeout": 5000,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            **dict(parse_qsl(parts.query)),
            # Without the pool's pauses between attempts to connect, which would outlast an outage:
            # each request tries again.
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
            # PostgreSQL compiled an inbox of ten milliseconds to machine code for six seconds, and
            # started two more processes to find eighteen rows of it.
            "options": "-c statement_timeout=10000 -c lock_timeout=5000 -c jit=off"
            " -c max_parallel_workers_per_gather=0",
        },
    }


def sqlite(path: Path) -> dict[str, Any]:
    """Django's DATABASES entry for one file: writers queue up instead of failing, a commit is on
    the disk, and what was deleted is not."""
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
