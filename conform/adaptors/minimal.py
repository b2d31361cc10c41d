#!/usr/bin/env python3
"""An adaptor for `fairpace conform` in Python: STARTUP and DRAIN of BBRv3, as draft-ietf-ccwg-bbr-06 has them.

    fairpace conform -- python3 conform/adaptors/minimal.py

It shows the protocol with an algorithm that is real, but ends where PROBE_BW begins: there it cruises for ever. It says so of
the cases that need more. It uses the runner's delivery rate samples; a stack with a sampler of its own ignores them.
"""

import json
import sys

STARTUP_PACING_GAIN = 2.77  # section 5.3.1.1
DRAIN_PACING_GAIN = 0.5  # section 5.3.2
CWND_GAIN = 2  # section 5.6.1
PACING_MARGIN = 0.99  # section 5.6.2
APPLICABLE = {"A.1", "A.3", "A.4"}


class Bbr:
    def __init__(self, init):
        self.mss = init["mss_bytes"]
        self.cwnd = init["initial_cwnd_bytes"]
        self.state = "STARTUP"
        self.max_bw = 0.0  # bytes per second
        self.min_rtt = None  # microseconds
        self.full_bw, self.full_bw_count = 0.0, 0
        self.next_round_delivered, self.rounds, self.drain_start_round = 0, 0, 0
        self.pacing_rate = STARTUP_PACING_GAIN * self.cwnd / 1e-3  # no RTT yet: 1 ms

    def inflight(self, gain):
        """Section 5.6.4.2, without the budgets for offload and aggregation."""
        if self.min_rtt is None:
            return self.cwnd
        return max(gain * self.max_bw * self.min_rtt / 1e6, 4 * self.mss)

    def on_ack(self, ack):
        sample = ack["sample"]
        round_start = sample["prior_delivered_bytes"] >= self.next_round_delivered
        if round_start:
            self.next_round_delivered = sample["total_delivered_bytes"]
            self.rounds += 1
        if self.min_rtt is None or ack["rtt_us"] < self.min_rtt:
            self.min_rtt = ack["rtt_us"]
        if sample["interval_us"] > 0:
            rate = sample["delivered_bytes"] * 1e6 / sample["interval_us"]
            if rate >= self.max_bw or not sample["app_limited"]:
                self.max_bw = max(self.max_bw, rate)
            if self.state == "STARTUP" and round_start and not sample["app_limited"]:
                self.check_full_bw_reached(rate)
        if self.state == "DRAIN" and (
            ack["in_flight_bytes"] <= self.inflight(1) or self.rounds > self.drain_start_round + 3
        ):
            self.state = "PROBE_BW_DOWN" if ack["in_flight_bytes"] > self.inflight(1) else "PROBE_BW_CRUISE"
        acked = sum(last - first + 1 for first, last in ack["acked"] + ack["late"]) * self.mss
        self.update_control(acked)

    def check_full_bw_reached(self, rate):
        """Section 5.3.1.2."""
        if rate >= 1.25 * self.full_bw:
            self.full_bw, self.full_bw_count = rate, 0
            return
        self.full_bw_count += 1
        if self.full_bw_count >= 3:
            self.state, self.drain_start_round = "DRAIN", self.rounds

    def update_control(self, acked):
        gain = {"STARTUP": STARTUP_PACING_GAIN, "DRAIN": DRAIN_PACING_GAIN, "PROBE_BW_DOWN": 0.9}.get(self.state, 1)
        rate = gain * self.max_bw * PACING_MARGIN
        if self.state != "STARTUP" or rate > self.pacing_rate or self.max_bw * 1e-3 < self.mss:
            self.pacing_rate = max(rate, 1.0)
        self.cwnd = max(min(self.cwnd + acked, self.inflight(CWND_GAIN)), 4 * self.mss)

    def control(self):
        control = {"cwnd_bytes": int(self.cwnd), "pacing_rate_Bps": int(self.pacing_rate), "state": self.state}
        if self.max_bw > 0:
            control["bw_Bps"] = int(self.max_bw)
        if self.min_rtt is not None:
            control["min_rtt_us"] = self.min_rtt
        return control


def main():
    bbr = None
    for line in sys.stdin:
        request = json.loads(line)
        event = request["event"]
        if event == "hello":
            answer = {"protocol": "fairpace.conform/1", "name": "minimal.py", "version": "1", "supports": []}
        elif event == "init" and request["case"] not in APPLICABLE:
            answer = {"not_applicable": "this example has no PROBE_BW, no PROBE_RTT and no reaction to loss"}
        else:
            if event == "init":
                bbr = Bbr(request)
            elif event == "ack":
                bbr.on_ack(request)
            answer = bbr.control()
        answer["seq"] = request["seq"]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
