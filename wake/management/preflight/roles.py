"""Looks whether the role of `migrate` may change the tables, and the roles of servers may use them
afterwards (deploy/roles.sql)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection

from database.postgresql.bounded_connections import LIMITS
from wake.management.preflight.findings import Finding, Level

PART = "roles"
RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")

NOT_OWNED = """
SELECT tablename, tableowner FROM pg_tables
 WHERE schemaname = current_schema() AND tablename = ANY(%s)
   AND NOT pg_has_role(%s, tableowner, 'USAGE') ORDER BY tablename
"""
# A role that may not deliver serves no one: a program for backups or figures, for example.
CONNECTED = """
SELECT DISTINCT usename FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL
   AND has_table_privilege(usename, 'wake_delivery', 'INSERT') ORDER BY usename
"""
LACKING = """
SELECT tablename, privilege FROM pg_tables, unnest(%s::text[]) AS privilege
 WHERE schemaname = current_schema() AND tablename = ANY(%s)
   AND NOT has_table_privilege(%s, format('%%I.%%I', schemaname, tablename), privilege)
 ORDER BY 1, 2
"""
# Which rights a role will have on the tables that the role of `migrate` creates.
LATER = """
SELECT DISTINCT item.privilege_type
  FROM pg_default_acl acl, aclexplode(acl.defaclacl) AS item
 WHERE acl.defaclrole = quote_ident(%s)::regrole AND acl.defaclobjtype = 'r'
   AND item.grantee IN (quote_ident(%s)::regrole, 0) AND item.privilege_type = ANY(%s)
"""
IS_OWNER = """
SELECT rolsuper OR pg_has_role(rolname, tableowner, 'USAGE') FROM pg_roles, pg_tables
 WHERE rolname = %s AND schemaname = current_schema() AND tablename = 'wake_delivery'
"""
SETTINGS = """
SELECT split_part(setting, '=', 1) FROM pg_db_role_setting, unnest(setconfig) AS setting
 WHERE setrole = quote_ident(%s)::regrole
   AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


def findings() -> Iterator[Finding]:
    """Finds nothing on SQLite, which has no roles."""
    if connection.vendor != "postgresql":
        return
    tables = connection.introspection.django_table_names(only_existing=True)
    migrator = _migrator()
    first = _may_migrate(migrator, tables)
    yield first
    if first.level is Level.PROBLEM or "wake_delivery" not in tables:
        return
    servers = [name for (name,) in _rows(CONNECTED)]
    if not servers:
        yield Finding(PART, Level.OK, "No server is connected, so its role is not known here.")
    for name in servers:
        if _rows(IS_OWNER, name) == [(True,)]:
            yield Finding(
                PART,
                Level.WARNING,
                f"A server connects as {name}, who may turn the triggers of the audit off. Give "
                "the servers a role of their own (deploy/roles.sql).",
            )
        else:
            yield from _of_server(name, migrator, tables)


def _migrator() -> str:
    name = connection.direct_settings["USER"]  # type: ignore[attr-defined]
    return str(name or _rows("SELECT current_user")[0][0])


def _may_migrate(role: str, tables: list[str]) -> Finding:
    owned_by_others = _rows(NOT_OWNED, tables, role)
    if not owned_by_others:
        return Finding(PART, Level.OK, f"{role} may change the tables.")
    owners = ", ".join(sorted({owner for _, owner in owned_by_others}))
    return Finding(
        PART,
        Level.PROBLEM,
        f"{role} may not change {len(owned_by_others)} tables, so `migrate` would fail. Run "
        f"`preflight` and `migrate` as their owner, {owners}.",
    )


def _of_server(role: str, migrator: str, tables: list[str]) -> Iterator[Finding]:
    problems = []
    if lacking := _rows(LACKING, list(RIGHTS), tables, role):
        table, privilege = lacking[0]
        more = f", and {len(lacking) - 1} other rights" if len(lacking) > 1 else ""
        problems.append(f"{role} lacks {privilege} on {table}{more}.")
    later = {privilege for (privilege,) in _rows(LATER, migrator, role, list(RIGHTS))}
    if missing := sorted(set(RIGHTS) - later):
        problems.append(
            f"{role} will lack {', '.join(missing)} on the tables that {migrator} creates."
        )
    if settings.WAKE_DATABASE_POOLED:
        limits = {name for (name,) in _rows(SETTINGS, role)}
        if missing := sorted(LIMITS.keys() - limits):
            problems.append(f"{role} lacks limits behind the pooler: {', '.join(missing)}.")
    for text in problems:
        hint = f"Run deploy/roles.sql for {role}, as {migrator}."
        yield Finding(PART, Level.PROBLEM, f"{text} {hint}")
    if not problems:
        yield Finding(PART, Level.OK, f"{role}, the role of a connected server, has its rights.")


def _rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
