"""Shows in the admin what the company's directory sent, and which accounts have no person yet."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from accounts.admin.read_only import ReadOnlyAdmin
from accounts.models import DirectoryAccount, DirectoryGroup


@admin.register(DirectoryAccount)
class DirectoryAccountAdmin(ReadOnlyAdmin):
    fields = (
        *("user_name", "external_id", "display_name", "is_active", "user"),
        *("created_at", "changed_at", "deleted_at", "deactivated_person_at"),
    )
    list_display = ("__str__", "external_id", "user", "is_active", "changed_at", "deleted_at")
    list_select_related = ("user",)
    list_filter = (
        "is_active",
        ("user", admin.EmptyFieldListFilter),
        ("deleted_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("user_name", "external_id", "user__email")
    ordering = ("-changed_at",)


@admin.register(DirectoryGroup)
class DirectoryGroupAdmin(ReadOnlyAdmin):
    fields = ("display_name", "external_id", "members_count", "created_at", "changed_at")
    list_display = ("display_name", "external_id", "members_count", "changed_at")
    search_fields = ("display_name", "external_id")
    ordering = ("display_name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[DirectoryGroup]:
        groups: QuerySet[DirectoryGroup] = super().get_queryset(request)
        return groups.annotate(member_count=Count("members"))

    @admin.display(description="members")
    def members_count(self, group: DirectoryGroup) -> int:
        return int(group.member_count)  # type: ignore[attr-defined]  # annotated
