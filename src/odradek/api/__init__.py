"""What a node answers: one file per API key, and one list that registers them all."""
