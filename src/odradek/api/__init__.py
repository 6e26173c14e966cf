"""The requests that a node serves: one file per API key, and a generated index of them."""
