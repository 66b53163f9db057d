from django.db import migrations, models

from accounts.audit.totals import sign_tip


def sign_tips(apps, schema_editor):
    """There is one row for each team."""
    for tip in apps.get_model('accounts', 'AuditTip').objects.all():
        sign_tip(tip)
        tip.save(update_fields=['signature'])


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0013_keys_have_a_mode'),
    ]

    operations = [
        migrations.AddField(
            model_name='audittip',
            name='signature',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.RunPython(sign_tips, migrations.RunPython.noop),
    ]
