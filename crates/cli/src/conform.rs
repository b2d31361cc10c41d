//! `conform`: checks an implementation of BBR with the test cases of the draft.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use fairpace_cc::Algorithm;
use fairpace_cli_core::args::Global;
use fairpace_cli_core::failure::{Exit, Failure};
use fairpace_cli_core::host::COMMIT;
use fairpace_cli_core::output::Output;
use fairpace_cli_core::signals::Signals;
use fairpace_cli_core::table::{table, text};
use fairpace_conform::adaptor::Adaptor;
use fairpace_conform::case::Case;
use fairpace_conform::protocol::{Answer, Event, Hello};
use fairpace_conform::{Outcome, Own, Peer, contained};
use serde::Serialize;

use crate::args::ConformArgs;
use crate::call::Call;

/// Name and version of the record that `--json` prints.
const SCHEMA: &str = "fairpace.conform.results/1";

#[derive(Default, Serialize)]
struct Record {
    schema: &'static str,
    commit: &'static str,
    draft: String,
    subject: Option<Subject>,
    cases: Vec<Row>,
    passed: usize,
    failed: usize,
    not_applicable: usize,
    broken: usize,
}

#[derive(Clone, Serialize)]
struct Subject {
    name: String,
    version: String,
}

#[derive(Serialize)]
struct Row {
    case: String,
    title: String,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
struct Listed<'a> {
    case: &'a str,
    title: &'a str,
    about: &'a str,
    differs: Option<&'a str>,
    needs: Vec<String>,
    steps: usize,
}

impl<'a> From<&'a Case> for Listed<'a> {
    fn from(case: &'a Case) -> Self {
        let header = &case.header;
        Self {
            case: &header.case,
            title: &header.title,
            about: &header.about,
            differs: header.differs.as_deref(),
            needs: header.needs.iter().map(ToString::to_string).collect(),
            steps: case.steps.len(),
        }
    }
}

pub(crate) fn run(args: &ConformArgs, Call { global, signals, out }: Call<'_>) -> Result<(), Failure> {
    let cases = chosen(args)?;
    if args.record.is_some() && cases.len() != 1 {
        let help = "name one case: --case A.7 --record FILE";
        return Err(Failure::new(Exit::Usage, "--record is for one case", help));
    }
    if args.list {
        return list(&cases, global, out);
    }
    let record = check(args, &cases, &signals)?;
    out.record(&record, global, Record::text)?;
    record.judge()
}

/// The cases that `--case` names, in the draft's order; without `--case`, all cases.
fn chosen(args: &ConformArgs) -> Result<Vec<Case>, Failure> {
    let all =
        contained().map_err(|error| Failure::new(Exit::Internal, error.to_string(), "please report this"))?;
    let is_known = |name: &&String| all.iter().any(|case| case.header.case == **name);
    if let Some(unknown) = args.cases.iter().find(|name| !is_known(name)) {
        let help = "`fairpace conform --list` lists the cases: A.1 to A.22";
        return Err(Failure::new(Exit::Usage, format!("there is no case {unknown:?}"), help));
    }
    let is_chosen = |case: &Case| args.cases.is_empty() || args.cases.contains(&case.header.case);
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn list(cases: &[Case], global: Global, out: &mut Output) -> Result<(), Failure> {
    if global.json {
        return out.json(&cases.iter().map(Listed::from).collect::<Vec<_>>());
    }
    let mut rows = table(&["case", "title", "needs"], 3);
    for row in cases.iter().map(Listed::from) {
        rows.add_row([row.case, row.title, &row.needs.join(", ")]);
    }
    out.text(&text(&rows))
}

/// Applies each case to a new subject.
fn check(args: &ConformArgs, cases: &[Case], signals: &Signals) -> Result<Record, Failure> {
    let own = args.cc.as_deref().map(Algorithm::by_name).transpose()?;
    let draft = cases.first().map(|case| case.header.draft.clone()).unwrap_or_default();
    let mut record = Record { schema: SCHEMA, commit: COMMIT, draft, ..Record::default() };
    for case in cases {
        let transcript = args.record.as_deref().map(Transcript::create).transpose()?;
        let mut peer = Named { peer: peer(args, own, signals)?, hello: None, transcript };
        let outcome = fairpace_conform::run(case, &mut peer);
        peer.transcript.take().map_or(Ok(()), Transcript::finish)?;
        if let Some(signal) = signals.received() {
            return Err(Failure::signal_with(signal, "the adaptor was ended, and no result was printed"));
        }
        let Named { hello, .. } = peer;
        record.subject =
            record.subject.or(hello.map(|Hello { name, version, .. }| Subject { name, version }));
        record.add(case, outcome);
        if record.subject.is_none() {
            break; // it will not answer for another case either
        }
    }
    Ok(record)
}

/// The implementation to which the cases are applied.
fn peer(args: &ConformArgs, own: Option<Algorithm>, signals: &Signals) -> Result<Box<dyn Peer>, Failure> {
    if let Some(algorithm) = own {
        return Ok(Box::new(Own::new(algorithm)));
    }
    let received = signals.clone();
    let stopped = move || received.received().is_some();
    let adaptor = Adaptor::start(&args.adaptor, args.answer_within, stopped).map_err(|error| {
        let help = "name a program after `--`: fairpace conform -- ./your-adaptor";
        Failure::new(Exit::Usage, error.to_string(), help)
    })?;
    Ok(Box::new(adaptor))
}

/// A peer with the name that it reports, and the transcript of all messages.
struct Named {
    peer: Box<dyn Peer>,
    hello: Option<Hello>,
    transcript: Option<Transcript>,
}

impl Peer for Named {
    fn hello(&mut self) -> Result<Hello, String> {
        let hello = self.peer.hello()?;
        self.hello = Some(hello.clone());
        Ok(hello)
    }

    fn ask(&mut self, event: &Event) -> Result<Answer, String> {
        let answer = self.peer.ask(event)?;
        if let Some(transcript) = &mut self.transcript {
            transcript.add(event, &answer);
        }
        Ok(answer)
    }
}

/// The file of `--record`: a line for each event and a line for each answer.
struct Transcript {
    path: PathBuf,
    file: BufWriter<File>,
    written: io::Result<()>,
}

impl Transcript {
    fn create(path: &Path) -> Result<Self, Failure> {
        match File::create_new(path) {
            Ok(file) => Ok(Self { path: path.to_owned(), file: BufWriter::new(file), written: Ok(()) }),
            Err(error) => Err(Self::failure(path, &error)),
        }
    }

    fn add(&mut self, event: &Event, answer: &Answer) {
        if self.written.is_ok() {
            self.written = self.add_lines(event, answer);
        }
    }

    fn add_lines(&mut self, event: &Event, answer: &Answer) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, event)?;
        self.file.write_all(b"\n")?;
        match answer {
            Answer::Control(control) => serde_json::to_writer(&mut self.file, control)?,
            Answer::NotApplicable(reason) => {
                serde_json::to_writer(&mut self.file, &serde_json::json!({ "not_applicable": reason }))?;
            }
        }
        self.file.write_all(b"\n")
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.written.and_then(|()| self.file.flush()).map_err(|error| Self::failure(&self.path, &error))
    }

    fn failure(path: &Path, error: &io::Error) -> Failure {
        Failure::file("cannot write the messages to", path, error, "name another file with --record")
    }
}

impl Record {
    fn add(&mut self, case: &Case, outcome: Outcome) {
        match outcome {
            Outcome::Passed { .. } => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::NotApplicable { .. } => self.not_applicable += 1,
            Outcome::Broken { .. } => self.broken += 1,
        }
        let (case, title) = (case.header.case.clone(), case.header.title.clone());
        self.cases.push(Row { case, title, outcome });
    }

    fn text(&self) -> String {
        let subject = match &self.subject {
            Some(Subject { name, version }) => format!("{name} {version}"),
            None => "an adaptor that gave no name".to_owned(),
        };
        let mut rows = table(&["case", "result", "title"], 3);
        for row in &self.cases {
            rows.add_row([&row.case, row.outcome.word(), &row.title]);
        }
        let counts = format!(
            "{} passed, {} failed, {} not applicable, {} broken",
            self.passed, self.failed, self.not_applicable, self.broken
        );
        let explained = self.cases.iter().filter_map(Row::explanation).collect::<String>();
        let separator = if explained.is_empty() { "" } else { "\n" };
        format!("{subject}, by {}\n\n{}{separator}{explained}\n{counts}\n", self.draft, text(&rows))
    }

    /// The failure that gives the exit code, unless all cases pass.
    fn judge(&self) -> Result<(), Failure> {
        let bad = self.failed + self.broken;
        if bad == 0 {
            return Ok(());
        }
        let message = format!("{bad} of {} cases not passed", self.cases.len());
        let help = "each names the line of its file in conform/bbr and the section of the draft; \
                    `fairpace conform --case CASE -- ...` repeats one";
        Err(Failure::new(Exit::Nonconforming, message, help))
    }
}

/// Text of an outcome in the table.
trait Shown {
    fn word(&self) -> &'static str;
}

impl Shown for Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed { unseen: 0 } => "passed",
            Self::Passed { .. } => "passed in part",
            Self::Failed(_) => "failed",
            Self::NotApplicable { .. } => "not applicable",
            Self::Broken { .. } => "broken",
        }
    }
}

impl Row {
    /// Text on results that the table does not show.
    fn explanation(&self) -> Option<String> {
        let what = match &self.outcome {
            Outcome::Passed { unseen: 0 } => return None,
            Outcome::Passed { unseen } => format!("{unseen} expectations could not be observed"),
            Outcome::Failed(mismatch) => format!("{mismatch}\n      {}", mismatch.why),
            Outcome::NotApplicable { reason } => reason.clone(),
            Outcome::Broken { problem } => problem.clone(),
        };
        Some(format!("{}: {what}\n", self.case))
    }
}
