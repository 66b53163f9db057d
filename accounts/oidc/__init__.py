"""Signs people in with an account at an OpenID Connect provider, and connects it to a person."""
