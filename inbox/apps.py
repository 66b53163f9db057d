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
        menu, settings = map(import_module, ("inbox.pages.menu", "pages.settings"))
        settings.register(*menu.ENTRIES)
        export, data = map(
            import_module, ("accounts.people.data.export", "inbox.pages.personal_data")
        )
        export.register(*data.SECTIONS)
        removal, former_people = map(
            import_module,
            ("accounts.people.data.removal", "inbox.delivery.discussion.former_people"),
        )
        removal.register_names(former_people.names_of)
        sentences, words = map(import_module, ("accounts.audit.sentences", "inbox.audit.sentences"))
        sentences.register(words.EVENTS)
        backend = import_module("accounts.sign_in.backend")
        backend.load_with_person("preferences")
        viewer, mentions = map(
            import_module, ("accounts.access.viewer", "inbox.delivery.discussion.mentions")
        )
        viewer.register_count("mention_count", mentions.with_mention_count)
        queues, models = map(import_module, ("wake.server.metrics.queues", "inbox.models"))
        queues.register("notifications", queues.by("due_at", models.Notification.objects.due))
        queues.register("slack_replies", queues.by("due_at", models.SlackReply.objects.due))
        post_migrate.connect(fts5.create_index, sender=self)
        notes, moving = map(
            import_module, ("wake.management.moving.notes", "inbox.management.moving")
        )
        notes.register(moving.NOTES)
