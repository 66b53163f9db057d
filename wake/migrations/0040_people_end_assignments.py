from typing import Any

from django.db import migrations

# Locks the teams before it looks for current assignments, as the process that creates an assignment
# does (wake/assignment/sharing.py). So a change that this process did not see ends its assignment
# here.
FUNCTION = """
CREATE OR REPLACE FUNCTION wake_end_assignments() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    teams bigint[];
BEGIN
    IF TG_TABLE_NAME = 'accounts_membership' THEN
        IF TG_OP <> 'DELETE' THEN teams := ARRAY[NEW.team_id]; END IF;
        IF TG_OP <> 'INSERT' THEN teams := teams || OLD.team_id; END IF;
    ELSIF TG_TABLE_NAME = 'accounts_user' THEN
        teams := ARRAY(SELECT team_id FROM accounts_membership WHERE user_id = NEW.id);
    ELSIF TG_OP = 'DELETE' THEN
        teams := ARRAY(SELECT team_id FROM accounts_membership WHERE user_id = OLD.user_id);
    ELSE
        teams := ARRAY(SELECT team_id FROM accounts_membership WHERE user_id = NEW.user_id);
    END IF;
    PERFORM FROM accounts_team WHERE id = ANY(teams) ORDER BY id FOR NO KEY UPDATE;
    UPDATE wake_assignment SET current_until = NULL
     WHERE current_until IS NOT NULL AND team_id = ANY(teams);
    RETURN NULL;
END $$
"""
TRIGGERS = {
    "accounts_membership": "INSERT OR DELETE OR UPDATE OF role, team_id, user_id",
    "accounts_user": "UPDATE OF display_name, is_active",
    "accounts_absence": "INSERT OR DELETE OR UPDATE",
}


def make_triggers(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return  # deliveries share no assignments on this database
    schema_editor.execute(FUNCTION)
    for table, changes in TRIGGERS.items():
        schema_editor.execute(
            f"CREATE TRIGGER end_assignments AFTER {changes} ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION wake_end_assignments()"
        )


def drop_triggers(apps: Any, schema_editor: Any) -> None:
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in TRIGGERS:
        schema_editor.execute(f"DROP TRIGGER IF EXISTS end_assignments ON {table}")
    schema_editor.execute("DROP FUNCTION IF EXISTS wake_end_assignments()")


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0024_people_sign_in_with_a_provider"),
        ("wake", "0039_assignments_of_earlier_deliveries"),
    ]

    operations = [migrations.RunPython(make_triggers, drop_triggers)]
