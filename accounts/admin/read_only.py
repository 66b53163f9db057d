"""Admin pages to look at and not to touch, however many rows there are."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from django.contrib.admin import SimpleListFilter
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.audited_admin import ModelAdmin

if TYPE_CHECKING:
    PaginatorOfRows = Paginator[Any]
else:
    PaginatorOfRows = Paginator

COUNT_AT_MOST = 10_000


class CappedPaginator(PaginatorOfRows):
    """Counts no further than anybody pages; filters and the search find what is older."""

    @cached_property
    def count(self) -> int:
        return cast(QuerySet[Any], self.object_list)[:COUNT_AT_MOST].count()


class ReadOnlyAdmin(ModelAdmin):
    """Shows `fields`, and answers no question in the URL about any other column."""

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
        """The filters on the page and nothing else: `?digest__startswith=a` would spell out a hash
        guess by guess."""
        return any(
            lookup == name or lookup.startswith(f"{name}__")
            for name in map(_parameter, self.get_list_filter(request))
        )


def _parameter(item: Any) -> str:
    if isinstance(item, type) and issubclass(item, SimpleListFilter):
        return str(item.parameter_name)
    return str(item if isinstance(item, str) else item[0])
