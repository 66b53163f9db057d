from django.apps import AppConfig


class RelayConfig(AppConfig):
    name = "relay"
    verbose_name = "A2A relay"
