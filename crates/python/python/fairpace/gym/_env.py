"""One environment with one agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from .._scenario import ScenarioLike
from ._columns import Form
from ._vector import Draw, Floats, Reward, VectorEnv, default_reward

__all__ = ["Env"]


class Env(gymnasium.Env[Floats, Floats]):
    """One environment with one agent. Arguments are those of :class:`VectorEnv`, which is as easy and much faster.

    :raises ValueError: the scenario has no agent, or several.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: ScenarioLike | Sequence[ScenarioLike],
        *,
        draws: Mapping[str, Draw | tuple[str, str]] | None = None,
        form: Form = "factor",
        reward: Reward = default_reward,
        interval_us: int | None = None,
    ) -> None:
        self._vector = VectorEnv(
            scenario, draws=draws, form=form, reward=reward, interval_us=interval_us, jobs=1
        )
        if self._vector.num_envs != 1:
            raise ValueError(f"the scenario has {self._vector.num_envs} agents: use ParallelEnv or VectorEnv")
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Starts an episode; without a seed, the next one."""
        super().reset(seed=seed)
        observations, _ = self._vector.reset(seed=seed)
        self._over = False
        return observations[0], {}

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Runs it for one monitor interval."""
        if self._over:
            raise RuntimeError("the episode is over; reset it first")
        row = np.asarray(action, np.float32)[None]
        try:
            observations, rewards, _, _, info = self._vector.step(row)
        finally:
            # also if the reward fails: the next step would be one of the next episode
            self._over = self._vector._is_over()
        seen = info.pop("final_obs", observations)[0]
        info.pop("_final_obs", None)
        return seen, float(rewards[0]), False, self._over, {name: float(column[0]) for name, column in info.items()}

    def close(self) -> None:
        """Frees memory and threads."""
        self._vector.close()
