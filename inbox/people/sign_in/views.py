"""Signs people in and out; counts tries by address and audits them without what was typed."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.encoding import iri_to_uri
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.audit import Actor, person, record
from accounts.models import User
from accounts.sign_in import known_browsers, pending_second_factor, second_factor
from accounts.throttles import TooMany, client_address, count_sign_in, may_record_failure
from database.clock import database_now
from inbox.pages.page import SeeOther, form_page, too_many
from inbox.people.settings.profile import adopt_time_zone
from inbox.people.sign_in.forms import CodeForm, SignInForm


class SignIn(LoginView):
    template_name = "inbox/people/sign_in.html"
    form_class = SignInForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            count_sign_in(request, request.POST.get("username", ""))
        except TooMany as error:
            context = self.get_context_data(form=SignInForm(request), wait=error.retry_after)
            return too_many(self.render_to_response(context), error.retry_after)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user, to = form.get_user(), self.get_success_url()
        if second_factor.is_on(user):
            pending_second_factor.begin(self.request.session, user, to=to, at=database_now())
            return SeeOther("sign-in-code")
        return sign_in(self.request, user, to=to)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        is_wrong = form.has_error("__all__", "invalid_login")
        if is_wrong and may_record_failure(self.request):
            record(
                "person.sign_in_failed",
                by=Actor("nobody", address=client_address(self.request)),
                of=_user_or_unknown(form.cleaned_data["username"]),
                team=None,
            )
        response = super().form_invalid(form)
        response.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
        return response


@sensitive_post_parameters()
@never_cache
@form_page
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Asks for the code of people with two-step sign-in."""
    now = database_now()
    user = pending_second_factor.person_of(request.session, at=now)
    if user is None:
        return SeeOther("login")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _ask_for_code(request, form)
    by = person(user, client_address(request))
    try:
        is_right = second_factor.check(user, form.typed, by=by, at=now)
    except second_factor.TriesSpent as error:
        minutes = -(-error.retry_after // 60)
        return too_many(_ask_for_code(request, form, minutes=minutes), error.retry_after)
    if not is_right:
        form.refuse()
        return _ask_for_code(request, form)
    if form.is_recovery_code:
        messages.success(request, _codes_left(second_factor.recovery_codes_left(user)))
    return sign_in(request, user, to=pending_second_factor.finish(request.session))


class SignOut(LogoutView):
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if isinstance(request.user, User):
            actor = person(request.user, client_address(request))
            record("person.signed_out", by=actor, of=request.user, team=None)
        response = super().post(request, *args, **kwargs)
        # Drafts are kept by the browser (static/js/draft.js), which the next person may use, too.
        response["Clear-Site-Data"] = '"storage"'
        return response


def sign_in(request: HttpRequest, user: User, *, to: str) -> HttpResponse:
    """Signs the person in with a new session key, and remembers their browser and its time zone.
    The form's field `time_zone` is empty without JavaScript."""
    login(request, user)
    address, zone = client_address(request), request.POST.get("time_zone", "")
    record("person.signed_in", by=person(user, address), of=user, team=None)
    if adopt_time_zone(user, zone, at=database_now(), address=address):
        messages.success(request, f"Times are in {zone}, as in your browser.")
    response = HttpResponse(status=HTTPStatus.SEE_OTHER, headers={"Location": iri_to_uri(to)})
    known_browsers.remember(request, response, user.email)
    return response


def _codes_left(count: int) -> str:
    if not count:
        return "You used your last recovery code. Create new ones under Settings, Security."
    return f"You used a recovery code. {count} {'is' if count == 1 else 'are'} left."


def _ask_for_code(request: HttpRequest, form: CodeForm, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return render(
        request, "inbox/people/sign_in_code.html", {"form": form, **context}, status=status
    )


def _user_or_unknown(email: str) -> User:
    """Returns the user of the address; a nameless row for an unknown address, because people also
    type their password there."""
    try:
        return User.objects.get_by_natural_key(email)
    except User.DoesNotExist:
        return User(pk=0)
