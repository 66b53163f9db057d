"""Writes the versions of the rules that answered or assigned the deliveries of an export."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from wake.models import AnsweringVersion, RuleVersion


def rule_versions(answering: Collection[int], assignment: Collection[int]) -> list[dict[str, Any]]:
    """Returns every column of these versions, with the name of their rule. Versions never change.
    Makes two queries."""
    answered = AnsweringVersion.objects.filter(pk__in=answering).select_related("rule")
    assigned = RuleVersion.objects.filter(pk__in=assignment).select_related("rule")
    return [
        *(_values(version, "answering rule") for version in answered.order_by("pk")),
        *(_values(version, "assignment rule") for version in assigned.order_by("pk")),
    ]


def _values(version: AnsweringVersion | RuleVersion, kind: str) -> dict[str, Any]:
    columns = {field.attname: getattr(version, field.attname) for field in version._meta.fields}
    return {"kind": kind, "rule_name": version.rule.name, **columns}
