"""Signs people in with accounts at an OpenID Connect provider, and connects each account to a
person."""
