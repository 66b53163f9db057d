"""Signs people in and out. Counts attempts by address, and records the attempts in the audit
without the typed text."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from accounts.audit import Actor, person, record
from accounts.limits.throttles import TooManyRequests, client_address
from accounts.models import Passkey, User
from accounts.sign_in.browsers import known_browsers, sessions, signals
from accounts.sign_in.forms import CodeForm, SignInForm
from accounts.sign_in.limits import count_sign_in, may_record_failure
from accounts.sign_in.oidc import provider
from accounts.sign_in.two_step import pending_second_factor, second_factor
from database.clock import database_now
from pages.page import form_page, too_many
from pages.redirects import SeeOther, see_path


class SignInView(LoginView):
    template_name = "accounts/sign_in/sign_in.html"
    form_class = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context |= {"provider": provider.configured(), "passwords": settings.WAKE_PASSWORDS}
        return super().get_context_data(**context)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.WAKE_PASSWORDS:
            return passwords_are_off(request)
        try:
            count_sign_in(request, request.POST.get("username", ""))
        except TooManyRequests as error:
            context = self.get_context_data(form=SignInForm(request), wait=error.retry_after)
            return too_many(self.render_to_response(context), error.retry_after)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user, to = form.get_user(), self.get_success_url()
        if second_factor.is_on(user):
            pending_second_factor.begin(self.request.session, user, to=to, at=database_now())
            return SeeOther("sign-in-code")
        return sign_in(self.request, user, to=to, methods=[sessions.PWD])

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
    """Asks people with two-step sign-in for the code. Passkeys are checked elsewhere
    (accounts/sign_in/passkeys/sign_in_views.py)."""
    now = database_now()
    user = pending_second_factor.person_of(request.session, at=now)
    if user is None:
        return SeeOther("login")
    has_app = second_factor.has_app(user)
    form = CodeForm(request.POST if request.method == "POST" else None, has_app=has_app)
    if not form.is_valid():
        return _ask_for_code(request, user, form)
    by = person(user, client_address(request))
    try:
        if not has_app:
            count_sign_in(request, user.email)
        is_right = second_factor.check(user, form.typed, by=by, at=now)
    except (TooManyRequests, second_factor.TriesSpent) as error:
        minutes = -(-error.retry_after // 60)
        return too_many(_ask_for_code(request, user, form, minutes=minutes), error.retry_after)
    if not is_right:
        form.refuse()
        return _ask_for_code(request, user, form)
    if form.is_recovery_code:
        messages.success(request, _codes_left(second_factor.recovery_codes_left(user)))
    return finish_sign_in(request, user, method=sessions.OTP)


class SignOut(LogoutView):
    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if isinstance(request.user, User):
            actor = person(request.user, client_address(request))
            record("person.signed_out", by=actor, of=request.user, team=None)
            signals.browser_signed_out.send(
                sender=User,
                user=request.user,
                session=request.session,
                by=actor,
                at=database_now(),
            )
        response = super().post(request, *args, **kwargs)
        # The browser stores drafts (static/js/draft.js), and the next person may use the same
        # browser.
        response["Clear-Site-Data"] = '"storage"'
        return response


def finish_sign_in(request: HttpRequest, user: User, *, method: str) -> HttpResponse:
    """Signs the person in after the second step, in which they used `method`."""
    to, how = pending_second_factor.finish(request.session)
    first = sessions.FED if how else sessions.PWD
    return sign_in(request, user, to=to, methods=[first, method], how=how)


def sign_in(
    request: HttpRequest,
    user: User,
    *,
    to: str,
    methods: Iterable[str],
    how: sessions.ByProvider | None = None,
    time_zone: str = "",
) -> HttpResponse:
    """Signs the person in with a new session key, and remembers their browser.
    The form's field `time_zone` is empty without JavaScript. `methods` are the ones that the person
    used (accounts/sign_in/browsers/sessions.py). `how` is None without a provider."""
    login(request, user)
    sessions.add_methods(request.session, methods)
    address, now = client_address(request), database_now()
    if how is None:
        record("person.signed_in", by=person(user, address), of=user, team=None)
    else:
        sessions.provider_signed_in(request.session, how, at=now)
        name = settings.WAKE_OIDC_NAME
        record("person.signed_in", by=person(user, address), of=user, team=None, provider=name)
    zone = time_zone or request.POST.get("time_zone", "")
    signals.signed_in.send(sender=User, request=request, user=user, time_zone=zone, at=now)
    response = see_path(to)
    known_browsers.remember(request, response, user.email)
    return response


def passwords_are_off(request: HttpRequest) -> HttpResponse:
    """Answers 403 to a form or a link about passwords while WAKE_PASSWORDS is 0."""
    context = {"provider": provider.configured()}
    status = HTTPStatus.FORBIDDEN
    return render(request, "accounts/sign_in/oidc/passwords_off.html", context, status=status)


def _codes_left(count: int) -> str:
    if not count:
        return "You used your last recovery code. Create new ones under Settings, Security."
    return f"You used a recovery code. {count} {'is' if count == 1 else 'are'} left."


def _ask_for_code(request: HttpRequest, user: User, form: CodeForm, **context: Any) -> HttpResponse:
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    context = {
        **{"form": form, "has_app": form.has_app},
        **{"has_passkeys": Passkey.objects.of(user).exists()},
        **context,
    }
    return render(request, "accounts/sign_in/sign_in_code.html", context, status=status)


def _user_or_unknown(email: str) -> User:
    """Returns the user of the address. For an unknown address, returns a user without a name, so
    that the audit does not store the address: people sometimes type their password there."""
    try:
        return User.objects.get_by_natural_key(email)
    except User.DoesNotExist:
        return User(pk=0)
