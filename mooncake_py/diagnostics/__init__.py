"""Where a gradient goes wrong: debug mode, reports, a look inside. A plain gradient needs none of it."""
