"""The client's side of the protocol: channels to nodes, and what is built on them."""
