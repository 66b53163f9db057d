"""Routes the requests of the company's directory. scim2_server routes what follows `v2`."""

from django.urls import path

from accounts.scim import views

urlpatterns = [
    path("scim/v2", views.scim, {"path": "/"}, name="scim"),
    path("scim/v2/<path:path>", views.scim, name="scim-resource"),
]
