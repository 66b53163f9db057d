"""Answers with a picture that was written again, under a policy of its own."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from inbox.rendering.files import inline_picture
from wake.blobs.pictures import NotShowable, Picture
from wake.models import UploadedBlob

PICTURE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    # The browser keeps it and asks each time, so that what was erased, or is no longer theirs, is
    # not shown to a person who signed out.
    "Cache-Control": "private, no-cache",
}
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}


def picture_response(
    request: HttpRequest, picture: UploadedBlob | bytes, digest: str
) -> HttpResponseBase:
    """Shows an uploaded picture, which is stored as it was written again, or the bytes of an agent,
    which are written again here. `digest` is the SHA-256 of the bytes. Raises Http404 for what
    cannot be shown, and TooManyPictures if others are decoded for too long."""
    response = get_conditional_response(request, etag=f'"{digest}"')
    if response is None:
        shown = _rewritten(picture) if isinstance(picture, bytes) else picture
        response = _shown(shown, digest)
    for name, value in PICTURE_HEADERS.items():
        response[name] = value
    response["ETag"] = f'"{digest}"'
    return response


def _shown(picture: UploadedBlob | Picture, digest: str) -> HttpResponse:
    name = f"{digest[:12]}.{EXTENSIONS[picture.media_type]}"
    return HttpResponse(
        bytes(picture.content),
        content_type=picture.media_type,
        headers={"Content-Disposition": f'inline; filename="{name}"'},
    )


def _rewritten(content: bytes) -> Picture:
    try:
        return inline_picture(content)
    except NotShowable:
        raise Http404 from None
