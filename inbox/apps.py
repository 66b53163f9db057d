from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from inbox.search import fts5


class InboxConfig(AppConfig):
    name = "inbox"

    def ready(self) -> None:
        # Models can be imported only now.
        import_module("inbox.receivers")
        values, page = map(
            import_module, ("wake.answering.shown_values", "inbox.rendering.details")
        )
        values.register(page.shows_all_text)
        menu, settings = map(import_module, ("inbox.people.settings.menu", "pages.settings"))
        settings.register(*menu.ENTRIES)
        viewer, mentions = map(
            import_module, ("accounts.access.viewer", "inbox.delivery.discussion.mentions")
        )
        viewer.register_count("mention_count", mentions.with_mention_count)
        post_migrate.connect(fts5.create_index, sender=self)
