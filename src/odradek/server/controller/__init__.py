"""The parts of a controller, put together."""
