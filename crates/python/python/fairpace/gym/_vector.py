"""Many environments as one of gymnasium's vector environments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv as GymnasiumVectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .. import _fairpace
from .._scenario import ScenarioLike, scenario_of
from .._units import unicode
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
    step, or in the next one (``autoreset_mode``), with another seed and other drawn values. Results depend on seeds and
    actions, not on ``jobs``.

    Ctrl-C ends the making, a reset or a step within about a second. After such a reset or step no environment has an
    episode: reset them, with seeds if results are to be the same again.

    :param scenario: a scenario, or a list of which each episode takes one; at least one flow has ``cc = "agent"``.
    :param count: number of environments.
    :param draws: keys with random values: a range of equally likely ones, or a :class:`Draw`.
    :param form: what an action is: see :func:`action_columns`.
    :param reward: the reward of each agent, computed for all at once.
    :param interval_us: the monitor interval, microseconds of simulated time; by default twice the shortest base RTT.
    :param seed: of the first episodes, if ``reset`` gets none.
    :param jobs: threads; by default one per core. There are no more than environments, and at most 256.
    :param autoreset_mode: when the next episode starts. ``SAME_STEP``: in the step that ends one, whose observation is the
        first of the next episode, and whose ``info["final_obs"]`` has the last one. ``NEXT_STEP``, which gymnasium's
        wrappers of observations such as ``NormalizeObservation`` need: that step has the last observation, and the next
        step ignores the action, has the first observation of the next episode, a reward of 0, and 0 in ``info``.
    :raises ValueError: an argument is wrong, such as a range or the interval; or a scenario is, with the values that the first
        episodes draw or with those at the ends of ranges. Ends are tried together in all ways for up to six keys, and
        for more keys all least, all largest, and both with each key alone at its other end. Scenarios of a list are
        all checked, and need the same numbers of agents and flows.
    :raises TypeError: what is given is no scenario, or draws are no ranges.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(
        self,
        scenario: ScenarioLike | Sequence[ScenarioLike],
        count: int = 1,
        *,
        draws: Mapping[str, Draw | tuple[str, str]] | None = None,
        form: Form = "factor",
        reward: Reward = default_reward,
        interval_us: int | None = None,
        seed: int = 1,
        jobs: int | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        self._count = count = _whole(count, "count is {}; there is at least one environment", 1)
        if jobs is not None:
            # a binding holds no larger number, and there are no more threads than environments
            jobs = min(count, _whole(jobs, "jobs={} is no number of jobs; write a whole number from 1 on, or leave it out", 1))
        if interval_us is not None:
            interval_us = _whole(interval_us, "interval_us is {}; it is from 1000 to 10000000", 1_000, 10_000_000)
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
            raise ValueError(f"autoreset_mode is {autoreset_mode!r}; it is AutoresetMode.SAME_STEP or NEXT_STEP")
        self.metadata = {**self.metadata, "autoreset_mode": autoreset_mode}
        self._resets_later = autoreset_mode == AutoresetMode.NEXT_STEP
        seeds = self._seeds_from(seed)
        given = _given(scenario, {} if draws is None else draws)
        self._native = _fairpace.Environments(given, seeds, interval_us, form, self._resets_later, jobs)
        self._reward = reward
        self._form = form
        self._ended = np.zeros(count, np.bool_)
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
            later episodes follow from them. ``None``, also in place of one of them: the next episode.
        :raises ValueError: that is no seed, and nothing has happened; or an episode cannot start: that environment has to
            be reset again, as the next step says, and the others have begun theirs.
        """
        observations = self._native.reset(self._seeds(seed)).reshape(self.num_envs, -1)
        self._rows = self._agent_rows()
        self._ended = np.zeros(self._count, np.bool_)
        return observations, {}

    def step(
        self, actions: Floats
    ) -> tuple[Floats, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Runs every environment for one monitor interval.

        :param actions: a row per agent. That of an agent whose last observation has ``has_ack = 0`` is ignored: an
            algorithm decides when an ACK arrives.
        :returns: observations, rewards, terminated (never), truncated, and ``info``: the columns of :data:`INFO`, and
            with ``SAME_STEP`` ``final_obs`` where an episode has ended.
        :raises ValueError: an action is not a number in its range, or has another shape: nothing has happened then. Or the
            reward has another shape, or the next episode of an environment cannot start, which can only be if a value
            between the ends of its range is wrong or a file of the scenario has changed: all environments have gone on by
            an interval then, which is lost to the caller. One without an episode has to be reset, and the next step says so.
        :raises RuntimeError: an environment has no episode; reset it first.
        """
        array = np.ascontiguousarray(actions, np.float32)
        columns = action_columns(self._form)
        if array.shape != (self.num_envs, len(columns)):
            raise ValueError(f"actions have the shape {array.shape}; it must be {(self.num_envs, len(columns))}")
        flat, final, truth, ended = self._native.step(array.reshape(-1))
        begins = self._ended[self._environment_of] if self._resets_later else None
        self._ended = ended
        observations, final = flat.reshape(self.num_envs, -1), final.reshape(self.num_envs, -1)
        truncated = ended[self._environment_of]
        own = truth.reshape(-1, len(INFO))[self._rows_of_agents()]
        info: dict[str, Any] = {column.name: own[:, index] for index, column in enumerate(INFO)}
        seen = observations
        if begins is not None:
            if begins.any():
                self._rows = self._agent_rows()
        elif truncated.any():
            seen = np.where(truncated[:, None], final, observations)
            info |= {"final_obs": seen, "_final_obs": truncated}
            self._rows = self._agent_rows()
        rewards = np.asarray(self._reward(seen, info), np.float32)
        if rewards.shape != (self.num_envs,):
            raise ValueError(f"the reward has the shape {rewards.shape}; it must be {(self.num_envs,)}")
        if begins is not None:
            rewards = np.where(begins, np.float32(0.0), rewards)
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

    def _is_over(self) -> bool:
        """Whether the last step ended an episode of the first environment, also if its reward failed."""
        return bool(self._ended[0])

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self._count
        if not isinstance(seed, (Sequence, np.ndarray)):
            return [*self._seeds_from(seed)]
        if len(seed) != self._count:
            raise ValueError(f"{self._seed_words()}, not {len(seed)}")
        return [None if one is None else _whole(one, self._seed_words(), 0, _MOST_SEED) for one in seed]

    def _seeds_from(self, first: int) -> list[int]:
        whole = _whole(first, self._seed_words(), 0, _MOST_SEED - self._count + 1)
        return list(range(whole, whole + self._count))

    def _seed_words(self) -> str:
        return f"seeds are {self._count} integers from 0 to {_MOST_SEED}"

    def _agent_rows(self) -> NDArray[np.intp]:
        """The row of each agent's flow among the flows of all environments."""
        _, flows = self._native.rows()
        places = [flows[index] + place for index in range(self._count) for _, place in self._native.agents(index)]
        return np.array(places, np.intp)

    def _rows_of_agents(self) -> NDArray[np.intp]:
        if self._rows is None:
            self._rows = self._agent_rows()
        return self._rows


def _whole(value: object, words: str, least: int, most: int | None = None) -> int:
    """A whole number in its range.

    :raises ValueError: it is none; ``words`` say what it is, with ``{}`` for the value.
    """
    try:
        whole = None if isinstance(value, (bool, np.bool_)) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        whole = None
    if whole is None or whole < least or (most is not None and whole > most):
        raise ValueError(words.format(repr(value)))
    return whole


def _given(
    scenario: ScenarioLike | Sequence[ScenarioLike], draws: Mapping[str, Draw | tuple[str, str]]
) -> Any:
    """What the native part takes."""
    rows = _ranges(draws)
    if isinstance(scenario, Sequence) and not isinstance(scenario, (str, bytes)):
        if rows:
            raise ValueError("values are drawn of one scenario; give a list, or draws")
        return [scenario_of(one)._checked for one in scenario]
    one = scenario_of(scenario)
    # not the canonical form: there "1bdp" is a number of bytes
    return (*one._source(), rows) if rows else [one._checked]


def _ranges(draws: Mapping[str, Draw | tuple[str, str]]) -> list[tuple[str, str, str, bool]]:
    """Keys with their least and largest values, and whether they are logarithmic."""
    if not isinstance(draws, Mapping):
        raise TypeError(f"draws are a dictionary of keys and ranges, not {type(draws).__name__}")
    rows = []
    for key, given in draws.items():
        draw = Draw(*given) if isinstance(given, (tuple, list)) and len(given) == 2 else given
        if not isinstance(key, str):
            raise TypeError(f"a scenario's key is a text, not {type(key).__name__}")
        if not (isinstance(draw, Draw) and isinstance(draw.least, str) and isinstance(draw.most, str)):
            words = 'a range is a Draw or a pair of texts with units, such as ("4mbit", "40mbit")'
            raise TypeError(f"draws: {key} has {given!r}; {words}")
        rows.append((unicode(key, "a scenario's key"), unicode(draw.least, key), unicode(draw.most, key), bool(draw.logarithmic)))
    return rows
