"""The run loop: a state machine without I/O (`machine`), and the asyncio driver of its commands (`driver`)."""
