"""Repeats what `check --deploy --database default` finds, as findings."""

from __future__ import annotations

from collections.abc import Iterator

from django.core import checks

from wake.management.preflight.findings import Finding, Level

PART = "settings"


def findings() -> Iterator[Finding]:
    messages = checks.run_checks(include_deployment_checks=True, databases=["default"])
    shown = [message for message in messages if not message.is_silenced()]
    for message in shown:
        if message.level >= checks.WARNING:
            level = Level.PROBLEM if message.level >= checks.ERROR else Level.WARNING
            hint = f" {message.hint}" if message.hint else ""
            yield Finding(PART, level, f"{message.msg}{hint} ({message.id})")
    if all(message.level < checks.WARNING for message in shown):
        yield Finding(PART, Level.OK, "`check --deploy` finds nothing.")
