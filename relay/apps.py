from importlib import import_module

from django.apps import AppConfig


class RelayConfig(AppConfig):
    name = "relay"
    verbose_name = "A2A relay"

    def ready(self) -> None:
        # Models can be imported only now.
        for module in ("relay.receivers", "relay.jobs"):
            import_module(module)
        kinds, pushes = map(import_module, ("wake.callbacks.kinds", "relay.tasks.pushes"))
        kinds.register(pushes.KIND)
        sentences, words = map(
            import_module, ("accounts.audit.sentences", "relay.pages.audit_sentences")
        )
        sentences.register(words.EVENTS)
        figures, queues = map(
            import_module, ("wake.server.metrics.figures", "wake.server.metrics.queues")
        )
        presence, models = map(import_module, ("relay.runs.presence", "relay.models"))
        figures.register(
            figures.Figure(
                "wake_connectors",
                "Connectors that are online.",
                lambda at: {(): presence.count_all_online(at)},
            )
        )
        queues.register("pushes", queues.by("push_due_at", models.Event.objects.with_due_pushes))
        notes, moving = map(
            import_module, ("wake.management.moving.notes", "relay.management.moving")
        )
        notes.register(moving.NOTES)
