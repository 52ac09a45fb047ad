"""One function of each kind that the local host runs. What they did is written to the file that RECORD names."""

import asyncio
import json
import logging
import os
import time
from typing import List

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


def record(**what):
    with open(os.environ["RECORD"], "a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


@app.route(route="v1/ping", methods=["GET"])
async def ping(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("pong")


@app.route(route="v1/locked", methods=["GET", "POST"], auth_level=func.AuthLevel.FUNCTION)
def locked(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(f"{req.url} {req.headers.get('host')} {len(req.get_body())}")


@app.route(route="v1/masters", methods=["GET"], auth_level=func.AuthLevel.ADMIN)
def masters(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("never")


@app.route(route="v1/echo/{id}/{*rest}")
def echo(req: func.HttpRequest, context: func.Context) -> func.HttpResponse:
    logging.info("echoing")
    shown = {
        "method": req.method,
        "url": req.url,
        "headers": dict(req.headers),
        "params": dict(req.params),
        "route_params": dict(req.route_params),
        "body": req.get_body().decode(),
        "function": context.function_name,
        "invocation": context.invocation_id,
        "parent": context.trace_context.trace_parent,
    }
    response = func.HttpResponse(json.dumps(shown), mimetype="application/json", status_code=201)
    response.headers["X-Frame-Options"] = "DENY"
    return response


@app.route(route="v1/wrong/{how}", methods=["GET"])
async def wrong(req: func.HttpRequest) -> func.HttpResponse:
    match req.route_params["how"]:
        case "none":
            return None
        case "raise":
            raise ValueError("as asked")
        case "exit":
            raise SystemExit(3)
        case "hang":
            await asyncio.sleep(30)
        case "name":
            return func.HttpResponse("x", headers={"x y": "z"})
        case "cookie":
            return func.HttpResponse("x", headers={"Set-Cookie": "a=b"})
        case "status":
            return func.HttpResponse("x", status_code="what")
        case "words":
            raise ValueError("half a pair: \ud800")
    return func.HttpResponse("fine")


@app.route(route="v1/words", methods=["GET"])
async def words(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(req.params.get("say", "plain words"))


@app.route(route="v1/sleep", methods=["POST"])
async def sleep(req: func.HttpRequest) -> func.HttpResponse:
    await asyncio.sleep(float(req.get_body()))
    return func.HttpResponse("slept")


@app.route(route="v1/block", methods=["POST"])
def block(req: func.HttpRequest) -> func.HttpResponse:
    time.sleep(float(req.get_body()))
    return func.HttpResponse("blocked")


@app.route(route="v1/send", methods=["POST"])
@app.queue_output(arg_name="many", queue_name="work", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="one", queue_name="%OTHER_QUEUE%", connection="AzureWebJobsStorage")
async def send(
    req: func.HttpRequest, many: func.Out[List[str]], one: func.Out[str]
) -> func.HttpResponse:
    asked = req.get_json()
    if "many" in asked:
        many.set(asked["many"])
    if "one" in asked:
        one.set(asked["one"])
    if asked.get("fail"):
        raise RuntimeError("after setting outputs")
    return func.HttpResponse(status_code=202)


@app.queue_trigger(arg_name="msg", queue_name="work", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="done", queue_name="done", connection="AzureWebJobsStorage")
async def work(msg: func.QueueMessage, done: func.Out[str]) -> None:
    text = msg.get_body().decode()
    record(queue="work", text=text, id=msg.id, count=msg.dequeue_count, visible=msg.time_next_visible.isoformat())
    done.set(f"done {text}")
    if text.startswith("fail") or (text.startswith("once") and msg.dequeue_count == 1):
        raise RuntimeError(f"will not do {text}")
    if text.startswith("surrogate") and msg.dequeue_count == 1:
        done.set("\ud800")
    if text.startswith("slow"):
        await asyncio.sleep(0.3)
    if text.startswith("stuck"):
        await asyncio.sleep(60)


@app.queue_trigger(arg_name="text", queue_name="%OTHER_QUEUE%", connection="AzureWebJobsStorage")
def other(text: str) -> None:
    record(queue="other", text=text)


@app.timer_trigger(arg_name="timer", schedule="0 0 0 1 1 *", run_on_startup=True)
@app.queue_output(arg_name="many", queue_name="work", connection="AzureWebJobsStorage")
async def yearly(timer: func.TimerRequest, many: func.Out[List[str]]) -> None:
    record(timer="yearly", past_due=timer.past_due, status=timer.schedule_status)
    if os.environ.get("YEARLY_SENDS"):
        many.set(os.environ["YEARLY_SENDS"].split(","))
    if os.environ.get("YEARLY_FAILS"):
        raise RuntimeError("as asked")


@app.timer_trigger(arg_name="timer", schedule="%TICK%")
async def tick(timer: func.TimerRequest) -> None:
    record(timer="tick", past_due=timer.past_due, at=time.time())
    await asyncio.sleep(float(os.environ.get("TICK_TAKES", "0")))
