"""Contains the parts that all pages share and no feature knows: forms, redirects, times, names and
layouts."""
