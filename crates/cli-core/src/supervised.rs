//! The second instance of this program, in which the code of a user's header runs. A fault of that code ends
//! the second instance, and the first instance reports the fault.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use fairpace_cc::watch::{InCall, Watch};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, kill_process, set_parent_process_death_signal, setrlimit,
};
use signal_hook::consts::{SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGSEGV, SIGTERM, SIGTRAP};

use crate::failure::{Exit, Failure};
use crate::headers;
use crate::signals::{self, Signals};

/// Name of the environment variable that gives the second instance the file of its [`Watch`], and the process
/// id of the first instance.
const VARIABLE: &str = "FAIRPACE_WATCH";
/// Interval at which the first instance checks the second one.
const LOOK: Duration = Duration::from_millis(50);
/// Number of checks that a call may last: 10 s. A call normally takes nanoseconds.
const MOST_LOOKS: u32 = 200;

/// Whether this process is a second instance. If so, it is prepared for headers.
///
/// # Errors
/// Returns an error if the first instance's file cannot be used.
pub fn is_second() -> Result<bool, Failure> {
    let Ok(told) = std::env::var(VARIABLE) else { return Ok(false) };
    let prepare = || -> io::Result<()> {
        let numbers = told.split_once(' ').map(|(file, first)| (file.parse::<u32>(), first.parse::<i32>()));
        let Some((Ok(file), Ok(first))) = numbers else { return Err(io::ErrorKind::InvalidInput.into()) };
        // without the first one this instance would not be looked at; it may have ended already
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid().map(Pid::as_raw_pid) != Some(first) {
            return Err(io::Error::other("the first instance has ended"));
        }
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        let file = File::options().read(true).write(true).open(format!("/proc/self/fd/{file}"))?;
        fairpace_cc::plugin::watch(Watch::open(file.into())?);
        Ok(())
    };
    prepare().map_err(|error| {
        let help = format!("{VARIABLE} is set by fairpace itself: unset it");
        Failure::new(Exit::Internal, format!("this instance cannot run a header: {error}"), help)
    })?;
    signals::leave_second_signals_to_another();
    Ok(true)
}

/// Runs the second instance until it ends; returns its exit code.
///
/// # Errors
/// Returns an error if a signal ended the second instance: the message names the header and its function.
pub fn run(arguments: &[OsString], headers: &[String]) -> Result<i32, Failure> {
    let system = |error: io::Error| {
        Failure::new(Exit::Internal, format!("cannot start a second instance for a header: {error}"), "")
    };
    // in the order in which they are loaded
    let headers = &headers::first_written(headers);
    let watch = Watch::new().map_err(system)?;
    let signals = Signals::catch()?;
    // what runs now, also if its file has been replaced
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = arguments.first() {
        command.arg0(name);
    }
    let told = format!("{} {}", watch.file().as_raw_fd(), std::process::id());
    command.args(&arguments[1..]).env(VARIABLE, told);
    // in the same group: Ctrl-C and Ctrl-Z of a terminal reach both, and a signal that comes twice counts
    // once there
    let mut child = command.spawn().map_err(system)?;
    match wait(&mut child, &watch, &signals).map_err(system)? {
        End::Of(status) => status.code().map_or_else(|| Err(lost(status, &watch, headers)), Ok),
        End::Endless(call) => {
            let seconds = (LOOK * MOST_LOOKS).as_secs();
            let message = format!("{} has not returned for {seconds} s", place(call, headers));
            Err(Failure::new(Exit::Usage, message, "is there a loop without an end? no result was written"))
        }
    }
}

enum End {
    Of(ExitStatus),
    /// The second instance was killed because this call did not return.
    Endless(InCall),
}

fn wait(child: &mut Child, watch: &Watch, signals: &Signals) -> io::Result<End> {
    let mut looks: HashMap<InCall, u32> = HashMap::new();
    let mut passed_on = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Of(status));
        }
        if let Some(signal) = signals.received().filter(|signal| passed_on != Some(*signal)) {
            passed_on = Some(signal);
            let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
            // it may have ended
            let _ = kill_process(Pid::from_child(child), signal);
        }
        let now = watch.in_call();
        looks.retain(|call, _| now.contains(call));
        for call in now.into_iter().filter(|_| !is_stopped(child)) {
            let count = looks.entry(call).or_default();
            *count += 1;
            if *count > MOST_LOOKS {
                child.kill()?;
                child.wait()?;
                return Ok(End::Endless(call));
            }
        }
        sleep(LOOK);
    }
}

/// Whether a process is stopped (SIGSTOP), so that no call proceeds. proc_pid_stat(5): the state follows the
/// name.
fn is_stopped(child: &Child) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(['T', 't']))
}

/// Text of the place of a call: `mine_on_ack of ./mine.h`
fn place(call: InCall, headers: &[String]) -> String {
    let header = headers.get(call.plugin as usize).map_or("a header", String::as_str);
    let name = Path::new(header).file_stem().unwrap_or_default().to_string_lossy();
    format!("{name}_{} of {header}", call.function.name())
}

/// The failure that a signal ended the second instance.
fn lost(status: ExitStatus, watch: &Watch, headers: &[String]) -> Failure {
    let signal = status.signal().unwrap_or_default();
    let what = match signal {
        // before it caught them, as while it compiled
        SIGINT | SIGTERM | SIGHUP => return Failure::signal(signal),
        SIGILL | SIGTRAP => {
            "did what C does not define: an index outside of an array, a division by zero, a shift or a \
             signed sum that does not fit, or a false pointer"
        }
        SIGSEGV | SIGBUS => "used memory that is not its own",
        SIGFPE => "divided by zero",
        // so ends a thread that has used up its stack
        SIGABRT if !watch.in_call().is_empty() => "used more stack than a thread has",
        _ => {
            let message = format!("signal {signal} ended the process that runs {}", headers.join(", "));
            return Failure::new(Exit::Internal, message, "no result was written; was memory short?");
        }
    };
    // which of several threads it was is not known
    let places: Vec<String> = watch.in_call().into_iter().map(|call| place(call, headers)).collect();
    let who = match &places[..] {
        [] => headers.join(", "),
        [only] => only.clone(),
        _ => format!("one of {}", places.join(", ")),
    };
    Failure::new(Exit::Usage, format!("{who} {what} (signal {signal})"), "no result was written")
}
