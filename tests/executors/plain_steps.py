"""Steps without any library: what they do, a worker must survive."""

# ruff: noqa: ARG001 - every step takes one argument

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dagrl.step import BuildContext, StepContext


def build(build: BuildContext) -> dict[str, Any]:
    sys.stdout.write(f"building {build.context}\n")
    return {"count": 0, "seed": build.seed, "generator": random.Random(build.seed)}


def count(step: StepContext) -> dict[str, Any]:
    (state,) = step.contexts.values()
    state["count"] += 1
    step.metrics.log(count=state["count"])
    return {"count": state["count"], "own": state["generator"].random(), "global": random.random()}


def draw(step: StepContext) -> dict[str, Any]:
    return {"global": random.random(), "private": step.rng.random(), "seed": step.seed}


def process(step: StepContext) -> dict[str, Any]:
    return {"pid": os.getpid(), "loaded": sorted({"torch", "numpy", "asyncio", "safetensors"} & sys.modules.keys())}


def pass_on(step: StepContext) -> dict[str, Any]:
    return {"inputs": {name: dict(value) for name, value in step.inputs.items()}, "params": dict(step.params)}


def spoil_params(step: StepContext) -> dict[str, Any]:
    params: Any = step.params
    params["list"].append(3)
    return {"list": params["list"]}


def shout(step: StepContext) -> None:
    sys.stdout.write("to stdout\n")
    os.write(2, b"to stderr\n")
    subprocess.run(["echo", "from a child"], check=True)


def fail(step: StepContext) -> None:
    sys.stdout.write("about to fail\n")
    _fail_inside()


def _fail_inside() -> None:
    raise ValueError("no luck\nat all")


def leave(step: StepContext) -> None:
    sys.exit(3)


def interrupt(step: StepContext) -> None:
    raise KeyboardInterrupt


def exit_at_once(step: StepContext) -> None:
    os._exit(3)


def crash(step: StepContext) -> None:
    signal.raise_signal(signal.SIGSEGV)


def be_killed(step: StepContext) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hang(step: StepContext) -> None:
    while True:
        time.sleep(0.01)


def hang_in_c(step: StepContext) -> None:
    re.match("(a+)+$", "a" * 64 + "b")  # no other thread gets a turn for years


def heed(step: StepContext) -> None:
    Path(str(step.params["flag"])).touch()
    while True:
        time.sleep(0.005)
        step.check_cancelled()


def spawn(step: StepContext) -> dict[str, Any]:
    return {"child": subprocess.Popen(["sleep", "600"]).pid}


def return_object(step: StepContext) -> dict[str, Any]:
    return {"rows": [{"what": object()}]}


def return_list(step: StepContext) -> Any:
    return [1, 2]


def log_text(step: StepContext) -> None:
    loss: Any = "high"
    step.metrics.log(loss=loss)


def wander(step: StepContext) -> None:
    os.chdir("/")


def where(step: StepContext) -> dict[str, Any]:
    return {"directory": str(Path.cwd())}


def build_nothing(build: BuildContext) -> None:
    return None


def build_socket(build: BuildContext) -> dict[str, Any]:
    return {"parts": [1, sys.stdout]}


class Policy:
    """Weights of a job that knows no torch."""

    def __init__(self) -> None:
        self.values = [0.0, 0.0]

    def state_dict(self) -> dict[str, Any]:
        return {"values": list(self.values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.values = list(state["values"])


def build_policy(build: BuildContext) -> dict[str, Any]:
    return {"policy": Policy()}


def improve(step: StepContext) -> None:
    (state,) = step.contexts.values()
    state["policy"].values[0] += 1.5


def look(step: StepContext) -> dict[str, Any]:
    (state,) = step.contexts.values()
    return {"values": state["policy"].values, "version": step.version}
