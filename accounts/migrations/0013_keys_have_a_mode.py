"""Renames a field. The column keeps its name, so this runs no SQL and processes of the previous
version keep working."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_attempts_at_passwords")]

    operations = [
        migrations.AlterField(
            "apikey",
            "lane",
            models.CharField(
                choices=[("live", "Live"), ("test", "Test")],
                db_column="lane",
                default="live",
                max_length=4,
            ),
        ),
        migrations.RenameField("apikey", "lane", "mode"),
    ]
