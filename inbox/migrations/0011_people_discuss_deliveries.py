import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import database.encrypted_columns


class Migration(migrations.Migration):
    dependencies = [
        ("inbox", "0010_people_save_views"),
        ("wake", "0025_times_of_the_database"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("author_name", models.CharField(max_length=80)),
                ("text", database.encrypted_columns.ContentTextField(max_length=4000)),
                ("written_at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="comments",
                        to="wake.delivery",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mentions",
                        to="inbox.comment",
                    ),
                ),
                (
                    "delivery",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="wake.delivery",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="comment",
            index=models.Index(fields=["delivery", "written_at"], name="comments_on_a_delivery"),
        ),
        migrations.AddIndex(
            model_name="mention",
            index=models.Index(fields=["user", "-id"], name="mentions_of_a_person"),
        ),
        migrations.AddIndex(
            model_name="mention",
            index=models.Index(
                condition=models.Q(("seen_at__isnull", True)),
                fields=["user", "delivery"],
                name="unseen_mentions",
            ),
        ),
    ]
