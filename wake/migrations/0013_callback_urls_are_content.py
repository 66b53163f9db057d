from django.db import migrations

import wake.models.content


class Migration(migrations.Migration):
    """The columns stay as they are, so no table is touched."""

    dependencies = [("wake", "0012_callbacks_out_of_the_queue")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("callback", "url", wake.models.content.ContentTextField()),
                migrations.AlterField(
                    "delivery",
                    "callback_webhook",
                    wake.models.content.ContentTextField(blank=True),
                ),
            ]
        )
    ]
