"""One module per codec, imported when the first batch of its kind is met.

Each has `compress(data, level) -> bytes` and `decompress(data, limit_bytes) -> bytes`. What they share is in `bounded`.
"""
