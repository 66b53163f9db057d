"""Lets events wait until their pushes are made, which happens after the transaction that stored
them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("relay", "0013_events_have_pieces")]

    operations = [
        migrations.AddField(
            model_name="event",
            name="push_due_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="pushconfig",
            name="after_generation",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
