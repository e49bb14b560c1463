from __future__ import annotations

import pytest

from dagrl import cluster as machine
from dagrl.cluster import refuse_missing_devices, this_machine
from dagrl.errors import UsageError
from dagrl.model import Cluster, ExecutorSpec
from dagrl.testing import grpo


def one(device: str) -> Cluster:
    return Cluster((ExecutorSpec("train", "train", device),))


def test_every_pool_that_jobs_name_gets_one_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cuda_devices", list)
    found = this_machine([grpo("a")])
    assert [(each.name, each.device) for each in found.executors] == [
        ("train", "cpu"),
        ("rollout", "cpu"),
        ("cpu", "cpu"),
    ]


def test_pools_share_cuda_devices_and_the_cpu_pool_stays_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cuda_devices", lambda: ["cuda:0"])
    found = this_machine([grpo("a")])
    assert [each.device for each in found.executors] == ["cuda:0", "cuda:0", "cpu"]


def test_a_device_that_is_not_there_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cuda_devices", lambda: ["cuda:0"])
    refuse_missing_devices(one("cuda:0"))
    refuse_missing_devices(one("cuda"))
    refuse_missing_devices(one("cpu"))
    with pytest.raises(UsageError, match="executor 'train': this machine has no 'cuda:3'; it has cuda:0"):
        refuse_missing_devices(one("cuda:3"))
    with pytest.raises(UsageError, match="no device is called 'gpu'"):
        refuse_missing_devices(one("gpu"))


def test_without_a_driver_there_is_no_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert machine.cuda_devices() == []
