"""Consumers as members of groups: assignors, the two protocols of membership, commits, and what drives them."""
