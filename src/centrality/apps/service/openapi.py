"""Describe the service as an OpenAPI document, and as a page that loads nothing from other servers."""

import json
from html import escape
from typing import Any, TypeAlias

from centrality import __version__
from centrality.apps.service.queue import Limits
from centrality.apps.service.requests import ARROW, JSON

Schema: TypeAlias = dict[str, Any]  # a part of an OpenAPI document: JSON

EXAMPLE = {"rows": [[1.5, 2.0], [0.5, 1.0]], "t": [0, 1], "p_values": True}
SCORES: Schema = {
    "type": "object",
    "description": "One list for each new column, with a value for each row, null where a row has no score: "
    "centrality at the model's own t, centrality_t25 at t = .25; p_value likewise if asked for; "
    "contribution_<column> if an explanation was asked for.",
    "additionalProperties": {"type": "array", "items": {"type": ["number", "null"]}},
    "example": {"centrality_t0": [0.71, 0.34], "centrality_t100": [0.66, 0.12], "p_value_t0": [0.8, 0.2]},
}
DIAL = {"type": "number", "minimum": 0, "maximum": 1}
ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def document(limits: Limits) -> Schema:
    """Return the OpenAPI document of the service."""
    row = {
        "oneOf": [
            {"type": "array", "description": "values in the order of the model's columns"},
            {"type": "object", "description": "values by the columns' names; others are ignored"},
            {"type": "string", "description": "a text, or an image file in base64, for models of those"},
        ]
    }
    rows = {
        "type": "object",
        "required": ["rows"],
        "additionalProperties": False,
        "properties": {
            "rows": {"type": "array", "items": row, "minItems": 1, "maxItems": limits.rows},
            "t": {
                "description": "0 is global, 1 is local; one or several. Default: the model's own.",
                "oneOf": [DIAL, {"type": "array", "items": DIAL, "minItems": 1}],
            },
            "series": {"type": "string", "description": "Of a model of series alone: whose next moments the rows are."},
            "p_values": {"type": "boolean", "default": False, "description": "Needs a model with rows held aside."},
            "severity": {
                "type": "boolean",
                "default": False,
                "description": "One in how many ordinary rows is as odd; needs a model with rows held aside.",
            },
            "explain": {"type": "boolean", "default": False, "description": "What each column adds; for one t."},
        },
        "example": EXAMPLE,
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "centrality",
            "version": __version__,
            "description": "How typical is each row, from global (t = 0) to local (t = 1)?",
        },
        "paths": {
            "/score": {"post": _score(limits)},
            "/model": {"get": _page("Which model is in use: its columns, its own t, what it can do.", JSON)},
            "/metrics": {"get": _page("Counters for Prometheus.", "text/plain")},
            "/health": {"get": _page("The service is up.", JSON, needs_token=False)},
            "/openapi.json": {"get": _page("This description.", JSON, needs_token=False)},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Rows": rows, "Scores": SCORES, "Error": ERROR},
        },
        "security": [{}, {"token": []}],
    }


def _score(limits: Limits) -> Schema:
    def refusal(why: str) -> Schema:
        return {"description": why, "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}}

    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        "summary": "Score rows.",
        "description": "JSON in, JSON out; an Arrow IPC stream in, an Arrow IPC stream of the new columns out. "
        "The header Centrality-Model names the version of the model that was used.",
        "parameters": [
            {"name": "t", "in": "query", "description": "for example 0,0.5,1", "schema": {"type": "string"}},
            {"name": "p_values", "in": "query", "schema": {"type": "boolean"}},
            {"name": "severity", "in": "query", "schema": {"type": "boolean"}},
            {"name": "explain", "in": "query", "schema": {"type": "boolean"}},
        ],
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": {"$ref": "#/components/schemas/Rows"}}, ARROW: binary},
        },
        "responses": {
            "200": {
                "description": "the scores",
                "content": {JSON: {"schema": {"$ref": "#/components/schemas/Scores"}}, ARROW: binary},
            },
            "401": refusal("no token, or another one"),
            "403": refusal("without a token: a Host that is not this machine"),
            "408": refusal("the body came too slowly"),
            "413": refusal(f"more than {limits.body_bytes:,} bytes, or {limits.decoded_bytes:,} decoded"),
            "415": refusal("neither JSON nor Arrow, or packed (Content-Encoding)"),
            "422": refusal(f"rows that cannot be scored, or more than {limits.rows:,}"),
            "500": refusal("a bug of the service, which its log tells of"),
            "503": refusal(f"busy, or longer than {limits.seconds:g} s; try again"),
        },
    }


def _page(summary: str, content_type: str, *, needs_token: bool = True) -> Schema:
    responses = {"200": {"description": "ok", "content": {content_type: {}}}}
    operation: Schema = {"summary": summary, "responses": responses}
    return operation if needs_token else operation | {"security": [{}]}


def page(limits: Limits) -> str:
    """Return the document as an HTML page."""
    parts = []
    for path, methods in document(limits)["paths"].items():
        for method, operation in methods.items():
            parts.append(f"<h2><b>{method.upper()}</b> {escape(path)}</h2><p>{escape(operation['summary'])}")
            parts.append(f" {escape(operation['description'])}</p>" if "description" in operation else "</p>")
            if "requestBody" in operation:
                parts.append(f"<p>A request:</p><pre>{escape(json.dumps(EXAMPLE, indent=1))}</pre>")
                parts.append(f"<p>{escape(SCORES['description'])}</p>")
                rows = (
                    f"<tr><td>{status}</td><td>{escape(response['description'])}</td></tr>"
                    for status, response in operation["responses"].items()
                )
                parts.append(f"<table>{''.join(rows)}</table>")
        parts.append("\n")
    return PAGE.format(version=__version__, operations="".join(parts).rstrip(), curl=escape(CURL))


CURL = """curl http://localhost:8000/score -H 'Content-Type: application/json' -d '{"rows": [[1.5, 2.0]], "t": 0.5}'"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>centrality {version}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
h2 {{ font-size: 1.1rem; margin-top: 2rem }} h2 b {{ color: #06c; font-weight: 600 }}
pre {{ background: #f4f4f4; padding: .7rem; overflow-x: auto }} td {{ padding: .1rem 1rem .1rem 0 }}
</style></head><body>
<h1>centrality</h1>
<p>How typical is each row, from global (t = 0) to local (t = 1)? For machines: <a href="openapi.json">openapi.json</a>,
version {version}.</p>
<pre>{curl}</pre>
{operations}
</body></html>
"""
