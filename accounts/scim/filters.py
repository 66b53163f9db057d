"""Turns a filter of SCIM (RFC 7644, 3.4.2.2) into a condition for the database. Directories look
resources up by their ids and names, so `eq`, `and` and `or` are enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import Q
from scim2_models import InvalidFilterException
from scim2_models.path import (
    CompareOperator,
    Comparison,
    FilterNode,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
)

from accounts.models import user_key_of

NOTHING = Q(pk__in=[])
MAX_COMPARISONS = 20
Condition = Callable[[str], Q]


def uuid_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _with_id(column: str) -> Condition:
    return lambda text: Q(**{column: found}) if (found := uuid_of(text)) else NOTHING


USERS: dict[str, Condition] = {
    "id": _with_id("pk"),
    "username": lambda text: Q(user_key=user_key_of(text)),
    "externalid": lambda text: Q(external_id=text) if text else NOTHING,
    "displayname": lambda text: Q(display_name__iexact=text),
}
GROUPS: dict[str, Condition] = {
    "id": _with_id("pk"),
    "externalid": lambda text: Q(external_id=text) if text else NOTHING,
    "displayname": lambda text: Q(display_name__iexact=text),
    "members": _with_id("members"),
    "members.value": _with_id("members"),
}


class Conditions(FilterVisitor[Q]):
    """Builds the condition. Raises InvalidFilterException for anything else than listed above."""

    def __init__(self, known: dict[str, Condition]) -> None:
        self.known = known
        self.within = ""
        self.comparisons = 0

    def visit_comparison(self, node: Comparison) -> Q:
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise InvalidFilterException(detail=f"Use at most {MAX_COMPARISONS} comparisons.")
        path = node.attr_path
        name = ".".join(part for part in (self.within, path.attr, path.sub_attr) if part).lower()
        if node.op != CompareOperator.eq or not isinstance(node.value, str):
            raise self._refused()
        condition = self.known.get(name)
        if condition is None:
            raise self._refused()
        # PostgreSQL cannot compare U+0000, and no resource has it.
        return NOTHING if "\0" in node.value else condition(node.value)

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        both = and_ if node.op == LogicalOperator.and_ else or_
        return reduce(both, map(self.visit, node.terms))

    def visit_value_path(self, node: ValuePath) -> Q:
        """Reads `members[value eq "…"]`."""
        self.within = node.attr_path.attr
        found: Q = self.visit(node.val_filter)
        self.within = ""
        return found

    def visit_present(self, node: Present) -> Q:
        raise self._refused()

    def visit_not(self, node: Not) -> Q:
        raise self._refused()

    def _refused(self) -> InvalidFilterException:
        names = ", ".join(sorted(self.known))
        return InvalidFilterException(detail=f"Compare one of these with eq: {names}.")


def condition_of(node: FilterNode, known: dict[str, Condition]) -> Any:
    return Conditions(known).visit(node)
