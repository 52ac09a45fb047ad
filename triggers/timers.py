"""The timer functions: each calls one service, leaves a heartbeat, and lets what it did not foresee be seen.

A timer is not retried; its next tick is the retry.
"""

import functools
from collections.abc import Awaitable, Callable

import azure.functions as func

from services import container
from services.topology import CLEAN_UP, Timer

timers = func.Blueprint()

Handler = Callable[[func.TimerRequest], Awaitable[None]]


def beating(timer: Timer) -> Callable[[Handler], Handler]:
    """Records how each run of `timer` ended. Goes below the trigger decorator."""

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def run(timer_request: func.TimerRequest) -> None:
            services = await container.get()
            started = services.clock()
            try:
                await handler(timer_request)
            except Exception as error:
                await services.heartbeats.record(timer.name, started, error=type(error).__name__)
                raise
            await services.heartbeats.record(timer.name, started)

        return run

    return decorate


@timers.timer_trigger(arg_name="timer_request", schedule=CLEAN_UP.schedule, run_on_startup=False)
@beating(CLEAN_UP)
async def clean_up(timer_request: func.TimerRequest) -> None:
    services = await container.get()
    await services.upkeep.run()
