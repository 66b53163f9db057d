"""Writes errors as SCIM does (RFC 7644, 3.12). The library is not needed for them."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse, JsonResponse

MEDIA_TYPE = "application/scim+json"
SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"


def scim_error(status: int, detail: str) -> HttpResponse:
    body = {"schemas": [SCHEMA], "status": str(int(status)), "detail": detail}
    response = JsonResponse(body, status=status, content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    return response


def unauthorized() -> HttpResponse:
    response = scim_error(HTTPStatus.UNAUTHORIZED, "The bearer token is missing or wrong.")
    response["WWW-Authenticate"] = 'Bearer realm="SCIM"'
    return response


def too_many(retry_after: int) -> HttpResponse:
    response = scim_error(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests: try again later.")
    response["Retry-After"] = str(retry_after)
    return response
