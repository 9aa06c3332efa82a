"""Two processes on "mps" over gloo: gradients of DistributedDataParallel, collectives, and distributed checkpoints."""

import os
import socket
import subprocess
import sys

import torch

WORKER = """
import os, sys, warnings
import torch, torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
warnings.simplefilter("ignore")
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", rank=rank, world_size=2)
assert dist.get_default_backend_for_device("mps") == "gloo"

total = torch.full((3,), rank + 1.0, device="mps")
dist.all_reduce(total)
assert total.device.type == "mps" and total.tolist() == [3.0] * 3
parts = [torch.empty(2, device="mps") for _ in range(2)]
dist.all_gather(parts, torch.full((2,), float(rank), device="mps"))
assert [part.tolist() for part in parts] == [[0.0, 0.0], [1.0, 1.0]]
sent = torch.arange(4.0, device="mps") if rank == 0 else torch.zeros(4, device="mps")
dist.broadcast(sent, src=0)
assert sent.tolist() == [0.0, 1.0, 2.0, 3.0]

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to("mps")
parallel = torch.nn.parallel.DistributedDataParallel(model)
data = torch.randn(8, 6, generator=torch.Generator().manual_seed(1))
target = torch.randn(8, 2, generator=torch.Generator().manual_seed(2))
optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
for _ in range(3):
    half = slice(rank * 4, rank * 4 + 4)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(parallel(data[half].to("mps")), target[half].to("mps")).backward()
    optimizer.step()
torch.save({name: value.cpu() for name, value in model.state_dict().items()}, f"{folder}/rank{rank}.pt")

state = {"model": model.state_dict()}
checkpoint.save(state, checkpoint_id=f"{folder}/checkpoint")
fresh = {"model": {name: torch.zeros_like(value) for name, value in model.state_dict().items()}}
checkpoint.load(fresh, checkpoint_id=f"{folder}/checkpoint")
for name, value in model.state_dict().items():
    loaded = fresh["model"][name]
    assert loaded.device.type == "mps" and torch.equal(loaded, value), name
dist.destroy_process_group()
"""


def _port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_two_processes_train_as_one(tmp_path):
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_port()), "OMP_NUM_THREADS": "1"}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path)], env=environment, stderr=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    for worker in workers:
        _, errors = worker.communicate(timeout=240)
        assert worker.returncode == 0, errors
    ranks = [torch.load(tmp_path / f"rank{rank}.pt") for rank in range(2)]
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    data = torch.randn(8, 6, generator=torch.Generator().manual_seed(1))
    target = torch.randn(8, 2, generator=torch.Generator().manual_seed(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(data), target).backward()
        optimizer.step()
    for name, expected in model.state_dict().items():
        assert torch.equal(ranks[0][name], ranks[1][name]), name
        torch.testing.assert_close(ranks[0][name], expected, rtol=1e-5, atol=1e-6)
