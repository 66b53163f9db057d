from django.db import migrations

import database.encrypted_columns


class Migration(migrations.Migration):
    """The columns stay as they are, so no table is changed."""

    dependencies = [("wake", "0012_callbacks_out_of_the_queue")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("callback", "url", database.encrypted_columns.ContentTextField()),
                migrations.AlterField(
                    "delivery",
                    "callback_webhook",
                    database.encrypted_columns.ContentTextField(blank=True),
                ),
            ]
        )
    ]
