"""Serves a re-encoded picture, under its own content policy."""

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
    # The browser stores the picture. Before each use, the browser asks the server whether the
    # picture may still be shown. So a person who has signed out, or who may no longer see the
    # picture, does not see the stored copy. After the picture was erased, no one sees the stored
    # copy.
    "Cache-Control": "private, no-cache",
}
EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}


def picture_response(
    request: HttpRequest, picture: UploadedBlob | bytes, digest: str
) -> HttpResponseBase:
    """Shows an uploaded picture or an agent's bytes. An uploaded picture was re-encoded before it
    was stored; an agent's bytes are re-encoded here. `digest` is the SHA-256 of the bytes. Raises
    Http404 for a picture that cannot be shown, and TooManyPictures if others take too long to
    decode."""
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
