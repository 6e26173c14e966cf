"""Groups of the consumer protocol (KIP-848): members, target assignments, reconciliation and migration."""
