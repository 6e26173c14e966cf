"""Records on their way to one partition. Pure.

A batch is open while records are appended, closed when it is first drained, and done when it was acknowledged or given
up; who waits for its records is told then.
"""


class ProducerBatch:
    is_done: bool
