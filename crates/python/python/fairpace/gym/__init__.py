"""Environments for reinforcement learning: learning senders among the algorithms of the kernel, on any scenario.

An agent is a flow with ``cc = "agent"``. Once per monitor interval it sees what its ACKs said (:data:`OBSERVATIONS`), and sets
its pacing rate, by a factor or as a rate and a cwnd (:func:`action_columns`). The statistics and the arithmetic are those of
C headers that run in the kernel, so a policy can be exported and decides the same there.

- :class:`VectorEnv`: thousands of environments as one of gymnasium's vector environments; all of it but the policy and the
  reward runs in Rust, on all cores.
- :class:`Env`: one environment with one agent, gymnasium's interface.
- :class:`ParallelEnv`: one environment with several agents, PettingZoo's interface.

>>> import numpy as np
>>> from fairpace.gym import VectorEnv
>>> env = VectorEnv('''
...     title = "an agent alone"
...     duration = "3s"
...     [[link]]
...     rate = "12mbit"
...     buffer = "1bdp"
...     [[flow]]
...     cc = "agent"
...     rtt = "30ms"
... ''', count=4, draws={"link.rate": ("4mbit", "40mbit")})
>>> observations, info = env.reset(seed=1)
>>> observations.shape
(4, 17)
>>> observations, rewards, _, truncated, info = env.step(np.zeros((4, 1), np.float32))
"""

from ._columns import INFO, OBSERVATIONS, Column, action_columns
from ._env import Env
from ._parallel import ParallelEnv
from ._policy import FEATURES, Policy
from ._vector import Draw, Reward, VectorEnv, default_reward

__all__ = [
    "FEATURES",
    "INFO",
    "OBSERVATIONS",
    "Column",
    "Draw",
    "Env",
    "ParallelEnv",
    "Policy",
    "Reward",
    "VectorEnv",
    "action_columns",
    "default_reward",
]
