from django.db import migrations

import database.encrypted_columns


class Migration(migrations.Migration):
    dependencies = [("wake", "0021_deliveries_have_a_priority")]

    operations = [
        migrations.AddField(
            "delivery",
            "withdrawn_reason",
            database.encrypted_columns.ContentTextField(blank=True, db_default="", default=""),
        ),
    ]
