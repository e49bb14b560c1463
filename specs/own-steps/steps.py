"""Your own model, your own environment, four plain functions: REINFORCE on a grid, in one file.

A build function makes the state of one context. A step finds it in `step.contexts`, changes it in place, and returns
what later steps need. Modules, optimizers, generators and whatever has a `state_dict` are saved and restored for you.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from dagrl.step import BuildContext, StepContext

SIZE = 6
MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


class Grid:
    """Walkers on a square. Who reaches the corner earns 1 and goes on from a random place; a move costs 0.05."""

    def __init__(self, walkers: int) -> None:
        self.places = torch.randint(SIZE, (walkers, 2))

    def look(self) -> Tensor:
        return nn.functional.one_hot(self.places, SIZE).flatten(start_dim=1).float()

    def move(self, actions: Tensor) -> Tensor:
        self.places = (self.places + MOVES[actions]).clamp(0, SIZE - 1)
        home = (self.places == 0).all(dim=1)
        self.places[home] = torch.randint(SIZE, (int(home.sum()), 2))
        return home.float() - 0.05

    def state_dict(self) -> dict[str, Any]:
        return {"places": self.places}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.places = state["places"]


def build_player(build: BuildContext) -> dict[str, Any]:
    return {"policy": new_policy(), "grid": Grid(build.params["walkers"])}


def build_learner(build: BuildContext) -> dict[str, Any]:
    policy = new_policy()
    return {"policy": policy, "optimizer": torch.optim.Adam(policy.parameters(), lr=build.params["learning_rate"])}


def new_policy() -> nn.Module:
    return nn.Sequential(nn.Linear(2 * SIZE, 32), nn.Tanh(), nn.Linear(32, len(MOVES)))


def play(step: StepContext) -> dict[str, Any]:
    """Let the policy walk; the learner's newest weights are in it already."""
    player = step.contexts["player"]
    seen, actions, rewards = [], [], []
    for _ in range(step.params["horizon"]):
        seen.append(player["grid"].look())
        with torch.no_grad():
            actions.append(Categorical(logits=player["policy"](seen[-1])).sample())
        rewards.append(player["grid"].move(actions[-1]))
    step.metrics.log(reward=torch.stack(rewards).mean().item())
    return {"seen": torch.stack(seen), "actions": torch.stack(actions), "rewards": torch.stack(rewards)}


def learn(step: StepContext) -> None:
    """Make a move likelier the more it earned, compared with the other walkers at the same time."""
    learner, walk = step.contexts["learner"], step.inputs["play"]
    returns = walk["rewards"].clone()
    for time in reversed(range(len(returns) - 1)):
        returns[time] += step.params["gamma"] * returns[time + 1]
    advantages = returns - returns.mean(dim=1, keepdim=True)
    logprobs = Categorical(logits=learner["policy"](walk["seen"])).log_prob(walk["actions"])
    loss = -(logprobs * advantages).mean()
    loss.backward()
    learner["optimizer"].step()
    learner["optimizer"].zero_grad()
    step.metrics.log(loss=loss.item())
