from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class WakeConfig(AppConfig):
    name = "wake"
    verbose_name = "Deliveries and answers"

    def ready(self) -> None:
        for module in ("wake.server.checks", "wake.jobs"):
            import_module(module)
        if settings.WAKE_METRICS:
            instruments, serving = map(
                import_module, ("wake.server.metrics.instruments", "wake.server.metrics.serving")
            )
            instruments.measure()
            serving.serve_in_workers()
        import_module("wake.server.telemetry.start").start()
        # Models can be imported only now.
        kinds, answers = map(import_module, ("wake.callbacks.kinds", "wake.callbacks.answers"))
        kinds.register(answers.KIND)
        removal, former_people = map(
            import_module, ("accounts.people.data.removal", "wake.former_people")
        )
        removal.register_names(former_people.names_of)
        notes, own_notes = map(
            import_module, ("wake.management.moving.notes", "wake.management.moving.own_notes")
        )
        notes.register(own_notes.NOTES)
        log_receipts, logged_receipts = map(
            import_module, ("accounts.log.receipts", "wake.proof.logged_receipts")
        )
        log_receipts.register(logged_receipts.RECEIPTS)
        page, pictures, errors = map(
            import_module,
            ("pages.page", "wake.blobs.pictures", "wake.server.http.error_handlers"),
        )
        page.register_error_page(pictures.TooManyPictures, errors.server_error)
