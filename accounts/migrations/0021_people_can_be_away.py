import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_rules_have_a_version")]

    operations = [
        migrations.CreateModel(
            "Absence",
            [
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="absence",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("until", models.DateTimeField()),
                (
                    "deputy",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        )
    ]
