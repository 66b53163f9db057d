"""Takes the files that agents upload."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema

from accounts.agents import keys
from accounts.limits import read_limits, throttles
from database.clock import database_now
from wake import wire
from wake.api import errors, openapi
from wake.api.authentication import remembered_key
from wake.api.parsers import Malformed, read_body
from wake.api.views import HotView, json_response
from wake.blobs.uploads import Uploaded, upload


class BlobView(HotView):
    @extend_schema(**openapi.BLOB)
    def post(self, request: HttpRequest) -> HttpResponse:
        key = remembered_key(request)
        # A refused upload spends no quota, but decoding its picture may be costly. So each upload
        # counts as a read.
        read_limits.count_read(key.pk)
        try:
            content = _content(request)
        except Exception:
            # Raises the error of an ended key, which then hides all other errors.
            keys.check_again(key, at=database_now())
            raise
        uploaded = upload(
            key,
            content,
            content_type=request.META.get("CONTENT_TYPE", ""),
            address=throttles.client_address(request),
            at=database_now(),
        )
        response = json_response(_receipt(uploaded), status=201)
        if uploaded.replayed:
            response["Idempotency-Replayed"] = "true"
        if uploaded.allowance:
            for name, value in errors.rate_headers(uploaded.allowance).items():
                response[name] = value
        return response


def _content(request: HttpRequest) -> bytes:
    """Returns the bytes of the uploaded file. Raises Malformed or BodyTooLarge."""
    content = read_body(request, limit=settings.WAKE_MAX_BLOB_BYTES)
    if not content:
        raise Malformed("The body is empty: send the bytes of the file.")
    return content


def _receipt(uploaded: Uploaded) -> wire.Blob:
    blob = uploaded.blob
    return wire.Blob(
        blob_id=blob.pk,
        media_type=blob.media_type,
        size=blob.size,
        sha256=blob.sha256,
        width=blob.width,
        height=blob.height,
        expires_at=uploaded.expires_at,
    )
