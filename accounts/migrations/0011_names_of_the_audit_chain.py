"""Renames the models of the audit chain. Tables and columns keep their names, so this runs no SQL,
and processes of the previous version keep working."""

from django.db import migrations, models


def appended_at() -> models.DateTimeField:
    return models.DateTimeField(db_column='sealed_at')


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_signed_audit_totals'),
    ]

    operations = [
        migrations.AlterModelTable(name='auditseal', table='accounts_auditseal'),
        migrations.AlterModelTable(name='audithead', table='accounts_audithead'),
        migrations.AlterModelTable(name='sealeduntil', table='accounts_sealeduntil'),
        migrations.RenameModel(old_name='AuditSeal', new_name='AuditEntry'),
        migrations.RenameModel(old_name='AuditHead', new_name='AuditTip'),
        migrations.RenameModel(old_name='SealedUntil', new_name='AuditCheckpoint'),
        migrations.AlterField(model_name='auditentry', name='sealed_at', field=appended_at()),
        migrations.RenameField(model_name='auditentry', old_name='sealed_at', new_name='appended_at'),
        migrations.AlterField(model_name='audittip', name='sealed_at', field=appended_at()),
        migrations.RenameField(model_name='audittip', old_name='sealed_at', new_name='appended_at'),
    ]
