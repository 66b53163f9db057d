from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0018_browsers_are_notified")]

    operations = [
        migrations.AddField("notificationrule", "quiet_from", models.TimeField(null=True)),
        migrations.AddField("notificationrule", "quiet_until", models.TimeField(null=True)),
        migrations.AddField(
            "notificationrule",
            "quiet_days",
            models.CharField(db_default="0123456", default="0123456", max_length=7),
        ),
        migrations.AddField(
            "notificationrule", "most_an_hour", models.PositiveSmallIntegerField(null=True)
        ),
    ]
