"""Removes indexes of foreign keys that no query uses, and indexes whose columns begin another
index. Each was written with every task (docs/decisions/0063-a-send-waits-for-no-other.md)."""

from django.db import migrations, models

from database.schema.concurrent_indexes import DropForeignKeyIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("relay", "0017_indexes_without_nulls")]

    operations = [
        DropForeignKeyIndex(
            "context",
            "agent",
            models.ForeignKey(
                db_index=False,
                on_delete=models.PROTECT,
                related_name="contexts",
                to="accounts.agent",
            ),
        ),
        DropForeignKeyIndex(
            "context",
            "caller",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.PROTECT,
                related_name="contexts",
                to="relay.callerkey",
            ),
        ),
        DropForeignKeyIndex(
            "task",
            "agent",
            models.ForeignKey(
                db_index=False,
                on_delete=models.PROTECT,
                related_name="tasks",
                to="accounts.agent",
            ),
        ),
        DropForeignKeyIndex(
            "task",
            "caller",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.PROTECT,
                related_name="tasks",
                to="relay.callerkey",
            ),
        ),
        DropForeignKeyIndex(
            "task",
            "status_message",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to="relay.message",
            ),
        ),
        DropForeignKeyIndex(
            "message",
            "context",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="messages",
                to="relay.context",
            ),
        ),
        DropForeignKeyIndex(
            "event",
            "task",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="events",
                to="relay.task",
            ),
        ),
        DropForeignKeyIndex(
            "event",
            "message",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.CASCADE,
                related_name="+",
                to="relay.message",
            ),
        ),
        DropForeignKeyIndex(
            "event",
            "artifact",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.CASCADE,
                related_name="+",
                to="relay.artifact",
            ),
        ),
        DropForeignKeyIndex(
            "run",
            "agent",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="runs",
                to="accounts.agent",
            ),
        ),
        DropForeignKeyIndex(
            "run",
            "message",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="+",
                to="relay.message",
            ),
        ),
        DropForeignKeyIndex(
            "run",
            "connector",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=models.SET_NULL,
                related_name="runs",
                to="relay.connector",
            ),
        ),
    ]
