"""Answers the requests of a directory with scim2_server.

Only this module and those that it imports need the extra `scim`. They take 30 MB and a second, so a
process imports them with the first request of a directory (accounts/scim/views.py).
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from scim2_models import Context, Resource, ResponseParameters, SCIMException
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService

from accounts.audit import Actor
from accounts.scim.resources import PROVIDER, UserResource
from accounts.scim.storage import DirectoryStorage
from accounts.sign_in.oidc.provider import Provider

BASE = "/scim/v2"


class DirectoryService(ScimService):
    def patch_response(
        self,
        base_url: str,
        resource: Resource[Any],
        response_parameters: ResponseParameters[Any],
    ) -> ScimResponse:
        """Returns the account that was changed, because Okta and Entra ID expect it. A group may
        have many members, and its answer is empty."""
        if not isinstance(resource, UserResource):
            return super().patch_response(base_url, resource, response_parameters)
        return self.resource_response(
            self.publish(base_url, resource),
            Context.RESOURCE_REPLACEMENT_RESPONSE,
            response_parameters,
        )


SERVICE = DirectoryService(PROVIDER)


def answer(request: HttpRequest, path: str, *, provider: Provider, by: Actor) -> HttpResponse:
    """Answers a request whose token was checked. `path` is what follows BASE."""
    handler = ScimHandler(SERVICE, DirectoryStorage(provider, by))
    try:
        response = handler.handle(_read(request, path))
    except SCIMException as refusal:
        response = SERVICE.error_response(refusal)
    return _written(response)


def _read(request: HttpRequest, path: str) -> ScimRequest:
    return ScimRequest(
        method=request.method or "",
        base_url=settings.WAKE_ORIGIN + BASE,
        path=path,
        query=request.GET.dict(),
        headers=list(request.headers.items()),
        body=request.body,
    )


def _written(response: ScimResponse) -> HttpResponse:
    body = "" if response.body is None else json.dumps(response.body)
    written = HttpResponse(body, status=response.status.value)
    for name, value in response.headers.items():
        written[name] = value
    written["Cache-Control"] = "no-store"
    return written
