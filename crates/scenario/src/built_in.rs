//! Built-in distributions of sizes, which need no file.

use crate::quantity::WHOLE_PPB;

/// Sizes of flows in a cluster that answers web searches, measured for DCTCP (Alizadeh et al., SIGCOMM 2010,
/// figure 4), at the points that the public traffic generator empirical-traffic-gen has in `DCTCP_CDF`:
/// bytes, and the share in percent.
#[rustfmt::skip]
const WEBSEARCH: &[(u64, u64)] = &[
    (1, 0), (10_000, 15), (20_000, 20), (30_000, 30), (50_000, 40), (80_000, 53), (200_000, 60),
    (1_000_000, 70), (2_000_000, 80), (5_000_000, 90), (10_000_000, 97), (30_000_000, 100),
];

/// Sizes of flows in a cluster that mines data, measured for VL2 (Greenberg et al., SIGCOMM 2009, figure 2),
/// at the points that empirical-traffic-gen has in `VL2_CDF`: bytes, and the share in percent.
#[rustfmt::skip]
const DATAMINING: &[(u64, u64)] = &[
    (1, 0), (180, 10), (216, 20), (560, 30), (900, 40), (1_100, 50), (1_870, 60), (3_160, 70),
    (10_000, 80), (400_000, 90), (3_160_000, 95), (100_000_000, 98), (1_000_000_000, 100),
];

/// Bounded Pareto: shape 1.2 (Crovella and Bestavros, IEEE/ACM Transactions on Networking 1997, find 1.1 to
/// 1.3 for files on the web), from 1 kB to 10 MB, at eight points per decade. F(x) = (1 - (1 kB / x)^1.2) /
/// (1 - (1 kB / 10 MB)^1.2), billionths; numbers, because a power is not the same on every machine.
#[rustfmt::skip]
const PARETO: &[(u64, u64)] = &[
    (1_000, 0), (1_334, 292_363_606), (1_778, 498_726_156), (2_371, 645_129_726),
    (3_162, 748_796_756), (4_217, 822_186_859), (5_623, 874_110_210), (7_499, 910_890_169),
    (10_000, 936_919_115), (13_335, 955_345_920), (17_783, 968_393_011), (23_714, 977_628_581),
    (31_623, 984_166_800), (42_170, 988_795_598), (56_234, 992_072_418), (74_989, 994_392_309),
    (100_000, 996_034_714), (133_352, 997_197_418), (177_828, 998_020_556), (237_137, 998_603_287),
    (316_228, 999_015_834), (421_697, 999_307_893), (562_341, 999_514_654), (749_894, 999_661_030),
    (1_000_000, 999_764_657), (1_333_521, 999_838_018), (1_778_279, 999_889_955), (2_371_374, 999_926_723),
    (3_162_278, 999_952_752), (4_216_965, 999_971_180), (5_623_413, 999_984_226), (7_498_942, 999_993_462),
    (10_000_000, 1_000_000_000),
];

pub(crate) fn websearch() -> Vec<(u64, u64)> {
    in_ppb(WEBSEARCH)
}

pub(crate) fn datamining() -> Vec<(u64, u64)> {
    in_ppb(DATAMINING)
}

pub(crate) fn pareto() -> Vec<(u64, u64)> {
    PARETO.to_vec()
}

fn in_ppb(points: &[(u64, u64)]) -> Vec<(u64, u64)> {
    points.iter().map(|(bytes, percent)| (*bytes, percent * (WHOLE_PPB / 100))).collect()
}
