"""Lets a person sign an answer with their passkey (docs/sign-in.md, Sign an answer)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from accounts.access.objects import NotAllowed, may_answer
from accounts.access.requests import PersonRequest
from accounts.limits.throttles import TooManyRequests
from accounts.models import Passkey, User
from accounts.sign_in.passkeys.assertions import request_options
from accounts.sign_in.passkeys.ceremonies import offer, proved
from accounts.sign_in.passkeys.challenges import Purpose
from accounts.sign_in.passkeys.public_keys import as_der
from accounts.sign_in.passkeys.refusals import NotVerified, PasskeyCopied, PasskeyRefused
from accounts.sign_in.passkeys.relying_parties import (
    RelyingParty,
    relying_party,
    where_they_work,
)
from database.clock import database_now
from inbox.answering.editing.edits import Original
from inbox.answering.forms import AnswerForm
from inbox.answering.unsent import own_answer
from inbox.reading.drafts import keep_unsigned
from inbox.reading.finding import find_delivery
from inbox.reading.status_words import status_words
from inbox.rendering.diffs.outlines import sides
from inbox.rendering.diffs.word_diffs import changes
from pages.page import page
from wake.models import Delivery
from wake.proof.signatures import Signature, Statement, challenge_of, statement_of

# Sign-in suggests the password instead, but a password cannot sign an answer.
REFUSALS: dict[type[PasskeyRefused], str] = {
    NotVerified: "Your device didn't check that it's you, by fingerprint, face or PIN. Try again.",
    PasskeyCopied: "This passkey was refused, because another device seems to have a copy of it. "
    "Remove it under Settings, Security, and add a new one.",
}


@require_POST
@page
def offer_signature(request: PersonRequest, pk: UUID) -> HttpResponse:
    """Returns the options with which the browser asks for a passkey. The challenge in the options
    is bound to the answer in the form."""
    delivery = find_delivery(request.user, pk)
    if not may_answer(request.user, delivery.team_id):
        raise PermissionDenied(NotAllowed.__doc__)
    form = AnswerForm(request.POST, delivery=delivery)
    if not form.is_valid():
        return JsonResponse({"error": "This answer cannot be signed."}, status=409)

    def options(party: RelyingParty, random: bytes) -> dict[str, Any]:
        challenge = challenge_of(_statement(delivery, form, random))
        return request_options(party, challenge, of=request.user, must_verify=True)

    return offer(request, Purpose.ANSWER, options, of=request.user)


def signature_in(request: PersonRequest, delivery: Delivery, form: AnswerForm) -> Signature | None:
    """Checks the signature of a valid form, and uses up the form's challenge. Returns None if the
    delivery has an answer already. Raises PasskeyRefused and TooManyRequests."""
    if hasattr(delivery, "response"):
        return None
    signed: list[tuple[bytes, Statement]] = []

    def challenge_from(random: bytes) -> bytes:
        signed.append((random, _statement(delivery, form, random)))
        return challenge_of(signed[0][1])

    proof = proved(
        request, Purpose.ANSWER, of=request.user, must_verify=True, challenge_from=challenge_from
    )
    (random, statement), response = signed[0], proof.credential.response
    return Signature(
        passkey=proof.passkey.pk,
        random=random,
        statement=statement,
        credential_id=proof.credential.raw_id,
        public_key=as_der(proof.passkey),
        authenticator_data=response.authenticator_data,
        client_data_json=response.client_data_json,
        signature=response.signature,
    )


def sign_page(
    request: PersonRequest,
    delivery: Delivery,
    form: AnswerForm,
    problem: PasskeyRefused | TooManyRequests | None = None,
) -> HttpResponse:
    """Shows exactly the answer that will be signed. Keeps the answer as a draft, because the
    passkey may be on another device."""
    edited = form.cleaned_data["edited_json"]
    keep_unsigned(
        delivery,
        request.user,
        feedback=form.cleaned_data["feedback"].strip(),
        edited_json=edited,
        at=database_now(),
    )
    context = {
        "delivery": delivery,
        "problem": _sentence(problem) if problem else "",
        "title": status_words(delivery.type, form.cleaned_data["status"]),
        "own": own_answer(form),
        "edited_json": edited,
        "changes": changes(*sides(Original.of(delivery).json, edited)) if edited else None,
        "unsent": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in {"csrfmiddlewaretoken", "credential"}
        ],
        **passkeys_of(request.user, request),
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
    return render(request, "inbox/delivery/answer/sign.html", context, status=status)


def passkeys_of(user: User, request: HttpRequest) -> dict[str, Any]:
    """Returns whether this person has a passkey, whether passkeys work at this address, and where
    they work. Makes one query."""
    host = request.get_host()
    return {
        "has_passkey": Passkey.objects.of(user).exists(),
        "works_here": relying_party(host) is not None,
        "works_at": where_they_work(host),
    }


def _statement(delivery: Delivery, form: AnswerForm, random: bytes) -> Statement:
    return statement_of(
        delivery,
        status=form.cleaned_data["status"],
        feedback=form.cleaned_data["feedback"].strip(),
        edited_json=form.cleaned_data["edited_json"],
        random=random,
    )


def _sentence(problem: PasskeyRefused | TooManyRequests) -> str:
    if isinstance(problem, TooManyRequests):
        return f"Too many attempts. Try again in {problem.retry_after} s."
    return REFUSALS.get(type(problem), str(problem))
