#!/usr/bin/python3
"""Checks with the jsonschema library that Protocol/openrpc.json describes what is sent.

It validates the examples of each method, and every response, error and notification of the
transcripts.
It prints each message that does not fit, and the number of messages that do.
"""

import json
import pathlib
import re
import sys

import jsonschema

PROTOCOL = pathlib.Path(__file__).resolve().parent.parent / "Protocol"
DOCUMENT = json.loads((PROTOCOL / "openrpc.json").read_text(encoding="utf-8"))
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}
# A, the kind of message, and the message.
LINE = re.compile(r"([A-Za-z]*)(-[-?+]>|<--) (.*)")


def validator(schema):
    schema = {**schema, "components": DOCUMENT["components"]}
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def params(method):
    return validator({
        "type": "object",
        "properties": {param["name"]: param["schema"] for param in method["params"]},
        "required": [param["name"] for param in method["params"] if param["required"]],
        "additionalProperties": False,
    })


PARAMS = {name: params(method) for name, method in METHODS.items()}
ERRORS = {
    error["code"]: validator(error["x-data"])
    for error in DOCUMENT["components"]["errors"].values()
}
RESULTS = {
    name: validator(method["result"]["schema"])
    for name, method in METHODS.items()
    if "result" in method
}


def received(path):
    """Yields the validator and the content of each message of a transcript that has a schema."""
    methods = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = LINE.fullmatch(line)
        try:
            # Sizes are no part of a transcript.
            content = json.loads(match[3].replace('"SIZE"', "0")) if match else []
        except json.JSONDecodeError:
            continue
        for message in content if isinstance(content, list) else [content]:
            if not isinstance(message, dict):
                continue
            request = (match[1], json.dumps(message.get("id")))
            if match[2] != "<--":
                if "id" in message:
                    methods[request] = message.get("method")
            elif message.get("method") in PARAMS:
                yield PARAMS[message["method"]], message["params"]
            elif "result" in message and methods.get(request) in RESULTS:
                yield RESULTS[methods[request]], message["result"]
            elif message.get("error", {}).get("code") in ERRORS:
                yield ERRORS[message["error"]["code"]], message["error"].get("data", {})


def examples():
    """Yields the validator and the content of the params and the result of each example."""
    for name, method in METHODS.items():
        for example in method.get("examples", []):
            yield name, PARAMS[name], {param["name"]: param["value"] for param in example["params"]}
            if "result" in example:
                yield name, RESULTS[name], example["result"]["value"]


def main():
    checks = list(examples())
    assert len(checks) > 60, "The document has too few examples"
    for path in sorted((PROTOCOL / "transcripts").rglob("*.txt")):
        checks += [(path.name, schema, content) for schema, content in received(path)]
    errors = [
        f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for name, schema, content in checks
        for error in schema.iter_errors(content)
    ]
    print("\n".join(errors + [f"{len(checks)} messages, {len(errors)} errors"]))
    # A document or transcripts that cannot be read would check nothing.
    return 1 if errors or len(checks) < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
