"""The parts of a broker, put together."""
