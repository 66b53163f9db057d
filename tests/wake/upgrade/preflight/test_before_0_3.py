"""`manage.py preflight` on a database of version 0.2, which is about to be upgraded."""

from __future__ import annotations

from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.stress.faults.servers import NotHere
from tests.wake.server.run.pooler import PgBouncer, variables
from tests.wake.upgrade.preflight.database import Database

pytestmark = [pytest.mark.once, pytest.mark.system]
NOWHERE = "redis://127.0.0.1:1/0"


def test_it_is_ready_and_says_what_each_migration_does(of_0_2: Database) -> None:
    report = of_0_2.preflight()

    assert report.code == 0, report.json
    assert report.json["ready"] is True
    assert report.of("database", "ok")[0].startswith("PostgreSQL 1")
    assert report.of("migrations", "warning", "problem") == []
    assert report.migration("wake.0048")["blocked"]["wake_delivery"] == {
        "what": "everything",
        "seconds": 0.0,
    }
    assert report.migration("wake.0063")["read_beside"]["wake_delivery"] > 0
    assert report.migration("wake.0046")["code"] == [
        "Erases the thread and the provider of deliveries whose other content is already erased."
    ]
    assert "oauth2_provider.0006" not in " ".join(report.of("migrations", "ok")[1:])


def test_it_changes_nothing(of_0_2: Database) -> None:
    def seen() -> list[tuple[str, int]]:
        with psycopg.connect(of_0_2.url) as database:
            return database.execute(
                "SELECT tablename, (SELECT count(*) FROM django_migrations) FROM pg_tables"
                " WHERE schemaname = 'public' ORDER BY 1"
            ).fetchall()

    before = seen()

    of_0_2.preflight()

    assert seen() == before


def test_people_read_one_line_for_each_finding(of_0_2: Database) -> None:
    done = of_0_2.manage("preflight", "--backup", str(of_0_2.folder))

    assert done.returncode == 1
    assert "has no backup of `manage.py backup`" in done.stdout
    assert done.stderr.strip() == "CommandError: Not ready for the upgrade. Problems: 1."
    levels = {line.split()[0] for line in done.stdout.splitlines()}
    assert {"ok", "problem"} <= levels <= {"ok", "warning", "problem"}


def test_the_role_of_the_servers_cannot_migrate(of_0_2: Database) -> None:
    report = of_0_2.preflight(DATABASE_URL=of_0_2.url_of_servers)

    owner = urlsplit(of_0_2.url).username
    (problem,) = report.of("roles", "problem")
    assert report.code == 1
    assert problem.startswith(f"{of_0_2.role} may not change ")
    assert f"as their owner, {owner}." in problem


@pytest.mark.parametrize(
    ("change", "undo", "problem"),
    [
        ("", "", ""),
        (
            "REVOKE INSERT ON accounts_auditevent FROM {}",
            "GRANT INSERT ON accounts_auditevent TO {}",
            "lacks INSERT on accounts_auditevent.",
        ),
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE INSERT, DELETE ON TABLES FROM {}",
            "ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT INSERT, DELETE ON TABLES TO {}",
            "will lack DELETE, INSERT on the tables",
        ),
    ],
    ids=["all", "a table", "later tables"],
)
def test_connected_servers_need_their_rights_afterwards(
    change: str, undo: str, problem: str, of_0_2: Database
) -> None:
    def run(statement: str) -> None:
        if statement:
            with psycopg.connect(of_0_2.url) as owner:
                role = sql.Identifier(of_0_2.role)
                owner.execute(sql.SQL(statement).format(role))

    run(change)
    with closing(psycopg.connect(of_0_2.url_of_servers)):
        report = of_0_2.preflight()
    run(undo)

    if problem:
        assert problem in report.of("roles", "problem")[0]
        assert "Run deploy/roles.sql" in report.of("roles", "problem")[0]
    else:
        assert any(of_0_2.role in text for text in report.of("roles", "ok"))
        assert report.of("roles", "problem") == []


def test_the_new_version_makes_no_backup_before_migrate(of_0_2: Database) -> None:
    for words in ([str(of_0_2.folder / "backup")], ["--manifest"]):
        done = of_0_2.manage("backup", *words)

        assert done.returncode == 1
        assert "Run `backup` of the version of the servers." in done.stderr
        assert not (of_0_2.folder / "backup").exists()


def test_redis_has_to_answer(of_0_2: Database) -> None:
    report = of_0_2.preflight(REDIS_URL=NOWHERE)

    assert report.code == 1
    assert report.of("redis", "problem")[0].startswith("Redis does not answer")


def test_rabbitmq_has_to_answer(of_0_2: Database) -> None:
    report = of_0_2.preflight(CELERY_BROKER_URL="amqp://127.0.0.1:1//")

    assert report.of("rabbitmq", "problem")[0].startswith("RabbitMQ does not answer")


def test_settings_of_an_unsafe_production_are_problems(of_0_2: Database) -> None:
    report = of_0_2.preflight(WAKE_DEV="", REDIS_URL=NOWHERE)

    assert report.code == 1
    assert any(
        "WAKE_ORIGIN must be the https address" in t for t in report.of("settings", "problem")
    )


def test_a_pooler_that_loses_prepared_statements_is_a_problem(of_0_2: Database) -> None:
    try:
        pooler = PgBouncer(of_0_2.url_of_servers)
    except NotHere as reason:
        pytest.skip(str(reason))
    ours = variables(pooler.url, of_0_2.url)
    try:
        prepared = of_0_2.preflight(**ours | {"WAKE_PREPARED_STATEMENTS": "1"})
        unprepared = of_0_2.preflight(**ours)
    finally:
        pooler.end()

    assert prepared.of("pooler", "problem")[0].startswith("PgBouncer keeps no prepared statements")
    assert unprepared.of("pooler", "problem", "warning") == []
    assert unprepared.code == 0, unprepared.json
    assert unprepared.of("pooler", "ok")[0].startswith("PgBouncer 1.")


def test_a_database_that_is_away_is_a_problem(of_0_2: Database) -> None:
    report = of_0_2.preflight(DATABASE_URL="postgresql://postgres@127.0.0.1:1/nothing")

    assert report.code == 1
    assert report.of("database", "problem")[0].startswith("The database does not answer: ")
    assert report.json["migrations"] == []
