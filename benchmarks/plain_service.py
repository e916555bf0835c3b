"""The service one would write in ten minutes, for comparison: one request, one forward pass.

python -m benchmarks.plain_service MODEL PORT
"""

import json
import sys

import numpy as np
import uvicorn

from centrality import load


def fastapi(model):
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Asked(BaseModel):
        rows: list[list[float]]
        t: float

    app = FastAPI()

    @app.post("/score")
    async def score(asked: Asked):
        return {"centrality": model.centrality(np.array(asked.rows), asked.t).tolist()}

    return app


def asgi(model):
    async def app(scope, receive, send):
        message = await receive()
        if scope["type"] == "lifespan":
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = message["body"]
        while message["more_body"]:
            message = await receive()
            body += message["body"]
        asked = json.loads(body)
        scores = model.centrality(np.array(asked["rows"]), asked["t"])
        answer = json.dumps({"centrality": scores.tolist()}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


if __name__ == "__main__":
    uvicorn.run(
        {"fastapi": fastapi, "asgi": asgi}[sys.argv[1]](load(sys.argv[2])),
        port=int(sys.argv[3]),
        log_level="warning",
        access_log=False,
        ws="none",
        proxy_headers=False,
    )
