"""A policy that can be exported: a small network of integers, as ``lib/policy.h`` of the C sources has it."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._units import unicode
from ..errors import OutputError
from ._columns import OBSERVATIONS
from ._vector import Floats

__all__ = ["FEATURES", "Policy"]

_ONE = 1024
"""Values have 10 fraction bits."""
_MOST = 8 * _ONE
_UNITS = 16
_NAMES = [column.name for column in OBSERVATIONS]

FEATURES: tuple[int, ...] = tuple(range(_NAMES.index("queue_rtts"), len(_NAMES)))
"""The columns of an observation that a policy sees."""

_SHAPES = ((_UNITS, len(FEATURES) + 1), (_UNITS, _UNITS + 1), (1, _UNITS + 1))


class Policy:
    """A network with two hidden layers, or many of them at once.

    Its output is the exponent of the factor on the pacing rate (``form="factor"``). Numbers are integers in 1/1024, so that
    an exported policy decides the same in C, bit by bit.

    :param parameters: numbers from -8 to 8, in units of 1, in an array of the shape ``(..., Policy.SIZE)``; they are rounded to
        1/1024. Axes before the last one are policies of their own: a population.
    """

    SIZE = sum(rows * columns for rows, columns in _SHAPES)
    """Number of parameters."""

    def __init__(self, parameters: NDArray[Any]) -> None:
        array = np.asarray(parameters, np.float64)
        if array.shape[-1:] != (self.SIZE,):
            raise ValueError(f"parameters have the shape {array.shape}; the last axis has {self.SIZE}")
        if not np.isfinite(array).all():
            raise ValueError("a parameter is not a number")
        whole = np.clip(np.rint(array * _ONE), -_MOST, _MOST)
        self._layers = []
        first = 0
        for rows, columns in _SHAPES:
            self._layers.append(whole[..., first : first + rows * columns].reshape(*array.shape[:-1], rows, columns))
            first += rows * columns

    def act(self, observations: Floats) -> Floats:
        """The actions for these observations.

        :param observations: a row per agent; for a population, an axis of policies before it: ``(policies, rows, columns)``.
        :returns: exponents, a row of one column per agent, as :meth:`VectorEnv.step` takes them.
        """
        # whole numbers below 2^31: float64 is exact, and has a fast product
        x = np.rint(np.asarray(observations, np.float64)[..., FEATURES] * _ONE)
        for index, layer in enumerate(self._layers):
            sums = x @ np.swapaxes(layer[..., :-1], -1, -2) + layer[..., None, :, -1] * _ONE
            x = np.clip(np.floor(sums / _ONE), -_MOST, _MOST)
            if index < len(self._layers) - 1:
                x = np.maximum(x, 0.0)
        return (np.clip(x, -_ONE, _ONE) / _ONE).astype(np.float32)

    def export(self, path: str | PathLike[str], *, interval_us: int = 100_000, about: str = "a learned policy") -> None:
        """Writes the policy as an algorithm: a C header, which ``fairpace evaluate``, ``fairpace compare`` and ``fairpace load``
        take by its path.

        :param path: ``NAME.h``; the name is that of the algorithm: lower-case letters, digits and ``_``.
        :param interval_us: the monitor interval that it was trained with, 1,000 to 10,000,000.
        :param about: what it is, in a line.
        :raises ValueError: it is a population, or a name or number is wrong.
        :raises OutputError: the file cannot be written.
        """
        target = Path(os.fspath(path))
        name = target.stem
        if self._layers[0].ndim != 2:
            raise ValueError("this is a population; export one of its policies")
        if target.suffix != ".h" or not re.fullmatch("[a-z][a-z0-9_]{0,11}", name):
            raise ValueError(f"{target.name} is not NAME.h, with 1 to 12 lower-case letters, digits or _")
        if not 1_000 <= interval_us <= 10_000_000:
            raise ValueError(f"interval_us is {interval_us}; it is from 1000 to 10000000")
        values = {
            "about": " ".join(unicode(about, "about").split()).replace("*/", "* /"),
            "NAME": name.upper(),
            "name": name,
            "interval_us": str(interval_us),
            "weights": ",\n".join(f"\t.{part} = {_table(layer)}" for part, layer in self._parts()),
        }
        # at once, so that nothing is replaced within a value
        text = re.sub(f"@({'|'.join(values)})@", lambda match: values[match[1]], _TEMPLATE)
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OutputError(f"the policy cannot be written: {error}", "name another folder, or make room there") from None

    def _parts(self) -> list[tuple[str, NDArray[Any]]]:
        first, second, last = self._layers
        return [("first", first), ("second", second), ("last", last[0])]


def _table(layer: NDArray[Any]) -> str:
    """A layer as C's initializer; the bias is the last number of each row."""
    rows = np.atleast_2d(layer).astype(int).tolist()
    texts = ["{ " + ", ".join(map(str, row)) + " }" for row in rows]
    return texts[0] if layer.ndim == 1 else "{\n" + "".join(f"\t\t{text},\n" for text in texts) + "\t}"


_TEMPLATE = """\
/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * @about@
 *
 * Written by fairpace.gym.Policy.export. Once per monitor interval the network of lib/policy.h makes the exponent of a
 * factor on the pacing rate of what the ACKs of the interval said; cwnd follows from the rate (lib/action.h).
 */
#ifndef CC_@NAME@_H
#define CC_@NAME@_H

#include "contract/contract.h"
#include "contract/maths.h"
#include "contract/params.h"
#include "lib/action.h"
#include "lib/monitor.h"
#include "lib/policy.h"

/* As agent, of which this is one: lib/clamp.h. */
#define @name@_paces_below_a_packet 1

#define @name@_kind CC_OWNS_CWND

#define @name@_parameters(P) \\
	P(interval_us, @interval_us@, CC_MSEC(1), CC_SEC(10), CC_UNIT_US, "length of a monitor interval", \\
	  "as in training") \\
	P(cwnd_gain, CC_GAIN(2), CC_GAIN(1), CC_GAIN(16), CC_UNIT_GAIN, "cwnd in rate * srtt", "as in training")

struct @name@_params {
	@name@_parameters(CC_PARAM_FIELD)
};

struct @name@ {
	struct cc_monitor monitor;
	struct @name@_params p;
	u32 rate_Bps;
	u32 cwnd_pkts;
};

/* In 1/1024; the last number of a row is its bias. */
static const struct cc_policy_weights @name@_weights = {
@weights@,
};

CC_INLINE void @name@_decide(const struct @name@ *s, const struct cc_view *v, struct cc_decision *d)
{
	d->cwnd_pkts = s->cwnd_pkts;
	d->pacing_rate_Bps = cc_min_u64(s->rate_Bps, v->max_pacing_rate_Bps);
}

/* A monitor interval is over: the network decides. */
CC_INLINE void @name@_act(struct @name@ *s, const struct cc_interval *i, const struct cc_view *v)
{
	s32 features[CC_FEATURES];
	s32 exponent;

	cc_features(i, s->rate_Bps, features);
	exponent = cc_policy(&@name@_weights, features);
	s->rate_Bps = cc_rate_times(s->rate_Bps, exponent * (CC_EXPONENT_UNIT / CC_POLICY_ONE));
	s->cwnd_pkts = cc_cwnd_of_rate(s->rate_Bps, s->p.cwnd_gain, v);
}

CC_INLINE void @name@_on_ack(struct @name@ *s, const struct cc_view *v, struct cc_decision *d)
{
	struct cc_interval interval;

	if (cc_monitor_on_ack(&s->monitor, v, &interval))
		@name@_act(s, &interval, v);
	@name@_decide(s, v, d);
}

CC_INLINE void @name@_on_event(struct @name@ *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{
	(void)event;
	@name@_decide(s, v, d);
}

CC_INLINE void @name@_init(struct @name@ *s, const struct @name@_params *p, const struct cc_view *v,
			   struct cc_decision *d)
{
	s->p = *p;
	s->cwnd_pkts = v->cwnd_pkts;
	s->rate_Bps = cc_first_rate(v);
	cc_monitor_start(&s->monitor, p->interval_us, v);
	d->ssthresh_pkts = CC_INFINITE;
	@name@_decide(s, v, d);
}

CC_INLINE void @name@_observe(const struct @name@ *s, struct cc_observation *o)
{
	o->bw_Bps = 0;
	o->min_rtt_us = s->monitor.min_rtt_us;
	o->pacing_gain_256 = 0;
	o->cwnd_gain_256 = 0;
	o->phase = CC_PHASE_FIXED;
}

#endif
"""
