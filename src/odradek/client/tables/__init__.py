"""Tables of facts."""
