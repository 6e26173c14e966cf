"""The simulated world: scheduler, network and disk, with their faults."""
