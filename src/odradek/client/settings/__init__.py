"""Settings of producers, consumers and admin clients: table, parsing, rules and types."""
