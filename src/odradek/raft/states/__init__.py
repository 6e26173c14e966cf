"""The states of a replica of the quorum, and every legal transition between them."""
