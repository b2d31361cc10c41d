"""Many environments as one of gymnasium's vector environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import _fairpace
from .._scenario import Scenario, ScenarioLike, scenario_of
from ._columns import INFO, OBSERVATIONS, Column, Form, action_columns

__all__ = ["Draw", "Reward", "VectorEnv", "default_reward"]

Floats = NDArray[np.float32]
Reward = Callable[[Floats, Mapping[str, Floats]], NDArray[Any]]
"""From the observations, a row per agent, and the columns of :data:`INFO` of the agents' flows, a reward per agent."""

_NAMES = [column.name for column in OBSERVATIONS]
_MIN_RTT_MS, _LOSS = _NAMES.index("min_rtt_ms"), _NAMES.index("loss_share")
_MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Draw:
    """A key of the scenario that has a random value in each episode."""

    least: str
    """The least value, with its unit: ``4mbit``."""
    most: str
    """The largest value, with a unit of the same kind."""
    logarithmic: bool = False
    """Orders of magnitude are equally likely, not values."""


def default_reward(observations: Floats, info: Mapping[str, Floats]) -> Floats:
    """The logarithm of the goodput in Mbit/s, less the queueing delay over the base RTT, less ten times the loss.

    The sum of logarithms is largest where all have the same (proportional fairness: Kelly et al., 1998).
    """
    base_ms = np.maximum(observations[:, _MIN_RTT_MS], 1.0)
    goodput = np.log(np.maximum(info["goodput_mbps"], 0.01))
    reward = goodput - info["queue_delay_ms"] / base_ms - 10.0 * observations[:, _LOSS]
    return reward.astype(np.float32)


def box(columns: Sequence[Column]) -> spaces.Box:
    """The space of rows of these columns."""
    least = np.array([column.least for column in columns], np.float32)
    return spaces.Box(least, np.array([column.most for column in columns], np.float32), dtype=np.float32)


class VectorEnv(GymnasiumVectorEnv[Floats, Floats, NDArray[Any]]):
    """``count`` environments, stepped together in Rust.

    Each row is an agent; where a scenario has several, ``num_envs`` is ``count`` times their number, so that a policy with
    shared parameters is trained as it is. An episode ends, truncated, with its scenario; the next one starts in the same
    step (``AutoresetMode.SAME_STEP``), with another seed and other drawn values. Results depend on seeds and actions,
    not on ``jobs``.

    :param scenario: a scenario, or a list of which each episode takes one; at least one flow has ``cc = "agent"``.
    :param count: number of environments.
    :param draws: keys with random values: a range of equally likely ones, or a :class:`Draw`.
    :param form: what an action is: see :func:`action_columns`.
    :param reward: the reward of each agent, computed for all at once.
    :param interval_us: the monitor interval, microseconds of simulated time; by default twice the shortest base RTT.
    :param seed: of the first episodes, if ``reset`` gets none.
    :param jobs: threads; by default one per core.
    :raises ValueError: a scenario, a range or the interval is wrong.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(
        self,
        scenario: ScenarioLike | Sequence[Scenario],
        count: int = 1,
        *,
        draws: Mapping[str, Draw | tuple[str, str]] | None = None,
        form: Form = "factor",
        reward: Reward = default_reward,
        interval_us: int | None = None,
        seed: int = 1,
        jobs: int | None = None,
    ) -> None:
        if count < 1:
            raise ValueError(f"count is {count}; there is at least one environment")
        given = _given(scenario, draws or {})
        seeds = range(seed, seed + count)
        self._native = _fairpace.Environments([(given, one, interval_us) for one in seeds], form, jobs)
        self._count = count
        self._reward = reward
        self._form = form
        self._rows: NDArray[np.intp] | None = None
        self.num_envs = self._native.shape()[0]
        self.single_observation_space = box(OBSERVATIONS)
        self.single_action_space = box(action_columns(form))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        agents, _ = self._native.rows()
        self._environment_of = np.repeat(np.arange(count), np.diff(agents))

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Starts an episode in each environment.

        :param seed: the seed of the first, the others have the next ones; or one for each environment. The seeds of
            later episodes follow from them. ``None``: the next episodes.
        """
        observations = self._native.reset(self._seeds(seed)).reshape(self.num_envs, -1)
        self._rows = self._agent_rows()
        return observations, {}

    def step(
        self, actions: Floats
    ) -> tuple[Floats, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Runs every environment for one monitor interval.

        :param actions: a row per agent. That of an agent whose last observation has ``has_ack = 0`` is ignored: an
            algorithm decides when an ACK arrives.
        :returns: observations, rewards, terminated (never), truncated, and ``info``: the columns of :data:`INFO`, and
            ``final_obs`` where an episode has ended.
        :raises ValueError: an action is not a number in its range, or has another shape; nothing has happened then.
        """
        array = np.ascontiguousarray(actions, np.float32)
        columns = action_columns(self._form)
        if array.shape != (self.num_envs, len(columns)):
            raise ValueError(f"actions have the shape {array.shape}; it must be {(self.num_envs, len(columns))}")
        flat, final, truth, ended = self._native.step(array.reshape(-1))
        observations, final = flat.reshape(self.num_envs, -1), final.reshape(self.num_envs, -1)
        truncated = ended[self._environment_of]
        own = truth.reshape(-1, len(INFO))[self._rows_of_agents()]
        info: dict[str, Any] = {column.name: own[:, index] for index, column in enumerate(INFO)}
        seen = observations
        if truncated.any():
            seen = np.where(truncated[:, None], final, observations)
            info |= {"final_obs": seen, "_final_obs": truncated}
            self._rows = self._agent_rows()
        rewards = np.asarray(self._reward(seen, info), np.float32)
        if rewards.shape != (self.num_envs,):
            raise ValueError(f"the reward has the shape {rewards.shape}; it must be {(self.num_envs,)}")
        return observations, rewards, np.zeros(self.num_envs, np.bool_), truncated, info

    def agents(self, environment: int = 0) -> list[str]:
        """Names of the agents' flows in an environment's current episode."""
        return [name for name, _ in self._native.agents(environment)]

    def scenario(self, environment: int = 0) -> str:
        """The scenario of an environment's current episode, with its seed, as a scenario file."""
        scenario = self._native.scenario(environment)
        if scenario is None:
            raise RuntimeError("there is no episode; reset it first")
        return scenario.to_toml()

    def close_extras(self, **_: Any) -> None:
        """Frees memory and threads."""
        self._native.close()

    def _seeds(self, seed: int | list[int | None] | None) -> list[int] | None:
        if seed is None:
            return None
        seeds = list(range(seed, seed + self._count)) if isinstance(seed, (int, np.integer)) else list(seed)
        if len(seeds) != self._count or any(one is None or not 0 <= one <= _MOST_SEED for one in seeds):
            raise ValueError(f"seeds are {self._count} integers from 0 to {_MOST_SEED}")
        return [int(one) for one in seeds if one is not None]

    def _agent_rows(self) -> NDArray[np.intp]:
        """The row of each agent's flow among the flows of all environments."""
        _, flows = self._native.rows()
        places = [flows[index] + place for index in range(self._count) for _, place in self._native.agents(index)]
        return np.array(places, np.intp)

    def _rows_of_agents(self) -> NDArray[np.intp]:
        if self._rows is None:
            self._rows = self._agent_rows()
        return self._rows


def _given(scenario: ScenarioLike | Sequence[Scenario], draws: Mapping[str, Draw | tuple[str, str]]) -> Any:
    """What the native part takes."""
    if isinstance(scenario, Sequence) and not isinstance(scenario, str):
        if draws:
            raise ValueError("values are drawn of one scenario; give a list, or draws")
        return [one._checked for one in scenario]
    one = scenario_of(scenario)
    if not draws:
        return [one._checked]
    ranges = [Draw(*draw) if isinstance(draw, tuple) else draw for draw in draws.values()]
    rows = [(key, draw.least, draw.most, draw.logarithmic) for key, draw in zip(draws, ranges, strict=True)]
    # not the canonical form: there "1bdp" is a number of bytes
    return (*one._source(), rows)
