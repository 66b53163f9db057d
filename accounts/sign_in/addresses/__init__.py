"""Changes the e-mail address with which a person signs in."""
