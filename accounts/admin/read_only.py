"""Provides read-only admin pages that stay fast with many rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from django.contrib.admin import SimpleListFilter
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin.audited import ModelAdmin

if TYPE_CHECKING:
    PaginatorOfRows = Paginator[Any]
else:
    PaginatorOfRows = Paginator

MAX_COUNT = 10_000


class CappedPaginator(PaginatorOfRows):
    """Stops counting at a limit. Older rows are found with filters and the search."""

    @cached_property
    def count(self) -> int:
        return cast(QuerySet[Any], self.object_list)[:MAX_COUNT].count()


class ReadOnlyAdmin(ModelAdmin):
    """Shows `fields`, and changes nothing."""

    actions = None
    paginator = CappedPaginator
    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allows only the filters on the page, because `?digest__startswith=a` would reveal a hash
        one character at a time."""
        return any(
            lookup == name or lookup.startswith(f"{name}__")
            for name in map(_parameter, self.get_list_filter(request))
        )


def _parameter(item: Any) -> str:
    if isinstance(item, type) and issubclass(item, SimpleListFilter):
        return str(item.parameter_name)
    return str(item if isinstance(item, str) else item[0])
