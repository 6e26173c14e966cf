"""Tables of settings that several packages read."""
