from django.db import migrations

import database.encrypted_columns


class Migration(migrations.Migration):
    """The column stays as it is, so no table is changed."""

    dependencies = [("inbox", "0004_read_again_when_switched")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    "preset", "text", database.encrypted_columns.ContentTextField(max_length=2_000)
                )
            ]
        )
    ]
