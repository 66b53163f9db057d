"""Routes the URLs of the protocol, each with and without a trailing slash, without redirects."""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, re_path

from wake.api import views
from wake.api.batches import BatchView
from wake.api.blobs import BlobView
from wake.api.claims import ClaimView, OutcomeView, ReceiptView


def either(route: str, view: Callable[..., Any]) -> list[URLPattern]:
    return [path(route, view), path(f"{route}/", view)]


urlpatterns = [
    *either("wake/v1", views.CapabilitiesView.as_view()),
    *either("wake/v1/deliver", views.DeliverView.as_view()),
    *either("wake/v1/deliveries", BatchView.as_view()),
    *either("wake/v1/blobs", BlobView.as_view()),
    *either("wake/v1/response/<str:delivery_id>", views.ResponseView.as_view()),
    *either("wake/v1/responses", views.ResponsesView.as_view()),
    *either("wake/v1/withdraw/<str:delivery_id>", views.WithdrawView.as_view()),
    *either("wake/v1/claim/<str:delivery_id>", ClaimView.as_view()),
    *either("wake/v1/outcome/<str:delivery_id>", OutcomeView.as_view()),
    *either("wake/v1/receipt/<str:delivery_id>", ReceiptView.as_view()),
    *either("wake/v1/openapi.json", views.OpenApiView.as_view()),
    *either("wake/v1/schema.json", views.JsonSchemaView.as_view()),
    re_path(r"^wake(?:/.*)?$", views.nothing_here),
]
