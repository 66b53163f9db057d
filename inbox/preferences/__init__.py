"""Shows and changes how the pages and the digest work for a person."""
