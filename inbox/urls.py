"""Maps the addresses of the pages to their views."""

from django.urls import include, path

from inbox.audit import views as audit_views
from inbox.audit.evidence import views as evidence_views
from inbox.history import views as history_views
from inbox.search import views as search_views
from inbox.statistics import views as statistics_views

urlpatterns = [
    path("", include("inbox.list.urls")),
    path("", include("inbox.delivery.urls")),
    path("", include("inbox.answering.urls")),
    path("", include("inbox.assignment.urls")),
    path("", include("inbox.agents.urls")),
    path("", include("inbox.callbacks.urls")),
    path("", include("inbox.notifications.urls")),
    path("", include("inbox.pages.urls")),
    path("", include("inbox.preferences.urls")),
    path("", include("inbox.history.retention.urls")),
    path("views", search_views.save_search, name="save-view"),
    path("views/remove", search_views.remove_saved_view, name="remove-view"),
    path("history/", history_views.history_list, name="history"),
    path("agents/<uuid:pk>/statistics/", statistics_views.agent_statistics, name="statistics"),
    path(
        "agents/<uuid:pk>/statistics/export.csv", statistics_views.export_csv, name="statistics-csv"
    ),
    path(
        "agents/<uuid:pk>/statistics/export.json",
        statistics_views.export_json,
        name="statistics-json",
    ),
    path("agents/<uuid:pk>/evidence/", evidence_views.evidence, name="evidence"),
    path("audit/", audit_views.audit_list, name="audit"),
    path("audit/<int:pk>/", audit_views.audit_event, name="audit-event"),
    path("audit/head.json", audit_views.log_head_json, name="audit-tips"),
    path("audit/export.csv", audit_views.export_csv, name="audit-csv"),
    path("audit/export.jsonl", audit_views.export_jsonl, name="audit-jsonl"),
]
