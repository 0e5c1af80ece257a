"""What Schemathesis holds a server to, beside its own checks.

Its own check of valid requests knows statuses alone. A document says more: a request that fits the schemas may be
refused for what is stored, or for a rule between its inputs, and then the problem's `code` says so. It is never refused
as `invalid-input`, which is for requests that do not fit.
"""

import re

import schemathesis

# What JSON Schema cannot say of a number, or of an input that is any JSON: its digits, and what a table can hold.
UNSAID = ("a number with", "more than 38 digits", "without empty names", "levels", "bytes")


def code_of(response):
    try:
        return response.json().get("code", "")
    except (ValueError, AttributeError):
        return ""


def fits(case):
    """Whether the headers fit their patterns, which Schemathesis does not look at, and a version is given once.

    `If-Match` or an input has it. A schema can ask for one of two inputs, not for an input or a header.
    """
    parameters = case.operation.schema.raw_schema["components"]["parameters"].values()
    sent = {name.lower(): value for name, value in (case.headers or {}).items()}
    for parameter in parameters:
        pattern, value = parameter["schema"].get("pattern"), sent.get(parameter["name"].lower())
        if parameter["in"] == "header" and pattern and value is not None and not re.search(pattern, value):
            return False
    takes_tag = any(parameter.name == "If-Match" for parameter in case.operation.headers)
    inputs = {**(case.body if isinstance(case.body, dict) else {}), **(case.query or {})}
    given = [name for name in inputs if "version" in name.lower()]
    return not takes_tag or (len(given) == 1) != ("if-match" in sent)


@schemathesis.check
def valid_is_not_invalid(ctx, response, case):
    """A request that fits its schemas is not `invalid-input`."""
    generated = case.meta.generation if case.meta else None
    if generated is None or not generated.mode.is_positive:
        return
    if response.status_code != 400 or code_of(response) != "invalid-input" or not fits(case):
        return
    told = response.json()
    details = [told.get("detail", "")] + [error.get("detail", "") for error in told.get("errors", [])]
    assert any(unsaid in detail for detail in details for unsaid in UNSAID), (
        f"a valid request is invalid input: {told.get('detail')}"
    )


@schemathesis.check
def problems_are_problems(ctx, response, case):
    """A refusal is `application/problem+json`, with a code and the contract's name."""
    if response.status_code < 400:
        return
    kind = (response.headers.get("content-type") or [""])[0]
    assert kind == "application/problem+json", f"a refusal is {kind!r}"
    told = response.json()
    assert told["status"] == response.status_code
    assert told["code"] and told["detail"] and told["type"] and told["title"]


@schemathesis.hook
def filter_case(ctx, case):
    """A header that no document names is nobody's mistake: proxies add such headers."""
    names = [name.lower() for name in case.headers or {}]
    return "x-schemathesis-unknown-property" not in names
