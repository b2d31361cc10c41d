//! `fairpace-dev kernels` and `kernel-check`: checks on kernels other than the running one.
//!
//! scripts/kernels.sh boots each kernel in QEMU with [`guest`] in a small initramfs. The guest reports
//! [`record::Step`]s over a serial port, and [`page`] makes tables of them.

mod guest;
mod hostile;
mod operator;
mod page;
mod panic;
mod record;

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::output::Output;
use serde::Serialize;

use crate::args::{KernelCheckArgs, KernelsArgs};
use crate::marked_page::{Page, publish};
use record::Step;

const PAGE: Page = Page { command: "kernels", title: "Kernels" };

/// A kernel with the reports of its guests.
#[derive(Debug, Serialize)]
struct Kernel {
    /// Series of the kernel, such as 6.12.
    series: String,
    /// Package and version of the kernel, or the reason why there is none.
    source: String,
    /// Steps of the plain boot; `None` if the kernel was not booted.
    plain: Option<Vec<Step>>,
    /// Steps of the boot with `lockdown=confidentiality`.
    lockdown: Option<Vec<Step>>,
    /// Steps of the boot in which each algorithm runs over a path that reorders.
    reordering: Option<Vec<Step>>,
    /// Steps of the boot with many hostile headers.
    hostile: Option<Vec<Step>>,
}

impl Kernel {
    /// Iterates over the boots: the words that follow the series in the boot's name, and its steps.
    fn boots(&self) -> impl Iterator<Item = (&'static str, &[Step])> {
        let all = [
            ("", &self.plain),
            (" with lockdown", &self.lockdown),
            (" with reordering", &self.reordering),
            (" with hostile headers", &self.hostile),
        ];
        all.into_iter().filter_map(|(how, steps)| Some((how, steps.as_deref()?)))
    }
}

pub(crate) fn run(args: &KernelsArgs, global: Global, out: &mut Output) -> Result<(), Failure> {
    let marked = args.out.open(PAGE)?;
    let kernels = read(&args.folder).map_err(|error| unreadable(&args.folder, &error))?;
    let failures = page::failures(&kernels);
    publish(marked, &page::tables(&kernels), &kernels, global, out)?;
    let Some(first) = failures.first() else { return Ok(()) };
    let message = format!("{} failures, the first: {first}", failures.len());
    let help = format!("the consoles of the guests are in {}", args.folder.display());
    Err(Failure::new(Exit::Internal, message, help))
}

pub(crate) fn check(args: &KernelCheckArgs, out: &mut Output) -> Result<(), Failure> {
    let mut lines = Vec::new();
    let checked = match &args.report {
        Some(device) => File::options()
            .write(true)
            .open(device)
            .and_then(|device| guest::check(args, &mut BufWriter::new(device))),
        None => guest::check(args, &mut lines),
    };
    checked.map_err(|error| {
        let message = format!("checking the kernel: {error}");
        Failure::new(Exit::Internal, message, "scripts/kernels.sh boots a guest")
    })?;
    out.text(&String::from_utf8_lossy(&lines))
}

/// Reads all kernels of a folder, the oldest first.
fn read(folder: &Path) -> io::Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(series) = name.strip_suffix(".source") else { continue };
        let steps = |boot| steps(&folder.join(format!("{series}{boot}.jsonl")));
        kernels.push(Kernel {
            series: series.to_owned(),
            source: fs::read_to_string(&path)?.trim().to_owned(),
            plain: steps("")?,
            lockdown: steps("-lockdown")?,
            reordering: steps("-reordering")?,
            hostile: steps("-hostile")?,
        });
    }
    if kernels.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no SERIES.source"));
    }
    kernels.sort_by_key(|kernel| {
        kernel.series.split('.').map(|number| number.parse().unwrap_or(u32::MAX)).collect::<Vec<_>>()
    });
    Ok(kernels)
}

/// Reads the steps that a guest reported; `None` if it was not booted. If the guest was interrupted, its last
/// line is incomplete and left out: then there is no [`Step::End`], which is a failure.
fn steps(path: &Path) -> io::Result<Option<Vec<Step>>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn unreadable(folder: &Path, error: &io::Error) -> Failure {
    Failure::file("the reports cannot be read from", folder, error, "`make kernels` writes them")
}
