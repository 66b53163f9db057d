"""Receives people and groups from the company's directory (SCIM 2.0, RFC 7643 and RFC 7644)."""
