"""LEVEL, a second time: the congestion control of level-spec.md in Python.

This was written from the specification alone, without sight of the C. It follows the specification section by
section: the constants of Section 4.2, the state of Section 5, the procedures of Sections 6 and 9 and the
arithmetic of Appendix A, with the names that they have there (procedures in lower case with underscores, as
is usual in Python). Python's integers have no width, so every operation that can leave the range of its u32
or u64 is cut where Appendix A.1 says so; where nothing is cut, the bounds of the operands make that
unnecessary.

It is not fast, and not a congestion control that a host could use: it exists to show that the specification
is complete. replay.py runs it on recorded calls and compares each decision, bit for bit.
"""

from math import isqrt
from types import SimpleNamespace

# Section 1.2, units

NO_RTT = 0xFFFFFFFF

# Section 3.4, events

RESTART = 3

# Section 4.2, constants

W_SHIFT = 10
W_MOST = 1 << 34
W_LEAST = 128
RATE_SHIFT = 24
REFERENCE_RATE = 68719
BLOCK_US = 10000
BIN_US = 15000000
RTT_MOST_US = 100000000
HELD_US = 40000
LOSS_PKTS = 512
LOSS_MOST_US = 5000
CWND_LEAST_PKTS = 4
FEW_PKTS = 3
GROWTH_MOST = 32
DRAIN_US = 40000
DRAIN_FIRST_US = 500000
SETTLE_ROUNDS = 2
MEAN_ROUNDS = 8
EXCHANGE_US = 1000000
NOISE_US = 10000
AGGREGATE_PKTS = 6
AGGREGATE_US = 5000
AGGREGATES = 8
GAP_MOST_US = 100000
LOSS_STARTUP_PPM = 120000
STARTUP_GAIN_256 = 512
EXCHANGE_LEAST_256 = 192
EXCHANGE_MOST_256 = 384
MIN_BURST_PKTS = 2
INFINITE = 0x7FFFFFFF
STARVED_GAIN_256 = 704
CROWD_US = 5000
SOON_US = 4000000
FAR_OFF_256 = 307
CROWD_DRAIN_US = 50000
VERIFY_US = 2000000
VERIFY_ROUNDS = 4
RISE_PART = 3
STARVED_RATE = 160
WAIT_US = 500000
LEAVE_DRAINS = 3
COMPETE_GAIN_256 = 320
BETA_1024 = 717
CONVERGE_1024 = 870
RENO_SLOPE = 543
TO_MS = 4398047
T_MOST_MS = 1 << 20

# Section 5: the values of `mode`

STARTUP, STEADY, DRAIN = range(3)

# Appendix A.1, widths


def u32(x):
    """The low 32 bits (rules 1 and 6)."""
    return x & 0xFFFFFFFF


def u64(x):
    """The low 64 bits (rule 2)."""
    return x & 0xFFFFFFFFFFFFFFFF


# Appendix A.2, helpers


def div(a, b):
    return a // b if b != 0 else 0


def saturate(x):
    return min(x, 0xFFFFFFFF)


def sub_floor(a, b):
    return a - b if a > b else 0


def before(a, b):
    return u32(a - b) >> 31 == 1


def clamp_w(x):
    return min(max(x, W_LEAST), W_MOST)


# Appendix A.3, rates and windows


def rate_of(n, t):
    """Rate(n, t) of the specification: n packets in t us."""
    return saturate(div(n << RATE_SHIFT, t))


def window(r, t):
    return (r * t) >> (RATE_SHIFT - W_SHIFT)


# Appendix A.5, loss


def loss_mean(old_ppm, delivered, lost):
    sent = u32(delivered + lost)
    if sent == 0:
        return old_ppm
    weight = max(min(sent, LOSS_PKTS), LOSS_PKTS // 16)
    now_ppm = lost * 1000000 // sent
    return u32((old_ppm * (LOSS_PKTS - weight) + now_ppm * weight) // LOSS_PKTS)


# Appendix A.8, pacing rate


def pacing_rate(out, gain, rtt_us, view):
    x = u64(u64(out * view.mss_bytes) * gain)
    x = div(u64((x >> 8) * 1000), rtt_us)  # 2^-10 bytes per ms
    x = u64((x >> 10) * 1000 + ((x % 1024 * 1000) >> 10))  # bytes per second
    return min(max(x, 1), view.max_pacing_rate_Bps)


# Appendix A.9, competing


def mul_shift(x, factor, n):
    return u64((x >> n) * factor + (((x % (1 << n)) * factor) >> n))


def cube_root(x):
    low, high = 0, 1 << 22  # low^3 <= x < high^3
    while high - low > 1:
        middle = (low + high) // 2
        if middle * middle * middle <= x:
            low = middle
        else:
            high = middle
    return low


class Level:
    """The state of one flow (Section 5) and the three calls of Section 3.1."""

    def __init__(self):
        # Section 5. None: Section 6.1 assigns it. The comment is the width where it is not u32.
        self.p = None
        self.mode = STARTUP  # u8
        self.w = None  # u64
        self.rate = 0
        self.queue_us = 0
        self.loss_ppm = 0
        self.base_us = [None, None]
        self.quiet_us = [None, None]
        self.bin_start_us = None  # u64
        self.block_start_us = None  # u64
        self.block_sum_us = 0  # u64
        self.block_samples = 0
        self.last_block_us = None
        self.pair_us = None
        self.pair_fresh = False  # bool
        self.smoothed_us = 0
        self.low_rtt_us = None
        self.low_at_us = 0  # u64
        self.last_ack_us = None  # u64
        self.gap_us = 0
        self.last_gap_us = 0
        self.max_inflight_pkts = 0
        self.round_start = False  # bool
        self.round_lost = False  # bool
        self.round_start_us = None  # u64
        self.round_end_pkts = None
        self.round_delivered_pkts = None
        self.round_lost_pkts = None
        self.round_sum_us = 0  # u64
        self.round_blocks = 0
        self.full_rate = 0
        self.full_rounds = 0  # u8
        self.queue_rounds = 0  # u8
        self.limited = None  # bool
        self.settle_rounds = 0  # u8
        self.low_rounds = 0  # u8
        self.mean_us_16 = 0
        self.mean_rounds = 0  # u8
        self.exchanged_us = 0  # u64
        self.drain_end_us = 0  # u64
        self.drain_interval_us = 0
        self.drain_seen_us = 0  # u64
        self.drain_sum_us = 0  # u64
        self.drain_blocks = 0
        self.drain_least_us = 0
        self.before_us = 0
        self.probing = False  # bool
        self.still = False  # bool
        self.best_rate = 0
        self.lone_drains = 0  # u8
        self.still_drains = 0  # u8
        self.lone_queue_us = 0
        self.competing = False  # bool
        self.rise_us = 0
        self.w_before = 0  # u64
        self.verify_lost_pkts = 0
        self.verify_rounds = 0  # u8
        self.verify_sum_us = 0  # u64
        self.joined_drains = 0  # u8
        self.cut_rounds = 0  # u8
        self.cubic_start_us = 0  # u64
        self.w_max = 0  # u64
        self.w_reno = 0  # u64
        self.k_ms = 0

    @property
    def T(self):  # the name of Section 5
        return min(self.base_us)

    # Section 3.1, the three calls

    def init(self, params, view):
        self.p = SimpleNamespace(**params)
        decision = {}
        self.run_init(SimpleNamespace(**view), decision)
        return decision

    def on_ack(self, view, decision):
        view = SimpleNamespace(**view)
        self.sample_rtt(view)
        self.update_round(view)
        if self.mode == STARTUP:
            self.startup(view)
        elif self.mode == STEADY:
            self.steady(view)
        else:
            self.drain(view)
        self.set_controls(view, decision)
        return decision

    def on_event(self, event, view, decision):
        if int(event) == RESTART:  # Section 6.4: LEVEL does nothing in the others
            self.restart(SimpleNamespace(**view))
        return decision

    # Section 6.1, Init

    def run_init(self, view, decision):
        self.w = clamp_w(view.cwnd_pkts << W_SHIFT)
        self.block_start_us = self.bin_start_us = self.round_start_us = self.last_ack_us = view.now_us
        self.last_block_us = self.low_rtt_us = self.pair_us = NO_RTT
        self.base_us[0] = view.min_rtt_us if view.delivered_pkts > CWND_LEAST_PKTS else NO_RTT
        self.base_us[1] = self.quiet_us[0] = self.quiet_us[1] = NO_RTT
        self.round_end_pkts = self.round_delivered_pkts = view.delivered_pkts
        self.round_lost_pkts = view.lost_pkts
        self.limited = True
        decision["ssthresh_pkts"] = INFINITE
        self.set_controls(view, decision)

    # Section 6.2.1, RTT samples and blocks

    def sample_rtt(self, view):
        self.gap_us = max(self.gap_us, saturate(u64(view.now_us - self.last_ack_us)))
        self.last_ack_us = view.now_us
        self.max_inflight_pkts = max(self.max_inflight_pkts, view.prior_inflight_pkts)
        if view.rtt_us < 0:
            return
        rtt_us = min(view.rtt_us, RTT_MOST_US)
        if (view.acked_pkts == 1 and view.inflight_pkts == 0 and self.T != NO_RTT
                and rtt_us > u32(self.T + HELD_US)):
            return  # the receiver held this ACK back
        self.block_sum_us = u64(self.block_sum_us + rtt_us)
        self.block_samples = u32(self.block_samples + 1)
        if self.mode == STARTUP:
            self.base_us[1] = min(self.base_us[1], rtt_us)
        if u64(view.now_us - self.block_start_us) >= BLOCK_US:
            self.end_block(view)

    def end_block(self, view):
        rtt_us = u32(self.block_sum_us // self.block_samples)
        time_us = saturate(u64(view.now_us - self.block_start_us))
        last_us = self.last_block_us
        self.block_sum_us = 0
        self.block_samples = 0
        self.block_start_us = view.now_us
        self.last_block_us = rtt_us
        self.round_sum_us = u64(self.round_sum_us + rtt_us)
        self.round_blocks = u32(self.round_blocks + 1)
        if last_us == NO_RTT:
            return  # the first block of the flow
        self.smoothed_us = self.smooth(rtt_us, time_us)
        two_us = (rtt_us + last_us) // 2
        self.pair_us = max(rtt_us, last_us)
        self.pair_fresh = True
        if self.mode == DRAIN and view.now_us >= self.drain_seen_us:
            self.drain_sum_us = u64(self.drain_sum_us + rtt_us)
            self.drain_least_us = min(self.drain_least_us, rtt_us)
            self.drain_blocks = u32(self.drain_blocks + 1)
        if (u64(view.now_us - self.bin_start_us) > BIN_US and not self.competing
                and self.lone_drains == 0):
            self.bin_start_us = view.now_us
            self.base_us[1] = self.base_us[0]
            self.base_us[0] = two_us
            self.quiet_us[1] = self.quiet_us[0]
            self.quiet_us[0] = self.smoothed_us
        self.base_us[0] = min(self.base_us[0], two_us)
        self.quiet_us[0] = min(self.quiet_us[0], self.smoothed_us)
        if two_us <= self.low_rtt_us:
            self.low_rtt_us = two_us
            self.low_at_us = view.now_us

    # Section 6.2.2 and Appendix A.4, smoothed RTT

    def smooth(self, rtt_us, time_us):
        gap = min(self.gap_us, self.last_gap_us, GAP_MOST_US)
        over = NOISE_US
        if self.mode != STARTUP and gap > AGGREGATE_US and (gap * self.rate) >> RATE_SHIFT >= AGGREGATE_PKTS:
            over = max(over, gap * AGGREGATES)
        if self.smoothed_us == 0:
            return rtt_us
        if rtt_us >= self.smoothed_us:
            return self.smoothed_us + (rtt_us - self.smoothed_us) * time_us // (time_us + over)
        return self.smoothed_us - (self.smoothed_us - rtt_us) * time_us // (time_us + over)

    # Section 6.2.3, rounds

    def update_round(self, view):
        delivered_pkts = u32(view.delivered_pkts - self.round_delivered_pkts)
        self.round_start = False
        if (view.sample_delivered_pkts < 0 or view.sample_interval_us <= 0
                or before(view.sample_prior_delivered_pkts, self.round_end_pkts)):
            return
        if self.mode != STARTUP and self.round_blocks == 0:
            return
        self.round_start = True
        time_us = u64(view.now_us - self.round_start_us)
        r_now = rate_of(delivered_pkts, time_us)
        if self.mode == STARTUP:
            self.rate = r_now
        elif self.mode == STEADY and self.settle_rounds == 0:
            if r_now > self.rate:
                self.rate = self.rate + (r_now - self.rate) // 4
            else:
                self.rate = self.rate - (self.rate - r_now) // 4
        lost_pkts = u32(view.lost_pkts - self.round_lost_pkts)
        self.round_lost = lost_pkts != 0
        self.loss_ppm = loss_mean(self.loss_ppm, delivered_pkts, lost_pkts)
        if self.round_blocks != 0:
            self.queue_us = sub_floor(u32(self.round_sum_us // self.round_blocks), self.T)
        self.round_sum_us = 0
        self.round_blocks = 0
        self.round_end_pkts = self.round_delivered_pkts = view.delivered_pkts
        self.round_lost_pkts = view.lost_pkts
        self.round_start_us = view.now_us
        self.last_gap_us = self.gap_us
        self.gap_us = 0

    # Appendix A.3, the level

    def level(self, r):
        square = div(self.p.level * self.p.level * REFERENCE_RATE, max(r, 1))
        root = isqrt(min(square, 1 << 43))
        quiet = min(self.quiet_us)
        if quiet == NO_RTT:
            return root
        noise = sub_floor(sub_floor(quiet, self.T), root // 4)
        return root + min((noise * self.p.noise_gain) >> 8, 8 * root)

    # Section 6.2.4, startup

    def startup(self, view):
        self.w = clamp_w(self.w + (view.acked_pkts << W_SHIFT))
        T = self.T
        queue = self.pair_us != NO_RTT and self.pair_us > u32(T + max(self.level(self.rate), T // 16))
        if not self.round_start and not queue:
            return
        if 4 * self.rate >= 5 * self.full_rate:
            self.full_rate = self.rate
            self.full_rounds = 0
        else:
            self.full_rounds = self.full_rounds + 1
        if self.round_start:
            self.queue_rounds = self.queue_rounds + 1 if self.queue_us > self.level(self.rate) else 0
        if queue or self.queue_rounds >= 2 or self.full_rounds >= 3 or self.loss_ppm > LOSS_STARTUP_PPM:
            self.leave_startup(view)

    def leave_startup(self, view):
        if view.sample_delivered_pkts > 0 and view.sample_interval_us > 0:
            self.rate = max(self.rate, rate_of(view.sample_delivered_pkts, view.sample_interval_us))
        self.w = clamp_w(window(self.rate, u32(self.T + self.level(self.rate))))
        self.drain_interval_us = max(DRAIN_FIRST_US, saturate(8 * self.T))
        self.loss_ppm = 0
        if self.base_us[0] != NO_RTT:
            self.base_us[1] = NO_RTT
        self.enter_drain(view)

    def enter_drain(self, view):
        low_us = sub_floor(self.low_rtt_us, self.T)
        late = u64(view.now_us + self.T) >= u64(self.low_at_us + SOON_US)
        self.mode = DRAIN
        self.before_us = self.queue_us if self.competing else self.mean_us_16 // 16
        self.probing = self.competing or (late and self.is_starved())
        differ_us = low_us - self.before_us if low_us > self.before_us else self.before_us - low_us
        self.still = self.mean_rounds >= 2 and differ_us < self.before_us // 8
        self.drain_seen_us = u64(view.now_us + self.T + self.queue_us)
        self.drain_end_us = u64(view.now_us + self.T + DRAIN_US + (self.queue_us if self.probing else 0))
        self.drain_sum_us = 0
        self.drain_blocks = 0
        self.drain_least_us = NO_RTT
        self.low_rtt_us = NO_RTT

    # Section 6.2.5, steady

    def steady(self, view):
        if self.drain_is_due(view):
            self.enter_drain(view)
            return
        if self.sees_empty_queue(view):
            self.exchange(view)
        if not self.round_start:
            return
        self.limited = u32(self.max_inflight_pkts + 2) >= (self.w >> W_SHIFT) * 7 // 8
        self.max_inflight_pkts = 0
        if self.settle_rounds != 0:
            self.settle_rounds = self.settle_rounds - 1
        else:
            self.steer(view)

    def drain_is_due(self, view):
        interval_us = self.drain_interval_us
        if self.p.detection_drains != 0 and self.mean_us_16 // 16 > CROWD_US:
            interval_us = min(interval_us, SOON_US)
        if self.rise_us != 0:
            return False  # a verification is under way
        return (self.p.drain_interval != 0 and self.limited and self.low_rtt_us != NO_RTT
                and self.settle_rounds == 0
                and u64(view.now_us + self.T) >= u64(self.low_at_us + interval_us))

    def steer(self, view):
        level_us = self.level(self.rate)
        price_us = self.price(level_us)
        self.mean_rounds = min(self.mean_rounds + 1, 255)
        if self.mean_rounds == 1:
            self.mean_us_16 = u32(16 * self.queue_us)
        else:
            self.mean_us_16 = u32(self.mean_us_16 + u32(16 * self.queue_us) // 8 - self.mean_us_16 // 8)
        self.best_rate = max(self.best_rate, self.rate)
        if self.competing:
            self.compete(view)
        elif price_us <= level_us:
            self.grow(level_us, price_us)
        else:
            self.shrink(level_us, price_us)
        if self.is_starved():
            self.w = clamp_w(max(self.w, window(STARVED_RATE, self.T + self.queue_us)))

    def grow(self, level_us, price_us):
        step = self.steer_step(level_us - price_us, level_us)
        if price_us < level_us // 4:
            self.low_rounds = min(self.low_rounds + 1, GROWTH_MOST)
        else:
            self.low_rounds = 0
        step = max(step, div(self.w * self.low_rounds, self.p.growth_rounds))
        if self.limited:
            self.w = clamp_w(self.w + min(step, self.w // 4))

    def shrink(self, level_us, price_us):
        step = self.steer_step(price_us - level_us, level_us)
        if self.queue_us > level_us:
            least = 0
        else:
            least = window(self.rate, u32(self.T + self.queue_us)) // 8 * 7
        self.low_rounds = 0
        if self.w > least:
            self.w = clamp_w(self.w - min(step, self.w - least, self.w // 4))

    # Appendix A.5, price

    def price(self, level_us):
        cost = u64(self.loss_ppm * min(level_us, LOSS_MOST_US)
                   + sub_floor(self.loss_ppm, u32(2 * self.p.loss_full)) * level_us)
        return saturate(self.queue_us + div(cost, self.p.loss_full))

    # Appendix A.6, steering

    def steer_step(self, error_us, level_us):
        scaled = (self.w * self.p.gain) >> 8
        return div(u64(scaled * error_us), self.T + level_us)

    # Section 6.2.6, exchange

    def sees_empty_queue(self, view):
        if (not self.pair_fresh or self.competing or self.mean_rounds < MEAN_ROUNDS
                or view.now_us < u64(self.exchanged_us + EXCHANGE_US)):
            return False
        self.pair_fresh = False
        level_us = self.level(self.rate)
        return (self.low_rtt_us != NO_RTT and self.pair_us < u32(self.T + level_us // 4)
                and self.mean_us_16 // 16 > level_us // 2)

    def exchange(self, view):
        gain = self.exchange_gain()
        far_off = (self.mean_rounds >= MEAN_ROUNDS
                   and (gain > FAR_OFF_256 or gain * FAR_OFF_256 < 256 * 256))
        if not self.limited or self.loss_ppm > self.p.loss_full // 2:
            gain = min(gain, 256)
        if self.p.exchange != 0 and not self.competing and self.mean_rounds >= MEAN_ROUNDS:
            gain = max(min(gain, EXCHANGE_MOST_256), EXCHANGE_LEAST_256)
            self.w = clamp_w((self.w * gain) >> 8)
        self.mean_rounds = 0
        self.low_rounds = 0
        self.settle_rounds = SETTLE_ROUNDS
        self.exchanged_us = view.now_us
        return far_off

    # Appendix A.7, exchange

    def exchange_gain(self):
        return saturate(div(self.level(self.rate) << 12, max(self.mean_us_16, 1)))

    # Section 6.2.7, drain

    def drain(self, view):
        if view.now_us < self.drain_end_us:
            return
        if self.probing and self.drain_blocks == 0 and view.now_us < u64(self.drain_end_us + WAIT_US):
            return
        self.mode = STEADY
        if self.p.detection_drains != 0 and self.drain_blocks != 0 and self.before_us != 0:
            self.classify_drain(view)
        self.drain_interval_us = min(saturate(2 * self.drain_interval_us), self.p.drain_interval)
        if self.exchange(view):
            self.drain_interval_us = min(self.drain_interval_us, SOON_US)

    # Section 6.2.8, outputs

    def set_controls(self, view, decision):
        if self.mode != DRAIN:
            out = self.w
        elif self.competing:
            out = self.shallow_window()
        else:
            out = max(window(self.rate, self.left_time()), W_LEAST // 4)
        out = min(out, W_MOST)
        if self.mode == STARTUP:
            gain = STARTUP_GAIN_256
        elif self.competing:
            gain = COMPETE_GAIN_256
        elif out < FEW_PKTS << W_SHIFT:
            gain = 256
        else:
            gain = self.p.pacing_gain
        decision["pacing_rate_Bps"] = pacing_rate(out, gain, self.pacing_rtt(view), view)
        decision["cwnd_pkts"] = u32(max((out >> W_SHIFT) + self.gap_pkts(), CWND_LEAST_PKTS))
        decision["min_burst_pkts"] = MIN_BURST_PKTS

    def left_time(self):
        if self.probing or self.before_us <= CROWD_US:
            return self.T // 4
        return max(self.T // 4, sub_floor(self.T, CROWD_DRAIN_US))

    def pacing_rtt(self, view):
        if self.mode == STARTUP:
            return view.srtt_us if view.srtt_us != 0 else 1000
        if self.competing:
            return u32(self.T + self.queue_us)
        if self.mode == DRAIN:
            return self.T
        if self.w < FEW_PKTS << W_SHIFT:
            return u32(self.T + u32(self.queue_us + self.level(self.rate)) // 2)
        return u32(self.T + self.queue_us)

    def gap_pkts(self):
        if self.p.fill_gaps == 0 or self.mode != STEADY:
            return 0
        return (self.rate * min(self.last_gap_us, GAP_MOST_US)) >> RATE_SHIFT

    # Section 6.3, RESTART

    def restart(self, view):
        if not view.app_limited:
            return
        self.last_ack_us = view.now_us
        self.block_start_us = view.now_us
        self.block_sum_us = 0
        self.block_samples = 0
        self.round_start_us = view.now_us
        self.round_delivered_pkts = self.round_end_pkts = view.delivered_pkts
        self.low_at_us = view.now_us

    # Section 9.2, starved flows

    def is_starved(self):
        mean_us = self.mean_us_16 // 16
        most_us = (self.level(self.best_rate) * STARVED_GAIN_256) >> 8
        return (self.p.detection_drains != 0 and self.rate <= self.best_rate // 4 and mean_us > CROWD_US
                and mean_us > most_us)

    # Section 9.3, CUBIC; widths in Appendix A.9

    def follow_cubic(self, view):
        if self.cut_rounds != 0:
            self.cut_rounds = self.cut_rounds - 1
            return
        if self.round_lost:
            if self.w < self.w_max:
                self.w_max = (self.w * CONVERGE_1024) >> 10
            else:
                self.w_max = self.w
            self.w = clamp_w((self.w * BETA_1024) >> 10)
            self.start_curve(view)
            return
        t_ms = min(mul_shift(u64(view.now_us - self.cubic_start_us + self.T), TO_MS, 32), T_MOST_MS)
        if t_ms < self.k_ms:
            from_k_ms = self.k_ms - t_ms
        else:
            from_k_ms = t_ms - self.k_ms
        rise = (from_k_ms * from_k_ms * 2 // 5 * from_k_ms) >> 20
        if t_ms >= self.k_ms:
            target = self.w_max + rise
        else:
            target = self.w_max - rise if self.w_max > rise else 0
        self.w_reno = min(self.w_reno + RENO_SLOPE, W_MOST)
        target = max(target, self.w_reno)
        if target > self.w and self.limited:
            self.w = clamp_w(self.w + min(target - self.w, self.w // 2))

    def start_curve(self, view):
        below = min(self.w_max - self.w if self.w_max > self.w else 0, 1 << 34)
        self.cubic_start_us = view.now_us
        self.w_reno = self.w
        self.cut_rounds = 1
        self.k_ms = cube_root((below * 5 // 2) << 20)

    # Section 9.4, classification of a drain

    def classify_drain(self, view):
        if self.competing:
            rtt_us = u32(self.drain_sum_us // self.drain_blocks)
            most_us = self.before_us // 16 * 7
        else:
            rtt_us = self.drain_least_us
            most_us = self.before_us // 2
        if sub_floor(rtt_us, self.T) < most_us:
            self.count_joined_drain()
        else:
            self.count_lone_drain(view)

    def count_joined_drain(self):
        self.lone_drains = 0
        self.still_drains = 0
        if not self.competing:
            return
        self.joined_drains = self.joined_drains + 1
        if self.joined_drains < LEAVE_DRAINS:
            return
        self.joined_drains = 0
        self.competing = False
        self.w = clamp_w(window(self.rate, u32(self.T + self.level(self.rate))))

    def count_lone_drain(self, view):
        self.joined_drains = 0
        if not self.probing or self.competing:
            return
        if (self.lone_drains == 0 or self.before_us > u32(self.lone_queue_us // 2 * 3)
                or self.before_us < self.lone_queue_us // 2):
            self.lone_queue_us = self.before_us
            self.lone_drains = 0
            self.still_drains = 0
        self.lone_drains = self.lone_drains + 1
        if self.still:
            self.still_drains = self.still_drains + 1
        if self.lone_drains < self.p.detection_drains:
            return
        if self.still_drains + 1 < self.p.detection_drains:
            self.enter_competing(view)
            return
        base = u32(self.T + sub_floor(self.before_us, u32(self.level(self.best_rate) // 4 * 3)))
        self.base_us[0] = base
        self.base_us[1] = base
        self.lone_drains = 0
        self.still_drains = 0

    # Section 9.5, verification; widths in Appendix A.9

    def enter_competing(self, view):
        self.competing = True
        self.w_before = self.w
        self.w = clamp_w(max(self.w, window(self.best_rate // 2, u32(self.T + self.before_us))))
        self.rise_us = saturate(div((self.w - self.w_before) << 14, max(self.best_rate, 1)))
        self.verify_sum_us = 0
        self.verify_rounds = 0
        self.verify_lost_pkts = view.lost_pkts
        self.w_max = self.w
        self.start_curve(view)

    def compete(self, view):
        if view.lost_pkts != self.verify_lost_pkts:
            self.rise_us = 0
        if self.rise_us != 0:
            self.verify(view)
        else:
            self.follow_cubic(view)

    def verify(self, view):
        self.verify_rounds = self.verify_rounds + 1
        if self.verify_rounds <= VERIFY_ROUNDS:
            return
        self.verify_sum_us = u64(self.verify_sum_us + self.queue_us)
        if view.now_us < u64(self.cubic_start_us + VERIFY_US) or self.verify_rounds < 2 * VERIFY_ROUNDS:
            return
        mean_us = u32(div(self.verify_sum_us, self.verify_rounds - VERIFY_ROUNDS))
        if sub_floor(mean_us, self.before_us) < self.rise_us // RISE_PART:
            self.cancel_competing()
        else:
            self.start_curve(view)
        self.rise_us = 0

    def cancel_competing(self):
        self.competing = False
        self.best_rate = self.best_rate // 2
        self.lone_drains = 0
        self.still_drains = 0
        self.w = clamp_w(self.w_before)
        self.settle_rounds = SETTLE_ROUNDS

    # Section 9.6, the shallow drain

    def shallow_window(self):
        return div(u64(self.w * (self.T + self.before_us // 4)), self.T + self.before_us)
