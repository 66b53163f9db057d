import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0029_clients_sign_in_by_oauth")]

    operations = [
        migrations.AddField("devicesignin", "ends_at", models.DateTimeField(null=True)),
        migrations.AlterField(
            "devicesignin",
            "machine",
            models.CharField(
                blank=True,
                max_length=80,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]*\\Z",
                        "Control characters are not allowed here.",
                    )
                ],
            ),
        ),
    ]
