"""A forecast says for how long a migration blocks each table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection
from django.db.migrations import Migration, RunPython
from django.db.migrations.operations import RunSQL

from database.schema.locks import Blocked
from database.schema.pending import PendingOperation
from wake.management.preflight import versions
from wake.management.preflight.findings import Level
from wake.management.preflight.forecasts import Forecast, Table, forecast
from wake.management.preflight.migrations import findings

MEGABYTE = 1_000_000
LAMPS = Table("lamps", heap=100 * MEGABYTE, total=250 * MEGABYTE)
ROOMS = Table("rooms", heap=MEGABYTE, total=MEGABYTE)
LAMPS_CHECKED = 'ALTER TABLE "lamps" ADD COLUMN "watts" integer NULL CHECK ("watts" >= 0)'
ROOMS_CHANGED = 'ALTER TABLE "rooms" ADD COLUMN "floor" integer NULL'


def foreseen(statements: Sequence[str], *, atomic: bool = True) -> Forecast:
    """The disk reads 10 MB a second."""
    kind = type("Migration", (Migration,), {"atomic": atomic})
    migration = kind("0007_lamps", "house")
    steps = [PendingOperation(RunSQL(each), (each,)) for each in statements]
    return forecast(migration, steps, {"lamps": LAMPS, "rooms": ROOMS}, 10 * MEGABYTE)


@pytest.fixture(autouse=True)
def _on_postgresql(db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("about PostgreSQL")


def test_a_check_blocks_everything_while_the_table_is_read() -> None:
    result = foreseen([LAMPS_CHECKED])

    assert result.blocked == {"lamps": Blocked.EVERYTHING}
    assert result.blocked_for == {"lamps": pytest.approx(10)}
    (warning,) = [each for each in findings([result]) if each.level is Level.WARNING]
    assert warning.text == (
        "house.0007_lamps blocks reads and writes of lamps for about 10 s. Requests that need the "
        "table get 503 meanwhile. Choose a quiet time."
    )


def test_a_transaction_blocks_each_table_until_its_end() -> None:
    together = foreseen([ROOMS_CHANGED, LAMPS_CHECKED])
    apart = foreseen([ROOMS_CHANGED, LAMPS_CHECKED], atomic=False)

    assert together.blocked_for["rooms"] == pytest.approx(10)
    assert apart.blocked_for["rooms"] == 0


def test_a_check_in_steps_blocks_for_a_moment() -> None:
    added = 'ALTER TABLE "lamps" ADD CONSTRAINT "bright" CHECK ("watts" > 0) NOT VALID'
    validated = 'ALTER TABLE "lamps" VALIDATE CONSTRAINT "bright"'

    apart, together = foreseen([added, validated], atomic=False), foreseen([added, validated])

    assert apart.blocked_for == {"lamps": 0}
    assert apart.beside == {"lamps": pytest.approx(10)}
    assert together.blocked_for == {"lamps": pytest.approx(10)}


def test_a_lock_that_comes_last_is_short() -> None:
    result = foreseen([LAMPS_CHECKED, ROOMS_CHANGED])

    assert result.blocked_for["rooms"] == 0


def test_an_index_built_beside_servers_blocks_nothing_and_needs_room() -> None:
    statement = 'CREATE INDEX CONCURRENTLY "bright" ON "lamps" ("watts")'

    result = foreseen([statement], atomic=False)

    assert result.blocked_for == {}
    assert result.beside == {"lamps": pytest.approx(20)}
    assert result.new_bytes == 10 * MEGABYTE
    texts = [each.text for each in findings([result])]
    assert "house.0007_lamps reads lamps for about 20 s, and blocks nothing." in texts


def test_a_new_type_writes_the_table_and_its_indexes_again() -> None:
    statement = 'ALTER TABLE "lamps" ALTER COLUMN "watts" TYPE numeric USING "watts"::numeric'

    result = foreseen([statement])

    assert result.blocked_for == {"lamps": pytest.approx(250 / 40)}
    assert result.new_bytes == LAMPS.total


def test_a_new_table_blocks_nothing() -> None:
    assert foreseen(['ALTER TABLE "new" ADD COLUMN "x" integer NULL']).blocked_for == {}


def test_code_is_told_in_its_own_words() -> None:
    def brighten(apps: object, editor: object) -> None:
        """Gives each lamp
        more light.

        Twice.
        """

    migration = Migration("0008_brighter", "house")
    result = forecast(migration, [PendingOperation(RunPython(brighten), None)], {}, 1)

    assert result.code == ["Gives each lamp more light."]


def test_an_old_postgresql_is_a_problem() -> None:
    finding = versions.database(oldest=(99, 1))

    assert finding.level is Level.PROBLEM
    assert finding.text.endswith("Wake needs 99.1 or later.")
