"""`make test`: everything on SQLite, then on PostgreSQL where it answers.

Coverage is measured on SQLite alone: to measure takes as long as to test, and what only PostgreSQL
reaches can but make it look worse than it is. What is marked `once` (pyproject.toml) waits for the
last of the databases. With CI=true a database or broker that does not answer is a failure, not a
note.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
from redis import Redis
from redis.exceptions import RedisError

ROOT = Path(__file__).resolve().parent.parent
POSTGRESQL = "postgresql://postgres@127.0.0.1:5432/"
REDIS = "redis://127.0.0.1:6379/0"
# One more than there are cores, because many tests wait for other processes.
AT_ONCE = min((os.cpu_count() or 1) + 1, 4)
COVERAGE = (sys.executable, "-m", "coverage")
MEASURED = ("--cov", "--cov-report=", "--cov-fail-under=0")
LATER = ("-m", "not once")
SUMMARY = re.compile(r"=.* (passed|failed|errors?|no tests ran)\b.* in .*=")


def main() -> int:
    url, redis = _postgresql(), _redis()
    missing = [name for name, found in {"PostgreSQL": url, "Redis": redis}.items() if not found]
    for old in ROOT.glob(".coverage*"):
        old.unlink()
    databases = {"SQLite": ""} | ({"PostgreSQL": url} if url else {})
    *others, last = databases
    results = {
        name: _run(name, url, *(MEASURED if not url else ()), *(LATER if name in others else ()))
        for name, url in databases.items()
    }
    covered = _coverage()
    coverage = "as promised" if covered else "less than promised, see above"
    recap = [
        *(f"{name}: {summary}" for name, (_, summary) in results.items()),
        *(f"What {name} deselected is marked `once` and ran on {last}." for name in others),
        *(f"{name} does not answer, so its part was not run." for name in missing),
        f"Coverage is {coverage}.",
    ]
    _say("", *recap)
    is_ci = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
    failed = any(code for code, _ in results.values()) or not covered or (is_ci and missing)
    return 1 if failed else 0


def _run(name: str, url: str, *options: str) -> tuple[int, str]:
    """Pytest's exit code and its last line."""
    _say("", f"On {name}", "")
    environment = {**os.environ, "DATABASE_URL": url}
    command = [
        *(sys.executable, "-m", "pytest", "--numprocesses", str(AT_ONCE), "--dist", "worksteal"),
        *("--durations", "15", "--durations-min", "3", *options, "tests"),
    ]
    summary = "pytest did not come to its end"
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as pytest:
        for line in pytest.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            if SUMMARY.search(line):
                summary = line.strip()
    return pytest.returncode, summary


def _coverage() -> bool:
    """Whether it is as much as pyproject.toml promises."""
    _say("", "Coverage of wake/ and accounts/ on SQLite", "")
    return subprocess.run([*COVERAGE, "report"], cwd=ROOT, check=False).returncode == 0


def _postgresql() -> str:
    """DATABASE_URL, else a local server that lets `postgres` in; empty where none answers."""
    given = os.environ.get("DATABASE_URL", "")
    for url in [given] if given else [f"{POSTGRESQL}test", f"{POSTGRESQL}postgres"]:
        try:
            psycopg.connect(url, connect_timeout=3).close()
        except psycopg.OperationalError:
            continue
        return url
    return ""


def _redis() -> bool:
    url = os.environ.get("REDIS_URL", "") or REDIS
    try:
        with Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1) as redis:
            return bool(redis.ping())
    except RedisError:
        return False


def _say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)  # noqa: T201 - a script


if __name__ == "__main__":
    sys.exit(main())
