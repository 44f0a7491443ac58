"""The provider of HTTP requests: one tool, `net.http`, whose connections go to checked addresses only.

    from bobcat.providers import http

    tools = http(headers={"https://api.example.com": {"authorization": "Bearer ..."}})

A request is parsed by the facet `url`, as rules are; its name is resolved once, every address is checked, and the
connection goes to one of those. Needs `pip install 'bobcat[http]'`.
"""
