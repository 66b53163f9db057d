"""Publishes where clients sign in (RFC 8414), and which server takes their tokens (RFC 9728)."""

from __future__ import annotations

import json

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from oauth2_provider.views import OAuthServerMetadataView

_document = OAuthServerMetadataView.as_view()


@require_safe
def authorization_server(request: HttpRequest) -> HttpResponse:
    """Answers with the metadata of the one authorization server."""
    device = {"device_authorization_endpoint": f"{settings.WAKE_OAUTH_ISSUER}/device"}  # RFC 8628
    return _for_everyone(json.loads(_document(request).content) | device)


@require_safe
def protected_resource(request: HttpRequest) -> HttpResponse:
    return _for_everyone(
        {
            "resource": settings.WAKE_OAUTH_RESOURCE,
            "authorization_servers": [settings.WAKE_OAUTH_ISSUER],
            "scopes_supported": list(settings.OAUTH2_PROVIDER["SCOPES"]),
            "bearer_methods_supported": ["header"],
            "resource_name": "Wake",
        }
    )


def _for_everyone(metadata: dict[str, object]) -> HttpResponse:
    """Allows pages of other origins to read the document, as the inspectors of MCP do."""
    response = JsonResponse(metadata)
    response["Access-Control-Allow-Origin"] = "*"
    response["Cache-Control"] = "public, max-age=600"
    return response
