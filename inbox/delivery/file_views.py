"""Serves the pictures and files of a delivery to the people who may read it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from database.uuids import uuid_or_none
from inbox.delivery.picture_response import picture_response
from inbox.rendering.blocks import blocks_in
from inbox.rendering.files import decoded, digest_of, inline_data
from inbox.rendering.json_text import read
from pages.page import for_person, page
from wake.blobs.pictures import NotShowable
from wake.models import Attachment, Delivery, File
from wake.models.blobs import AttachmentQuerySet
from wake.server.http.downloads import download


@require_safe
@for_person
def picture(request: PersonRequest, pk: UUID, digest: str) -> HttpResponseBase:
    """Shows a picture of the delivery, by the hash of its bytes."""
    attachment = _attachments(request, pk).with_picture(digest).first()
    shown = attachment.blob if attachment else _inline(request, pk, digest)
    return picture_response(request, shown, digest)


@require_safe
@page
def download_file(request: PersonRequest, pk: UUID, blob: UUID) -> HttpResponse:
    """Downloads a file of the delivery, under the name that its block has."""
    attachment = get_object_or_404(_attachments(request, pk), blob=blob)
    name = _name(_delivery(request, pk), blob)
    return download(File(name, attachment.blob.media_type, bytes(attachment.blob.content)))


def _attachments(request: PersonRequest, pk: UUID) -> AttachmentQuerySet:
    return Attachment.objects.for_person(request.user).of_delivery(pk)


def _delivery(request: PersonRequest, pk: UUID) -> Delivery:
    """Raises Http404."""
    theirs = Delivery.objects.for_person(request.user).only("pk", "details_json")
    return get_object_or_404(theirs, pk=pk)


def _inline(request: PersonRequest, pk: UUID, digest: str) -> bytes:
    """Returns the bytes of a picture that came with the delivery itself. Raises Http404."""
    for data in inline_data(_blocks(_delivery(request, pk))):
        try:
            content = decoded(data)
        except NotShowable:
            continue
        if digest_of(content) == digest:
            return content
    raise Http404


def _name(delivery: Delivery, blob: UUID) -> str:
    """Returns the name of the first block that shows the blob as a file."""
    for block in _blocks(delivery) or ():
        match block:
            case {"type": "file", "blob": str(id), "name": str(name)} if uuid_or_none(id) == blob:
                return name
    return ""


def _blocks(delivery: Delivery) -> list[Any] | None:
    return blocks_in(read(delivery.details_json)) if delivery.details_json else None
