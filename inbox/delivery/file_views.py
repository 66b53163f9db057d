"""Serves the pictures, the files and the receipt of a delivery to the people who may read it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from database.clock import database_now
from database.uuids import uuid_or_none
from inbox.delivery.picture_response import picture_response
from inbox.rendering.blocks import blocks_in
from inbox.rendering.files import decoded, digest_of, inline_data
from inbox.rendering.json_text import read
from pages.page import for_person, page
from pages.redirects import SeeOther
from wake.blobs.pictures import NotShowable
from wake.models import Attachment, Delivery, File
from wake.models.blobs import AttachmentQuerySet
from wake.proof import log_proofs, receipts
from wake.server.http.downloads import download

NO_PROOF = (
    "The file that you downloaded is the receipt alone. There is no proof that it is in the log, "
    "because a part of the server's log is damaged. Tell the person who runs the server."
)


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
    """Downloads a file of the delivery, under the name in its block."""
    attachment = get_object_or_404(_attachments(request, pk), blob=blob)
    name = _name(_delivery(request, pk), blob)
    return download(File(name, attachment.blob.media_type, bytes(attachment.blob.content)))


@require_safe
@page
def download_receipt(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Downloads the signed receipt of an answer that the agent has. The receipt has every
    disclosure, because people who may read the delivery may also see who answered and what the
    answer says. Once a checkpoint of the log covers the receipt, the file also has the proof of
    this. If the log is damaged, the file is the receipt alone, and the next page says so. If the
    agent does not have the answer, redirects to the delivery."""
    receipt = receipts.of_sent_answer(_delivery(request, pk).pk, at=database_now())
    if receipt is None:
        return SeeOther("delivery", pk=pk)
    text = receipts.for_people(receipt)
    try:
        proof = log_proofs.with_proof(receipt, text)
    except log_proofs.DamagedLog:
        messages.warning(request, NO_PROOF)
        proof = None
    if proof:
        return download(File(f"receipt-{pk}.tlog-proof", "text/plain", proof.encode()))
    return download(File(f"receipt-{pk}.sd-jwt", "application/sd-jwt", text.encode()))


def _attachments(request: PersonRequest, pk: UUID) -> AttachmentQuerySet:
    return Attachment.objects.for_person(request.user).of_delivery(pk)


def _delivery(request: PersonRequest, pk: UUID) -> Delivery:
    """Returns the delivery if the person may see it. Raises Http404."""
    theirs = Delivery.objects.for_person(request.user).only("pk", "details_json")
    return get_object_or_404(theirs, pk=pk)


def _inline(request: PersonRequest, pk: UUID, digest: str) -> bytes:
    """Returns the bytes of a picture that is part of the delivery. Raises Http404."""
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
