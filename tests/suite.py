"""Runs the tests for `make test`, `make system` and `make peers`, and measures them for `make
coverage`.

`make test` runs all tests on PostgreSQL, or on SQLite if no PostgreSQL answers, except tests that
are marked `system` or `peers` (pyproject.toml). `make system` runs the tests that are marked
`system` in the same way. If PostgreSQL answers, `make system` also runs both kinds on SQLite,
except tests that are marked `once`, because a second database would show nothing new. On SQLite,
tests/stress/hostile then runs a fifth of its generated examples. `make peers` runs the tests that
are marked `peers`, on one database. With CI=true, a database or a broker that does not answer is a
failure.

`make coverage` is a run of its own, because measuring makes every test slower. It runs the tests of
the packages for which pyproject.toml promises a minimum, of both kinds. It runs them on PostgreSQL,
which reaches more of the code, or on SQLite if no PostgreSQL answers.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psycopg
from redis import Redis
from redis.exceptions import RedisError

ROOT = Path(__file__).resolve().parent.parent
POSTGRESQL = "postgresql://postgres@127.0.0.1:5432/"
REDIS = "redis://127.0.0.1:6379/0"
# There are two more workers than cores, because many tests wait for other processes.
AT_ONCE = min((os.cpu_count() or 1) + 2, 4)
MEASURED = ("--cov", "--cov-report=", "--cov-fail-under=0")
# These are the tests of the packages that coverage counts, and of the documents.
COUNTED = tuple(f"tests/{name}" for name in ("accounts", "database", "pages", "spec", "wake"))
# These are the marks of the tests that a target runs on its own database, and on SQLite besides.
KINDS = {"test": "not system and not peers", "system": "system", "peers": "peers"}
ON_SQLITE_TOO = {"system": "not once and not peers"}
FEWER_EXAMPLES = {"WAKE_TEST_FEWER_EXAMPLES": "1"}
SUMMARY = re.compile(r"=.* (passed|failed|errors?|no tests ran)\b.* in .*=")


def main(target: str) -> int:
    return _measure() if target == "coverage" else _test(target)


def _test(target: str) -> int:
    began = time.monotonic()
    url, redis = _postgresql(), _redis()
    missing = [name for name, found in {"PostgreSQL": url, "Redis": redis}.items() if not found]
    results = {}
    is_on_both = bool(url) and target in ON_SQLITE_TOO
    if is_on_both:
        results["SQLite"] = _run("SQLite", "", "-m", ON_SQLITE_TOO[target], **FEWER_EXAMPLES)
    name = "PostgreSQL" if url else "SQLite"
    results[name] = _run(name, url, "-m", KINDS[target])
    recap = [f"{name}: {summary}" for name, (_, summary) in results.items()]
    if is_on_both:
        recap += [
            "Tests marked `once` ran on PostgreSQL only.",
            "Of generated examples SQLite got a fifth, and PostgreSQL all.",
        ]
    recap += [f"{name} does not answer, so its part was not run." for name in missing]
    recap.append(f"It took {(time.monotonic() - began) / 60:.1f} minutes.")
    if target == "test":
        recap.append(
            "Left out: the second database, whole servers, proxies, official SDKs, old databases,"
            " and the accessibility of every page (`make system`), and agent frameworks (`make"
            " peers`)."
        )
    _say("", *recap)
    is_ci = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
    failed = any(code for code, _ in results.values()) or (is_ci and missing)
    return 1 if failed else 0


def _measure() -> int:
    """Runs the tests for coverage. Fails if a test fails, or if coverage is less than
    pyproject.toml promises."""
    for old in ROOT.glob(".coverage*"):
        old.unlink()
    url = _postgresql()
    name = "PostgreSQL" if url else "SQLite"
    failed, _ = _run(f"{name}, measured", url, *MEASURED, *COUNTED)
    _say("", f"Coverage of the packages named in pyproject.toml on {name}", "")
    report = subprocess.run(
        [sys.executable, "-m", "coverage", "report"], cwd=ROOT, check=False
    ).returncode
    return 1 if failed or report else 0


def _run(name: str, url: str, *options: str, **variables: str) -> tuple[int, str]:
    """Returns pytest's exit code and its last line."""
    _say("", f"On {name}", "")
    environment = {**os.environ, "DATABASE_URL": url, **variables}
    # Hundreds of processes import the same modules, and without bytecode each would compile them
    # again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        *(sys.executable, "-m", "pytest", "--numprocesses", str(AT_ONCE)),
        *("--durations", "15", "--durations-min", "3", *options),
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


def _postgresql() -> str:
    """Returns DATABASE_URL, or else the URL of a local server that lets `postgres` in, or an empty
    text if none answers."""
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
    sys.exit(main(sys.argv[1]))
