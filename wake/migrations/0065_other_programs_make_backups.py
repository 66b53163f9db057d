from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("wake", "0064_teams_move")]

    operations = [
        migrations.AddField(
            "lastbackup",
            "program",
            models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AlterField("lastbackup", "folder", models.TextField(blank=True)),
        migrations.AlterField("lastbackup", "size", models.BigIntegerField(null=True)),
    ]
