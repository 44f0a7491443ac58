"""A Flask service that only decides: other programs, in any language, ask it about a call before they make it.

Serve it with `flask --app 16_flask_service run`; run as a script, it talks to itself without a network.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from flask import Flask, request
from flask.typing import ResponseReturnValue

from bobcat import Policy, RequestError, request_from_json

POLICY = """
rules:
  - id: no-secrets
    priority: 5
    match: {tool: http, args.url.url.query_keys.any.lower.in: [token, password]}
    decision: deny
    reason: a secret would leave the house
  - id: own-api
    match:
      tool: http
      args.url.url: {scheme: https, host: api.example.com, port: 443, userinfo.exists: false, query_keys.length: 0}
      args.url.url.path.matches: '^/v1/orders(/[0-9]{1,9})?$'
    decision: allow
"""


def create_app(bundle: Policy) -> Flask:
    """The service around one bundle. A bundle can be asked from any number of threads."""
    app = Flask(__name__)

    @app.post("/decide")
    def decide() -> ResponseReturnValue:
        decision = bundle.evaluate(request_from_json(request.get_data()))
        return {"verdict": decision.verdict, "reason": decision.reason, "rules": decision.matched_rules}

    @app.post("/explain")
    def say_why() -> ResponseReturnValue:
        return bundle.explain(request_from_json(request.get_data())).to_json()

    @app.get("/policy")
    def policy() -> ResponseReturnValue:
        return {"id": bundle.id, "rules": [rule.id for rule in bundle.rules]}

    @app.errorhandler(RequestError)
    def refuse(error: RequestError) -> ResponseReturnValue:
        # An invalid request gets no verdict, which is not a permission.
        return {"error": error.code, "detail": str(error)}, 400

    return app


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:  # a service loads what was compiled and signed off elsewhere
        Policy.compile(POLICY).save(Path(directory) / "policy.bobcat")
        client = create_app(Policy.load(Path(directory) / "policy.bobcat")).test_client()
    calls: list[Any] = [  # Any: the last two are no requests
        {"tool": "http", "args": {"url": "https://api.example.com/v1/orders"}},
        {"tool": "http", "args": {"url": "https://api.example.com/v1/login?password=hunter2"}},
        {"tool": "http", "args": {"url": ["https://api.example.com/"]}},
        {"tool": "http", "args": {"url": "https://evil.example/"}, "declared": {"reversible": True}},
        {"tool": "http", "arguments": {}},
        "let me in",
    ]
    for call in calls:
        response = client.post("/decide", json=call)
        print(response.status_code, response.get_json())
    print(client.get("/policy").get_json()["rules"])
    why = client.post("/explain", json=calls[0]).get_json()
    print([(rule["id"], rule["outcome"]) for rule in why["rules"]])


if __name__ == "__main__":
    main()
