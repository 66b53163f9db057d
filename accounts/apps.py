from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People, agents and keys"

    def ready(self) -> None:
        import_module("accounts.people.receivers")
        signals = import_module("django.contrib.auth.signals")
        sessions = import_module("accounts.sign_in.browsers.sessions")
        signals.user_logged_in.connect(
            sessions.begin, dispatch_uid="accounts.sign_in.browsers.sessions.begin"
        )
        page = import_module("pages.page")
        owed_factor = import_module("accounts.sign_in.two_step.owed_factor")
        page.register_check(owed_factor.ask_to_set_up)
        menu, settings = map(import_module, ("accounts.people.menu", "pages.settings"))
        settings.register(*menu.ENTRIES)
        sentences, words = map(
            import_module, ("accounts.audit.sentences", "accounts.audit.account_sentences")
        )
        sentences.register(words.EVENTS)
        sweeps, moves = map(import_module, ("database.sweeps", "accounts.models.moves"))
        sweeps.register(moves.without_closed_teams)
        append_only = import_module("accounts.audit.append_only")
        post_migrate.connect(
            append_only.guard_after_migrate,
            sender=self,
            dispatch_uid="accounts.audit.append_only.guard_after_migrate",
        )
