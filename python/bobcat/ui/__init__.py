"""`bobcat ui`: the runs and approvals of a store in a browser, rendered by a server on this machine.

`access` knows tokens, sessions and forms, `guarding` checks every request, the `*_pages` read the store and make HTML,
`app` routes, `serve` runs it. Without permission to answer, nothing here writes to the store.
"""
