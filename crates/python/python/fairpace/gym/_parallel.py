"""One environment with several agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import Space
from pettingzoo import ParallelEnv as PettingZooParallelEnv  # type: ignore[import-untyped]

from .._scenario import ScenarioLike
from ._columns import Form
from ._vector import Draw, Floats, Reward, VectorEnv, default_reward

__all__ = ["ParallelEnv"]


class ParallelEnv(PettingZooParallelEnv):  # type: ignore[misc]
    """One environment whose agents act at the same time. An agent's name is that of its flow.

    Arguments are those of :class:`VectorEnv`.
    """

    metadata: dict[str, Any] = {"name": "fairpace", "render_modes": [], "is_parallelizable": True}

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        draws: Mapping[str, Draw | tuple[str, str]] | None = None,
        form: Form = "factor",
        reward: Reward = default_reward,
        interval_us: int | None = None,
        seed: int = 1,
    ) -> None:
        self._vector = VectorEnv(
            scenario, draws=draws, form=form, reward=reward, interval_us=interval_us, seed=seed, jobs=1
        )
        self._first, _ = self._vector.reset(seed=seed)
        self.possible_agents = self._vector.agents()
        self.agents: list[str] = []
        self.observation_spaces = {name: self._vector.single_observation_space for name in self.possible_agents}
        self.action_spaces = {name: self._vector.single_action_space for name in self.possible_agents}

    def observation_space(self, agent: str) -> Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, dict[str, Any]]]:
        """Starts an episode; without a seed, the next one."""
        observations, _ = self._vector.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return self._by_agent(observations), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Floats]
    ) -> tuple[
        dict[str, Floats], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Runs it for one monitor interval. Every agent acts.

        :raises ValueError: an agent has no action, or one that is not in its space.
        """
        if not self.agents:
            raise RuntimeError("the episode is over; reset it first")
        if set(actions) != set(self.agents):
            raise ValueError(f"actions are of {sorted(actions)}; the agents are {sorted(self.agents)}")
        rows = np.stack([np.asarray(actions[name], np.float32) for name in self.agents])
        names = list(self.agents)
        try:
            observations, rewards, _, _, info = self._vector.step(rows)
        finally:
            # also if the reward fails: the next step would be one of the next episode
            is_over = self._vector._is_over()
            if is_over:
                self.agents = []
        seen = info.pop("final_obs", observations)
        info.pop("_final_obs", None)
        infos = {
            name: {column: float(values[row]) for column, values in info.items()} for row, name in enumerate(names)
        }
        return (
            self._by_agent(seen),
            dict(zip(names, map(float, rewards), strict=True)),
            dict.fromkeys(names, False),
            dict.fromkeys(names, is_over),
            infos,
        )

    def close(self) -> None:
        """Frees memory and threads."""
        self._vector.close()

    def _by_agent(self, rows: Floats) -> dict[str, Floats]:
        return dict(zip(self.possible_agents, rows, strict=True))
