"""A small job on torch that uses all that a context may hold: module with buffers, optimizer, schedule, generators."""

# ruff: noqa: ARG001, NPY002 - every step takes one argument; global generators are what is tested

from __future__ import annotations

import random
from typing import Any

from dagrl.step import BuildContext, StepContext


def _model() -> Any:
    from torch import nn

    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 8)
    )
    model[3].weight = model[4].weight
    return model


def build_actor(build: BuildContext) -> dict[str, Any]:
    import numpy as np
    import torch

    model = _model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    return {
        "model": model,
        "optimizer": optimizer,
        "schedule": torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
        "noise": np.random.default_rng(build.seed),
        "cursor": 0,
    }


def build_sampler(build: BuildContext) -> dict[str, Any]:
    return {"model": _model().eval(), "history": []}


def train(step: StepContext) -> None:
    import numpy as np
    import torch

    (actor,) = step.contexts.values()
    before = [(id(each), each.shape) for each in actor["model"].parameters()]
    batch = torch.randn(4, 8) + float(np.random.rand()) + random.random() + float(actor["noise"].normal())
    loss = (actor["model"](batch) ** 2).mean()
    loss.backward()
    actor["optimizer"].step()
    actor["optimizer"].zero_grad(set_to_none=True)
    actor["schedule"].step()
    actor["cursor"] += 1
    step.metrics.log(loss=loss.item(), identity=hash(tuple(before)) % 2**32, threads=torch.get_num_threads())


def sample(step: StepContext) -> dict[str, Any]:
    import torch

    (sampler,) = step.contexts.values()
    with torch.no_grad():
        out = sampler["model"](torch.randn(2, 8))
    sampler["history"].append(step.version)
    return {"out": out, "version": step.version, "mean": out.mean().item()}


def set_modes(step: StepContext) -> None:
    import torch

    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(mode=True)


def see_modes(step: StepContext) -> dict[str, Any]:
    import torch

    return {"dtype": str(torch.get_default_dtype()), "deterministic": torch.are_deterministic_algorithms_enabled()}


def build_wider(build: BuildContext) -> dict[str, Any]:
    from torch import nn

    return {"model": nn.Linear(9, 16)}


def draw(step: StepContext) -> dict[str, Any]:
    import numpy as np
    import torch

    return {"torch": torch.rand(()).item(), "numpy": float(np.random.rand())}
