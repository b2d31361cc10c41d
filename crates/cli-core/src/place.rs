//! Where a run takes place: in the simulator, on the running kernel, or in a kernel in virtual time.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fairpace_scenario::Target;

use crate::host;

/// What runs a kernel in virtual time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulator {
    /// QEMU, with a stock kernel.
    Qemu,
    /// User-mode Linux, a kernel of its own.
    Uml,
}

/// Where a run takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the simulator.
    Simulator,
    /// On the testbed, with the running kernel.
    Kernel,
    /// On the testbed, with a kernel in virtual time; `None`: in any emulator.
    Virtual(Option<Emulator>),
}

impl Place {
    /// The target for which a scenario is checked.
    #[must_use]
    pub const fn target(self) -> Target {
        match self {
            Self::Simulator => Target::Simulator,
            Self::Kernel | Self::Virtual(_) => Target::Testbed,
        }
    }

    /// Name of the place, as the option `--on` takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulator => Target::Simulator.name(),
            Self::Kernel => Target::Testbed.name(),
            Self::Virtual(emulator) => name_of(emulator),
        }
    }

    /// The place of a name, as the option `--on` takes it.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        let emulators = VIRTUAL.into_iter().map(|(emulator, ..)| Self::Virtual(emulator));
        [Self::Simulator, Self::Kernel].into_iter().chain(emulators).find(|place| place.name() == name)
    }

    /// Text for the place of a run.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Virtual(_) => "on a kernel in virtual time",
            Self::Simulator | Self::Kernel => host::description(self.target()),
        }
    }

    /// The command that runs a scenario file here.
    #[must_use]
    pub fn command(self, file: &str) -> String {
        match self {
            Self::Simulator => format!("fairpace sim {file}"),
            Self::Kernel => format!("fairpace testbed {file}"),
            Self::Virtual(emulator) => format!("fairpace sim {file} --on {}", name_of(emulator)),
        }
    }
}

impl From<Target> for Place {
    fn from(target: Target) -> Self {
        match target {
            Target::Simulator => Self::Simulator,
            Target::Testbed => Self::Kernel,
        }
    }
}

/// A kernel as tables name it, from its release or from the description of one in virtual time.
#[must_use]
pub fn kernel_shown(kernel: &str) -> String {
    match kernel.starts_with(name_of(None)) {
        true => kernel.to_owned(),
        false => format!("Linux {kernel}"),
    }
}

/// A kernel in the head of a table, from its release or from the description of one in virtual time:
/// "qemu, Linux 6.12.118".
#[must_use]
pub fn kernel_label(kernel: &str) -> String {
    let Some(described) = kernel.strip_prefix(name_of(None)) else { return format!("Linux {kernel}") };
    let mut parts = described.trim_start_matches([':', ' ']).split(", ");
    let (emulator, linux) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{}, {linux}", emulator.split(' ').next().unwrap_or_default())
}

/// Names of a kernel in virtual time, by its emulator.
const VIRTUAL: [(Option<Emulator>, &str, &str); 3] = [
    (None, "virtual", "A kernel in virtual time"),
    (Some(Emulator::Qemu), "virtual:qemu", "The same, and in QEMU: a stock kernel"),
    (Some(Emulator::Uml), "virtual:uml", "The same, and in User-mode Linux: a kernel of our own, faster"),
];

fn name_of(emulator: Option<Emulator>) -> &'static str {
    VIRTUAL.into_iter().find(|(of, ..)| *of == emulator).map_or("virtual", |(_, name, _)| name)
}

/// Parses where to run.
#[must_use]
pub fn parse_place() -> impl TypedValueParser<Value = Place> {
    let [simulator, testbed] = [Target::Simulator, Target::Testbed].map(|t| PossibleValue::new(t.name()));
    let known = [simulator.help("The simulator"), testbed.help("The running kernel, on the testbed")];
    let in_virtual_time = VIRTUAL.map(|(_, name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(known.into_iter().chain(in_virtual_time))
        .map(|name| Place::by_name(&name).unwrap_or(Place::Simulator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_by_its_emulator_and_version() {
        let described = "virtual: qemu 7.2.22, Linux 6.12.118-1, kernel 0123, image 4567";
        assert_eq!(kernel_label(described), "qemu, Linux 6.12.118-1");
        assert_eq!(
            kernel_label("virtual: uml, Linux 6.12.118-fairpace, kernel 0"),
            "uml, Linux 6.12.118-fairpace"
        );
        assert_eq!(kernel_label("6.18.44"), "Linux 6.18.44");
    }

    #[test]
    fn a_place_of_each_target_is_parsed_by_the_name_of_the_target() {
        let command =
            clap::Command::new("x").arg(clap::Arg::new("on").long("on").value_parser(parse_place()));
        let parsed = |name: &str| {
            let found = command.clone().try_get_matches_from(["x", "--on", name]).expect("it is a place");
            *found.get_one::<Place>("on").expect("it is there")
        };
        for target in [Target::Simulator, Target::Testbed] {
            let place = parsed(target.name());
            assert_eq!((place, place.target()), (Place::from(target), target));
        }
        for (emulator, name, _) in VIRTUAL {
            assert_eq!((parsed(name), name_of(emulator)), (Place::Virtual(emulator), name));
        }
    }
}
