"""Every key of a scenario, typed. ``make docs`` writes this file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ._units import (
    AlgorithmName, Buffer, FilePath, Frequency, Limit, Parameters, Rate, Share, Size, Steps, Time
)

__all__ = ["Flow", "Link", "ScenarioKeys", "Window"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The measurement window: metrics cover it.

    :param from_: Start of the measurement window: metrics cover the run from here. (time: ns, us, ms, s, min or h; 0s
        to 86400s.) Default: 20s, or a third of a run shorter than 60s.
    :param to: End of the measurement window. (time: ns, us, ms, s, min or h; 0s to 86400s.) Default: the run's end.
    """

    from_: Time | None = None
    to: Time | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """A link: a transmitter of a rate behind a queue.

    :param name: Name in results. (text; 1 to 64 characters.) Default: ``bottleneck`` for the only link, else ``link1``,
        ``link2``, ....
    :param from_: The node that it leads from. Naming a node creates it. Needs ``to``. (text; 1 to 64 characters.)
        Default: no node.
    :param to: The node that it leads to: a link leads one way. Needs ``from``. (text; 1 to 64 characters.) Default: no
        node.
    :param rate: Rate on the wire. A packet counts its IP length and 14 bytes of Ethernet header. Left out with a
        ``trace``. (rate: bit, kbit, mbit or gbit; 1kbit to 400gbit.) Must be given, unless another key takes its place.
    :param trace: Delivery opportunities in place of a rate, in the format of Mahimahi: a line for each, with its time
        in ms, in order, at which 1514 bytes may leave: a full packet with its Ethernet header (Mahimahi counts 1504
        bytes for the same packet). They come again after the last one's time. The rate, for a ``buffer`` in ``bdp`` or
        of a time too, is their mean. Not with ``rate``, ``rate_at``, ``burst``. (file, by its path from the scenario
        file's folder; 1 to 4096 characters.) Default: the rate is ``rate``.
    :param burst: A token bucket of this size, full at the start, shapes to the rate: after a pause, this much passes at
        once. (size: B, kB, MB, GB, KiB, MiB or GiB; 1514B to 16GB.) Default: no token bucket: each packet takes its
        time at the rate.
    :param buffer: How much the queue holds, headers included; further packets are dropped. ``100pkts`` are 100 packets
        of any size; ``1.5bdp`` is 1.5 times this link's rate times ``bdp_rtt``. ``300ms`` is what the link carries in
        this time at its ``rate``, of a ``trace`` at its mean, whatever ``rate_at`` makes of it later: a full queue
        delays by 300 ms, as ``latency`` of Linux's tbf, which adds its bucket to the limit. (size: B, kB, MB, GB, KiB,
        MiB or GiB; or pkts, bdp, or a time; 1514B to 16GB.) Must be given.
    :param bdp_rtt: The RTT by which a ``buffer`` in ``bdp`` is computed. (time: ns, us, ms, s, min or h; 10us to 10s.)
        Default: the longest RTT among the flows.
    :param queue: Which packets wait, are dropped or marked: first in first out; a FIFO that marks above a ``step``;
        random early detection by the rules of Linux (``red``) or of Floyd and Jacobson 1993; CoDel (RFC 8289), FQ-CoDel
        (RFC 8290), PIE (RFC 8033); two coupled queues, one for L4S, ``dualpi2`` (RFC 9332). (word; fifo, step, red,
        red_floyd, codel, fq_codel, pie, dualpi2.) Default: fifo.
    :param ecn: For red, red_floyd, codel, fq_codel, pie. Marks ECN-capable packets instead of dropping them. (true or
        false.) Default: true for fq_codel, else false.
    :param mark_above: For step. An ECN-capable packet that finds more than this waiting is marked (K in RFC 8257).
        (size: B, kB, MB, GB, KiB, MiB or GiB; or pkts; 1B to 16GB.) Default: must be given with ``step``.
    :param red_min: For red, red_floyd. Below this average backlog nothing is dropped early. (size: B, kB, MB, GB, KiB,
        MiB or GiB; 1B to 4GB.) Default: a third of ``red_max``, as tc.
    :param red_max: For red, red_floyd. Above this average backlog everything is dropped. (size: B, kB, MB, GB, KiB, MiB
        or GiB; 1B to 4GB.) Default: a quarter of ``buffer``, or three times ``red_min``, as tc.
    :param red_probability: For red, red_floyd. The drop probability at an average just below ``red_max``. (percentage:
        ppb, ppm or %; 1ppb to 100%.) Default: 2%.
    :param red_burst: For red, red_floyd. Full packets that may arrive at once at an empty queue without early drops; it
        sets the weight of the average (tc's ``burst``, with 1514 bytes for ``avpkt``). (whole number; 1 to 4000000.)
        Default: (2 ``red_min`` + ``red_max``) / 3 in full packets, as tc.
    :param red_gentle: For red_floyd. From ``red_max`` to twice of it the probability grows to one. (true or false.)
        Default: false.
    :param target: For codel, fq_codel, pie, dualpi2. The acceptable queueing delay of a standing queue. (time: ns, us,
        ms, s, min or h; 1us to 10s.) Default: 5ms; 15ms for pie and dualpi2.
    :param codel_interval: For codel, fq_codel. For how long ``target`` may be exceeded; about the longest RTT. (time:
        ns, us, ms, s, min or h; 1us to 10s.) Default: 100ms.
    :param ce_threshold: For codel, fq_codel. An ECN-capable packet that waited for longer is marked, independently of
        ``target``. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: none.
    :param ce_threshold_l4s: For codel, fq_codel. ``ce_threshold`` is for ECT(1) packets only: L4S (Linux:
        ``ce_threshold_selector 0x1/0x3``). Needs ``ce_threshold``. (true or false.) Default: false.
    :param fq_buckets: For fq_codel. Queues that connections are hashed to, also those of one workload. (whole number; 1
        to 65536.) Default: 1024.
    :param fq_quantum: For fq_codel. What a queue may send in its turn. (size: B, kB, MB, GB, KiB, MiB or GiB; 256B to
        1048576B.) Default: 1514B.
    :param pie_update: For pie. From one computation of the drop probability to the next. (time: ns, us, ms, s, min or
        h; 100us to 10s.) Default: 15ms.
    :param dualpi2_update: For dualpi2. From one computation of the probability to the next (Tupdate of RFC 9332).
        (time: ns, us, ms, s, min or h; 1ms to 10s.) Default: ``target``, or a third of ``dualpi2_rtt_max`` if that is
        less.
    :param dualpi2_rtt_max: For dualpi2. The worst RTT, from which the gains of the controller follow (RTT_max of RFC
        9332). (time: ns, us, ms, s, min or h; 1ms to 10s.) Default: 100ms.
    :param dualpi2_coupling: For dualpi2. How much more the queue of L4S marks than the root of the drop probability of
        Classic packets (k of RFC 9332). (whole number; 1 to 100.) Default: 2.
    :param dualpi2_ramp_from: For dualpi2. The delay of L4S packets above which they are marked (minTh of RFC 9332); at
        least the time of a full packet on the link. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 800us.
    :param dualpi2_ramp_range: For dualpi2. From there to the delay at which all are marked (range of RFC 9332); 0 is a
        step. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 400us.
    :param dualpi2_classic_share: For dualpi2. What Classic packets get of the link at least while L4S packets wait
        (Linux: ``classic_protection``). (percentage: ppb, ppm or %; 0% to 100%.) Default: 10%.
    :param rate_at: Later rates; 0 is an outage, after which the waiting packets leave. (steps, as in ``10s 20mbit, 20s
        100mbit``; 0bit to 400gbit.) Default: the rate never changes.
    :param outages: What an outage by ``rate_at`` or ``handover_outage`` does: packets wait (``hold``), or it loses
        (``lose``) those that arrive meanwhile, which count as dropped, and the one that is in transmission when it
        begins. What waits then leaves afterwards. A line that breaks while the link sends on is ``loss_at = "10s 100%,
        10.5s 0%"``. (word; hold, lose.) Default: hold.
    :param policer_rate: A policer in front of the queue drops what exceeds this rate on the wire and ``policer_burst``.
        Needs ``policer_burst``. (rate: bit, kbit, mbit or gbit; 1kbit to 400gbit.) Default: no policer.
    :param policer_burst: Size of the policer's token bucket, which is full at the start. Needs ``policer_rate``. (size:
        B, kB, MB, GB, KiB, MiB or GiB; 1514B to 16GB.) Default: must be given with ``policer_rate``.
    :param loss: Share of the packets that are lost at random behind the queue, as by bit errors: each has used the
        link. (percentage: ppb, ppm or %; 0% to 100%.) Default: 0%.
    :param loss_burst: Losses come in bad periods of this mean length, with a good line between them. Of a time,
        ``"17ms"``: the line is bad for that long whatever is sent, as by fading or interference; also the mean share of
        the time is ``loss``. Of a number of packets, ``17`` (Gilbert's model): the next packets are lost, be they sent
        in 17 ms or in an hour, so that a sender that backs off stays in one burst; a run or mean that such a burst
        decides has a note. To repeat models by packets, or for senders that never back off; else write a time, as of
        that many packets at the link's rate. (whole number of packets, or time: ns, us, ms, s, min or h; 1 to 1000000
        or 1us to 3600s.) Default: losses are independent of each other.
    :param loss_in_burst: Share of the packets that a bad period loses. Needs ``loss_burst``. (percentage: ppb, ppm or
        %; 1ppb to 100%.) Default: 100%.
    :param loss_outside_burst: Share of the packets that the good line between them loses (Elliott's model); less than
        ``loss``. Needs ``loss_burst``. (percentage: ppb, ppm or %; 0% to 100%.) Default: 0%.
    :param loss_at: Later values of ``loss``, each from its time on: ``10s 30%, 10.5s 0%`` loses three packets of ten
        for half a second. The time is that at which the last bit of a packet leaves the link, which sends on while 100%
        is lost. Not with ``loss_burst``. (steps, as in ``10s 30%, 20s 1%``; 0% to 100%.) Default: ``loss`` never
        changes.
    :param loss_trace: ``loss`` and ``loss_at`` from a file with two columns: seconds, which grow, and the share (0 to
        1) of packets lost from then on. Before the first line nothing is lost; the last one holds to the end of the
        run. ``#`` begins a comment. Not with ``loss``, ``loss_at``, ``loss_burst``. (file, by its path from the
        scenario file's folder; 1 to 4096 characters.) Default: ``loss`` and ``loss_at``.
    :param delay: Propagation delay behind the link: part of the RTT of each flow that takes it. (time: ns, us, ms, s,
        min or h; 0s to 10s.) Default: 0s.
    :param jitter: Extra delay of each packet behind the link, uniformly random from 0 to this, or by
        ``jitter_distribution``. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 0s.
    :param jitter_distribution: ``normal``: ``delay`` is the mean and ``jitter`` the standard deviation, as in ``tc
        netem delay 100ms 10ms distribution normal``. Values more than four deviations from the mean are drawn again,
        and none is below 0; netem's table ends at four deviations, too. A packet waits for those ahead of it, unless
        ``reorders``. Needs ``jitter``. (word; uniform, normal.) Default: uniform.
    :param jitter_correlation: Part ``c`` of the jitter that a packet takes over from the packet before, as in netem: c
        times the last value and 1 - c times a new one. The mean stays, and the standard deviation is the root of (1 -
        c) / (1 + c) of that without. Needs ``jitter``. (percentage: ppb, ppm or %; 0% to 99%.) Default: 0%.
    :param reorders: Packets may overtake each other by their ``jitter``; otherwise they keep their order. Needs
        ``jitter``. (true or false.) Default: false.
    :param duplicate: Share of the packets that arrive twice. (percentage: ppb, ppm or %; 0% to 100%.) Default: 0%.
    :param wifi_jitter: Extra delay of each packet behind the link, in order, as on Wi-Fi whose channel other networks
        use: mostly milliseconds, and for some packets about 90 ms; for ``1ms`` there are none of these. About this on
        average, before packets wait for those ahead (draft-huitema-ccwg-c4-test, "Handling of High Jitter
        Environments"). Not with ``jitter``, ``handover_delay``. (time: ns, us, ms, s, min or h; 1ms to 91ms.) Default:
        no Wi-Fi.
    :param handover_every: The link changes at multiples of this time, as that to a satellite in a low orbit: 15 s on
        Starlink (Mohan et al., WWW 2024). What it changes to is random, and uniformly distributed. Not with ``trace``,
        ``rate_at``, ``burst``. (time: ns, us, ms, s, min or h; 1s to 3600s.) Default: no handovers.
    :param handover_rate: After each handover the link has a rate from this to ``rate``. Needs ``handover_every``.
        (rate: bit, kbit, mbit or gbit; 1kbit to 400gbit.) Default: the rate stays.
    :param handover_delay: After each handover packets take from 0 to this longer behind the link, until the next; the
        order stays. Before the first they take no longer. Needs ``handover_every``. Not with ``reorders``. (time: ns,
        us, ms, s, min or h; 0s to 10s.) Default: the delay stays.
    :param handover_outage: At each handover nothing leaves the link for this long; packets wait, unless ``outages``
        says more. Needs ``handover_every``. (time: ns, us, ms, s, min or h; 0s to 3600s.) Default: no outage.
    :param cellular_spread: The rate varies at random, as that of a cellular link: each 100 ms it has another value,
        whose logarithm is a random walk that returns to its mean. This is the standard deviation of the rate as a part
        of its mean. The mean over the run is exactly ``rate``, with each seed. Not with ``trace``, ``rate_at``,
        ``burst``, ``handover_every``. (percentage: ppb, ppm or %; 1% to 300%.) Default: the rate does not vary.
    :param cellular_memory: After this time the autocorrelation of the logarithm of the cellular rate has fallen to 1/e.
        Needs ``cellular_spread``. (time: ns, us, ms, s, min or h; 10ms to 3600s.) Default: 2 s.
    :param cellular_outage: Mean length of outages, in which nothing leaves the link and packets wait. Lengths are
        multiples of 100 ms, at random: each is followed by another 100 ms with the same probability. Needs
        ``cellular_spread``, ``cellular_outage_every``. (time: ns, us, ms, s, min or h; 100ms to 3600s.) Default: no
        outages.
    :param cellular_outage_every: Mean time from the end of an outage to the next outage, which begins at random. Needs
        ``cellular_outage``. (time: ns, us, ms, s, min or h; 100ms to 3600s.) Default: no outages.
    """

    name: str | None = None
    from_: str | None = None
    to: str | None = None
    rate: Rate | None = None
    trace: FilePath | None = None
    burst: Size | None = None
    buffer: Buffer
    bdp_rtt: Time | None = None
    queue: Literal["fifo", "step", "red", "red_floyd", "codel", "fq_codel", "pie", "dualpi2"] | None = None
    ecn: bool | None = None
    mark_above: Limit | None = None
    red_min: Size | None = None
    red_max: Size | None = None
    red_probability: Share | None = None
    red_burst: int | None = None
    red_gentle: bool | None = None
    target: Time | None = None
    codel_interval: Time | None = None
    ce_threshold: Time | None = None
    ce_threshold_l4s: bool | None = None
    fq_buckets: int | None = None
    fq_quantum: Size | None = None
    pie_update: Time | None = None
    dualpi2_update: Time | None = None
    dualpi2_rtt_max: Time | None = None
    dualpi2_coupling: int | None = None
    dualpi2_ramp_from: Time | None = None
    dualpi2_ramp_range: Time | None = None
    dualpi2_classic_share: Share | None = None
    rate_at: Steps | None = None
    outages: Literal["hold", "lose"] | None = None
    policer_rate: Rate | None = None
    policer_burst: Size | None = None
    loss: Share | None = None
    loss_burst: int | Time | None = None
    loss_in_burst: Share | None = None
    loss_outside_burst: Share | None = None
    loss_at: Steps | None = None
    loss_trace: FilePath | None = None
    delay: Time | None = None
    jitter: Time | None = None
    jitter_distribution: Literal["uniform", "normal"] | None = None
    jitter_correlation: Share | None = None
    reorders: bool | None = None
    duplicate: Share | None = None
    wifi_jitter: Time | None = None
    handover_every: Time | None = None
    handover_rate: Rate | None = None
    handover_delay: Time | None = None
    handover_outage: Time | None = None
    cellular_spread: Share | None = None
    cellular_memory: Time | None = None
    cellular_outage: Time | None = None
    cellular_outage_every: Time | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """A flow: a connection, or with ``count`` or ``arrivals`` many.

    :param name: Name in results. The flows of a group are called ``NAME-1``, ``NAME-2``, ... (text; 1 to 64
        characters.) Default: the RTT, such as ``10ms``; ``10ms-2`` for the second of that name.
    :param cc: Congestion control: an algorithm of algorithms.md, or the path of a header of your own, which ends with
        ``.h``; or a variant of either with other parameters, ``bbr3:beta=0.5``. On the testbed also ``kernel:NAME``,
        one of the kernel's own. ``none``: the frames of ``media_rate`` over UDP, whatever the network does; keys of TCP
        have no effect. (name of an algorithm; 1 to 4096 characters.) Must be given.
    :param rtt: Round-trip time of the path, without queueing and transmission. (time: ns, us, ms, s, min or h; 10us to
        10s.) Must be given.
    :param route: The links that its data takes, in order. (list of names of links; 1 to 255 links.) Default: all links
        that no flow's ``reverse`` names, in the order of the file.
    :param from_: In place of ``route``: the node that its data leaves from. It takes the links with the least ``delay``
        in all; of several such routes the one with the fewest links; of these the one whose links come first in the
        file. Needs ``to``. (text; 1 to 64 characters.) Default: no node.
    :param to: The node that its data goes to. Needs ``from``. (text; 1 to 64 characters.) Default: no node.
    :param reverse: The links that its ACKs take, in order. (list of names of links; 0 to 255 links.) Default: none: its
        ACKs meet no queue.
    :param access_delay: Propagation delay from the sender to the first link: part of ``rtt``, as the ``delay`` of links
        is. Half of what is left is behind the last link, half on the way back. (time: ns, us, ms, s, min or h; 0s to
        10s.) Default: 0s.
    :param start: When it starts. (time: ns, us, ms, s, min or h; 0s to 86400s.) Default: 0s.
    :param stop: When it stops. (time: ns, us, ms, s, min or h; 0s to 86400s.) Default: the run's end.
    :param size: What the application sends in all; its completion time is reported. The simulator sends whole packets,
        of 1448 bytes with an ``mtu`` of 1500. (size: B, kB, MB, GB, KiB, MiB or GiB; 1B to 1000000GB.) Default: without
        end.
    :param on: The application has data for this long, then none for ``off``, and so on from the start. Needs ``off``.
        Not with ``write_rate``, ``size``. (time: ns, us, ms, s, min or h; 1ms to 86400s.) Default: always.
    :param off: See ``on``. Needs ``on``. (time: ns, us, ms, s, min or h; 1ms to 86400s.) Default: never.
    :param write_rate: The application writes at this mean rate, a chunk every ``write_every``: a live stream. What
        cannot be sent yet waits. (rate: bit, kbit, mbit or gbit; 1kbit to 400gbit.) Default: as fast as it goes.
    :param write_every: See ``write_rate``. Needs ``write_rate``. (time: ns, us, ms, s, min or h; 1ms to 86400s.)
        Default: 1s.
    :param response: The application answers requests with this much, one after the other; the first comes at the start.
        On the testbed a request is a packet with one byte of data; the simulator has no such packet. Not with ``size``,
        ``on``, ``write_rate``. (size: B, kB, MB, GB, KiB, MiB or GiB; 1B to 1000000GB.) Default: no requests.
    :param think: From the arrival of a whole ``response`` to the next request, which then travels to the sender. Needs
        ``response``. (time: ns, us, ms, s, min or h; 0s to 86400s.) Default: 0s.
    :param writes: The application writes this much at these times after ``start``, and no more: ``0s 100kB, 50ms
        20kB``. What cannot be sent yet waits. The simulator sends whole packets; each write begins one. The completion
        time of all is reported. Not with ``size``, ``on``, ``write_rate``, ``response``, ``arrivals``, ``media_rate``.
        (steps, as in ``10s 10kB, 20s 2MB``; 1B to 1000000GB.) Default: as fast as it goes.
    :param write_trace: ``writes`` from a file with two columns: seconds after ``start``, which grow, and bytes. ``#``
        begins a comment. Not with ``writes``, ``size``, ``on``, ``write_rate``, ``response``, ``arrivals``,
        ``media_rate``. (file, by its path from the scenario file's folder; 1 to 4096 characters.) Default: ``writes``.
    :param barrier: Flows with the same barrier are asked in rounds, as the servers of an incast: the next request of
        each follows ``think`` after the last of their responses of this round has arrived. A flow that has stopped or
        failed is not waited for. Needs ``response``. (text; 1 to 64 characters.) Default: a flow waits for no other.
    :param arrivals: It is a workload: connections arrive from ``start`` to ``stop`` at random, this many per second on
        average (a Poisson process). Needs ``sizes``. Not with ``size``, ``on``, ``write_rate``, ``response``,
        ``count``. (number per second: /s; 0.001/s to 1000000/s.) Default: it is one connection.
    :param sizes: What each connection of a workload sends: ``websearch``, ``datamining``, ``pareto``, or a file with
        two columns, bytes and the share (0 to 1) of sizes up to there, both growing; sizes are spread evenly between
        two lines. Needs ``arrivals``. (websearch, datamining, pareto, or a file, by its path from the scenario file's
        folder; 1 to 4096 characters.) Default: must be given with ``arrivals``.
    :param media_rate: The application is an encoder of audio or video (RFC 8593): it writes ``frames`` at this mean
        rate, and each has a ``deadline``. With ``cc = "none"`` a frame leaves at once, in UDP packets of RTP of up to
        ``mtu`` bytes, and is never repeated; else it waits for TCP, in whole packets. Results have ``media``. Not with
        ``size``, ``on``, ``write_rate``, ``response``, ``arrivals``. (rate: bit, kbit, mbit or gbit; 1kbit to 100mbit.)
        Default: no audio or video.
    :param frames: Frames of ``media_rate`` per second, at exact intervals from the start: 50 for audio in packets of 20
        ms. Needs ``media_rate``. (number per second: /s; 5/s to 1000/s.) Default: 30/s.
    :param frame_deviation: Scale of the Laplace distribution of the sizes of frames, as a part of the size and at most
        the whole size: ``0%`` for audio. Needs ``media_rate``. (percentage: ppb, ppm or %; 0% to 100%.) Default: 15%.
    :param key_every: The first frame and every one of this number after it is a key frame, which has ``key_weight``
        times the bytes; the mean rate stays. Needs ``media_rate``. (whole number; 1 to 10000.) Default: no key frames.
    :param key_weight: See ``key_every``. In RFC 8593 the first frame of a burst has about three times the bytes of
        others. Needs ``key_every``. (whole number; 1 to 20.) Default: 3.
    :param deadline: A frame of ``media_rate`` is late if its last packet arrives later than this after it was written:
        the playout buffer waits no longer. Up to 150 ms of one-way delay are acceptable to most users of a conversation
        (ITU-T G.114). Needs ``media_rate``. (time: ns, us, ms, s, min or h; 1ms to 10s.) Default: 150ms.
    :param receive_buffer: The receive window (rwnd): the sender never has more than this outstanding. Payload; whole
        packets count, of 1448 bytes with an ``mtu`` of 1500. Not with ``receive_buffer_max``. (size: B, kB, MB, GB,
        KiB, MiB or GiB; 1448B to 16GB.) Default: always large enough.
    :param receive_buffer_max: The receiver tunes the receive window, as Linux does: from 64 KiB up to this much
        payload. (size: B, kB, MB, GB, KiB, MiB or GiB; 65536B to 16GB.) Default: always large enough.
    :param rtt_at: Later round-trip times, as by a change of the route. Packets keep their order. (steps, as in ``10s
        80ms, 20s 50ms``; 10us to 10s.) Default: the RTT never changes.
    :param reorder: Share of the data packets that take ``reorder_delay`` longer behind the links, so that others
        overtake them. Needs ``reorder_delay``. (percentage: ppb, ppm or %; 1ppb to 100%.) Default: no packet is
        overtaken.
    :param reorder_delay: See ``reorder``. Needs ``reorder``. (time: ns, us, ms, s, min or h; 1us to 10s.) Default: must
        be given with ``reorder``.
    :param ack_jitter: Extra delay of each ACK, uniformly random from 0 to this, or by ``ack_jitter_distribution``; ACKs
        keep their order. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 0s.
    :param ack_jitter_distribution: ``normal``: the time of an ACK from the receiver, or its last link, to the sender is
        the mean, and ``ack_jitter`` the standard deviation. As ``jitter_distribution`` of a link. Needs ``ack_jitter``.
        (word; uniform, normal.) Default: uniform.
    :param ack_jitter_correlation: Part of the jitter that an ACK takes over from the ACK before. As
        ``jitter_correlation`` of a link. Needs ``ack_jitter``. (percentage: ppb, ppm or %; 0% to 99%.) Default: 0%.
    :param ack_aggregation: ACKs are held back and come together at multiples of this time, as over Wi-Fi or a cellular
        uplink. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 0s.
    :param host_jitter: Processing delay of each ACK at the sending host, uniformly random from 0 to this and in order:
        the noise of real hosts. (time: ns, us, ms, s, min or h; 0s to 10s.) Default: 0s.
    :param ack_loss: Share of the flow's ACKs that are lost at random. (percentage: ppb, ppm or %; 0% to 100%.) Default:
        0%.
    :param tso_loss: Share of the sender's bursts that are lost whole before the first link, as by the full queue of a
        network card or of virtio, which drops an skb of up to 64 kB. A burst is what a connection sends at one time, up
        to 64 kB of it: with ``tso = false`` and pacing a single packet. (percentage: ppb, ppm or %; 0% to 100%.)
        Default: 0%.
    :param drop: Packets that vanish between their host and the first link, each counted from 1 in the order of sending:
        ``data 9`` is the ninth full segment of new data, ``data 9-10`` are two, ``data 40 twice`` is also the first
        retransmission of this segment, be it a tail loss probe; ``ack 3`` is the receiver's third pure ACK, ``syn 2``
        the second SYN, ``synack 1`` the first SYN-ACK. On the testbed ``data N`` is what begins in the N-th full
        segment of the sequence space, 1448 bytes with an ``mtu`` of 1500. Each flow of a ``count`` loses its own. What
        is never sent is named in the results (json.md). Not with ``arrivals``. (list of packets: data, ack, syn or
        synack with a number; 0 to 1000 entries.) Default: no packet.
    :param ecn: ECN: not used; ``classic`` (RFC 3168: a mark is answered like a loss, once per round trip); with the
        exact echo of marks of ``dctcp`` (RFC 8257); ``accurate``, with a count of marks on every ACK (AccECN, RFC
        9768); or ``l4s``, the same with packets that are ECT(1) (RFC 9331). On the testbed ``accurate`` and ``l4s``
        need Linux 7.0, and ``dctcp`` makes ACKs ECN-capable. (word; off, classic, dctcp, accurate, l4s.) Default: off.
    :param accecn_option: ACKs of ``ecn = "accurate"`` and ``"l4s"`` have the AccECN option, where it fits. Without, as
        where a middlebox strips it: only the three bits of the ACE field, which is ambiguous when ACKs are lost. On the
        testbed all flows have one sending host, and so the same value. Needs ``ecn``. (true or false.) Default: true.
    :param sack: Selective acknowledgments (RFC 2018). Without: NewReno (RFC 6582), without ``rack`` and ``tlp``. On the
        testbed all flows have one sending host, and so the same value. (true or false.) Default: true.
    :param rack: Losses are found by time (RFC 8985). Without: by three duplicates (RFC 6675). Needs ``sack = true``.
        (true or false.) Default: true.
    :param tlp: Tail loss probes (RFC 8985). Needs ``sack = true``. (true or false.) Default: true.
    :param frto: Detection of spurious timeouts (RFC 5682). (true or false.) Default: true.
    :param undo: Reductions are undone when they turn out to be spurious. (true or false.) Default: true.
    :param prr: Proportional rate reduction (RFC 9937), for algorithms that leave reductions to the host. Without: cwnd
        falls at once. (true or false.) Default: true.
    :param idle_restart: cwnd decays while nothing is sent (RFC 2861). (true or false.) Default: true.
    :param tso: Packets leave in TSO bursts that are sized by the pacing rate. Without: one by one. On the testbed all
        flows have one sending host, and so the same value. (true or false.) Default: true.
    :param pacing: Pacing on or off, whatever the algorithm requests. The testbed refuses ``false`` for an algorithm
        that requests it: Linux has no switch against it. (true or false.) Default: as the algorithm requests.
    :param initial_cwnd: Initial cwnd, packets (RFC 6928). (whole number; 1 to 1000.) Default: 10.
    :param mtu: MTU of the flow's path, bytes: 1280 to 1420 in tunnels, 9000 in data centres. A full packet has 52 bytes
        less of payload, and 14 more on the wire. Buffers and token buckets on its route must hold one. Queue
        disciplines take 1514 bytes for a full packet, whatever the MTU of flows is. (whole number; 576 to 9000.)
        Default: 1500.
    :param rto_min: The retransmission timeout is at least this longer than the smoothed RTT (Linux:
        ``tcp_rto_min_us``). A tail loss probe of a lone packet, whose ACK may be delayed, follows after this and two
        RTTs. (time: ns, us, ms, s, min or h; 1us to 120s.) Default: 200ms.
    :param syn_retries: Times that a SYN is sent again at doubled intervals before the connection fails (Linux:
        ``tcp_syn_retries``). (whole number; 1 to 127.) Default: 6.
    :param syn_linear_timeouts: Times that a SYN is sent again before that, 1 s apart (Linux:
        ``tcp_syn_linear_timeouts``). As in Linux, the connection fails earlier if the time of all ``syn_retries`` alone
        has passed. On the testbed all flows have one sending host, and so the same value. (whole number; 0 to 127.)
        Default: 4.
    :param ack_every: Full packets per ACK. Above 2 a PSH causes none, either. Needs ``delayed_ack = true``. (whole
        number; 1 to 1000.) Default: 2.
    :param psh_ack: A packet with PSH, as the last of a burst has it, is acknowledged as soon as the application has
        read it: Linux since 6.7. Without: like any other. (true or false.) Default: true.
    :param delayed_ack: Delayed ACKs: the receiver waits for ``ack_every`` packets, for 40 ms and more. Without: it
        acknowledges each at once. (true or false.) Default: true.
    :param sack_compression: The receiver holds SACKs back for up to 1 ms after three duplicate ACKs, as Linux does.
        (true or false.) Default: true.
    :param gro: Packets that arrive within this time of the first of them are received as one, up to 64 kB. (time: ns,
        us, ms, s, min or h; 0s to 1s.) Default: 0s.
    :param ack_delay: The receiver holds every ACK back for this long: the path seems longer than it is. (time: ns, us,
        ms, s, min or h; 0s to 10s.) Default: 0s.
    :param ack_delay_at: Later values of ``ack_delay``. (steps, as in ``10s 80ms, 20s 50ms``; 0s to 10s.) Default:
        ``ack_delay`` never changes.
    :param synack_retries: Times that a SYN-ACK is sent again at doubled intervals before the receiver forgets the
        connection (Linux: ``tcp_synack_retries``). On the testbed all flows have one receiving host, and so the same
        value. (whole number; 0 to 255.) Default: 5.
    :param set: Parameters of the algorithm, as in ``set = { alpha = "3ms" }``; algorithms.md lists them. (table.)
        Default: the algorithm's defaults.
    :param view: What the simulator reports to an algorithm that uses what was in flight when each packet was sent
        (BBRv2 and BBRv3): all that the sender knows, or no more than a stock Linux ``kernel`` reports. The testbed's
        kernel always reports the latter. (word; exact, kernel.) Default: exact.
    :param count: Number of such flows: a group. (whole number; 1 to 100000.) Default: 1.
    :param stagger: In a group, each flow starts this much after the one before. (time: ns, us, ms, s, min or h; 0s to
        86400s.) Default: 0s.
    """

    name: str | None = None
    cc: AlgorithmName
    rtt: Time
    route: Sequence[str] | None = None
    from_: str | None = None
    to: str | None = None
    reverse: Sequence[str] | None = None
    access_delay: Time | None = None
    start: Time | None = None
    stop: Time | None = None
    size: Size | None = None
    on: Time | None = None
    off: Time | None = None
    write_rate: Rate | None = None
    write_every: Time | None = None
    response: Size | None = None
    think: Time | None = None
    writes: Steps | None = None
    write_trace: FilePath | None = None
    barrier: str | None = None
    arrivals: Frequency | None = None
    sizes: FilePath | None = None
    media_rate: Rate | None = None
    frames: Frequency | None = None
    frame_deviation: Share | None = None
    key_every: int | None = None
    key_weight: int | None = None
    deadline: Time | None = None
    receive_buffer: Size | None = None
    receive_buffer_max: Size | None = None
    rtt_at: Steps | None = None
    reorder: Share | None = None
    reorder_delay: Time | None = None
    ack_jitter: Time | None = None
    ack_jitter_distribution: Literal["uniform", "normal"] | None = None
    ack_jitter_correlation: Share | None = None
    ack_aggregation: Time | None = None
    host_jitter: Time | None = None
    ack_loss: Share | None = None
    tso_loss: Share | None = None
    drop: Sequence[str] | None = None
    ecn: Literal["off", "classic", "dctcp", "accurate", "l4s"] | None = None
    accecn_option: bool | None = None
    sack: bool | None = None
    rack: bool | None = None
    tlp: bool | None = None
    frto: bool | None = None
    undo: bool | None = None
    prr: bool | None = None
    idle_restart: bool | None = None
    tso: bool | None = None
    pacing: bool | None = None
    initial_cwnd: int | None = None
    mtu: int | None = None
    rto_min: Time | None = None
    syn_retries: int | None = None
    syn_linear_timeouts: int | None = None
    ack_every: int | None = None
    psh_ack: bool | None = None
    delayed_ack: bool | None = None
    sack_compression: bool | None = None
    gro: Time | None = None
    ack_delay: Time | None = None
    ack_delay_at: Steps | None = None
    synack_retries: int | None = None
    set: Parameters | None = None
    view: Literal["exact", "kernel"] | None = None
    count: int | None = None
    stagger: Time | None = None


class ScenarioKeys:
    """The keys of a scenario."""

    __slots__ = ()

    def __init__(
        self,
        *,
        links: Sequence[Link],
        flows: Sequence[Flow],
        window: Window | None = None,
        title: str = "untitled",
        why: str | None = None,
        seed: int | None = None,
        duration: Time,
        interval: Time | None = None,
    ) -> None:
        """
        :param links: in the order of the path.
        :param flows: at least one.
        :param window: what metrics cover.
        :param title: What is compared, in a few words. (text; 1 to 200 characters.) By default untitled.
        :param why: Why it is worth running. (text; 0 to 10000 characters.) Default: empty.
        :param seed: Source of all randomness: the same seed gives the same simulation. (whole number; 0 to
            9223372036854775807.) Default: 1.
        :param duration: Length of the run. (time: ns, us, ms, s, min or h; 100ms to 86400s.) Must be given.
        :param interval: Distance of two points in the time series; at most a million points, and ten million over all
            flows. (time: ns, us, ms, s, min or h; 100us to 3600s.) Default: 100ms, or a tenth of a run shorter than 1s.
        :raises UsageError: something is wrong; all of it is in ``problems``.
        :raises TypeError: a value has a type that no key has.
        """
        top = {"title": title, "why": why, "seed": seed, "duration": duration, "interval": interval}
        self._make(top, window, links, flows)

    def _make(
        self, top: Mapping[str, object], window: Window | None, links: Sequence[Link], flows: Sequence[Flow]
    ) -> None:
        raise NotImplementedError


KINDS: dict[str, str] = {
    "duration": "Time",
    "interval": "Time",
    "window.from": "Time",
    "window.to": "Time",
    "link.rate": "Rate",
    "link.burst": "Size",
    "link.buffer": "Size",
    "link.bdp_rtt": "Time",
    "link.mark_above": "Size",
    "link.red_min": "Size",
    "link.red_max": "Size",
    "link.red_probability": "Share",
    "link.target": "Time",
    "link.codel_interval": "Time",
    "link.ce_threshold": "Time",
    "link.fq_quantum": "Size",
    "link.pie_update": "Time",
    "link.dualpi2_update": "Time",
    "link.dualpi2_rtt_max": "Time",
    "link.dualpi2_ramp_from": "Time",
    "link.dualpi2_ramp_range": "Time",
    "link.dualpi2_classic_share": "Share",
    "link.rate_at": "Rate",
    "link.policer_rate": "Rate",
    "link.policer_burst": "Size",
    "link.loss": "Share",
    "link.loss_burst": "Time",
    "link.loss_in_burst": "Share",
    "link.loss_outside_burst": "Share",
    "link.loss_at": "Share",
    "link.delay": "Time",
    "link.jitter": "Time",
    "link.jitter_correlation": "Share",
    "link.duplicate": "Share",
    "link.wifi_jitter": "Time",
    "link.handover_every": "Time",
    "link.handover_rate": "Rate",
    "link.handover_delay": "Time",
    "link.handover_outage": "Time",
    "link.cellular_spread": "Share",
    "link.cellular_memory": "Time",
    "link.cellular_outage": "Time",
    "link.cellular_outage_every": "Time",
    "flow.rtt": "Time",
    "flow.access_delay": "Time",
    "flow.start": "Time",
    "flow.stop": "Time",
    "flow.size": "Size",
    "flow.on": "Time",
    "flow.off": "Time",
    "flow.write_rate": "Rate",
    "flow.write_every": "Time",
    "flow.response": "Size",
    "flow.think": "Time",
    "flow.writes": "Size",
    "flow.arrivals": "Frequency",
    "flow.media_rate": "Rate",
    "flow.frames": "Frequency",
    "flow.frame_deviation": "Share",
    "flow.deadline": "Time",
    "flow.receive_buffer": "Size",
    "flow.receive_buffer_max": "Size",
    "flow.rtt_at": "Time",
    "flow.reorder": "Share",
    "flow.reorder_delay": "Time",
    "flow.ack_jitter": "Time",
    "flow.ack_jitter_correlation": "Share",
    "flow.ack_aggregation": "Time",
    "flow.host_jitter": "Time",
    "flow.ack_loss": "Share",
    "flow.tso_loss": "Share",
    "flow.rto_min": "Time",
    "flow.gro": "Time",
    "flow.ack_delay": "Time",
    "flow.ack_delay_at": "Time",
    "flow.stagger": "Time",
}
"""What the numbers of a key measure."""
