//! The lines of docs/use-it.md that select an algorithm, run as they stand there.
//!
//! A program of its own: it makes network namespaces, and the page's addresses belong to them. `fp_bbr3` is
//! loaded under a name of this test.

#[path = "../all/support/mod.rs"]
#[expect(dead_code, reason = "the other tests need the rest")]
mod support;

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use fairpace_test_support::{announce, skip};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

use support::{Place, Unload, has_kernel, own_suffix};

const PAGE: &str = include_str!("../../../../docs/use-it.md");
/// How long a program may take to open its connection. Java and Go compile first.
const PATIENCE: Duration = Duration::from_secs(60);

/// The block of the page below `<!-- try: NAME -->`.
fn block(name: &str) -> String {
    let marked = PAGE.split_once(&format!("<!-- try: {name} -->\n")).expect("the page has it").1;
    let code = marked.split_once('\n').expect("a fence").1;
    code.split_once("\n```").expect("its end").0.to_owned()
}

fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().expect("ip");
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// The host of the page, in this thread's network namespace, and its gateway with the server behind it, in
/// another thread's. Both go away with their threads.
struct Host {
    place: Place,
    /// What `fp_bbr3` is called here.
    name: String,
    /// Ports of the host that the other side connects to.
    calls: mpsc::Sender<u16>,
    /// The other side's network namespace.
    far: String,
    _unload: Unload,
}

impl Host {
    fn new() -> Host {
        // tells the tests of this program apart
        static LETTER: AtomicU8 = AtomicU8::new(b'a');
        let letter = char::from(LETTER.fetch_add(1, Ordering::Relaxed));
        let place = Place::new();
        let suffix = format!("{}{letter}", own_suffix());
        let name = format!("fp_bbr3{suffix}");
        let unload = Unload(name.clone());
        place.run(&["load", "bbr3", "--suffix", &suffix]).succeeds();
        unshare(CloneFlags::CLONE_NEWNET).expect("root may");
        let (ready, from_far) = mpsc::channel();
        let (go, connected) = mpsc::channel();
        let (calls, called) = mpsc::channel();
        thread::spawn(move || far_side(&ready, &connected, &called));
        let far = from_far.recv().expect("it has a namespace");
        ip("link set lo up");
        ip("link add eth0 type veth peer name far0");
        ip(&format!("link set far0 netns {far}"));
        ip("addr add 192.0.2.2/24 dev eth0");
        ip("link set eth0 up");
        ip("route add default via 192.0.2.1 dev eth0");
        go.send(()).expect("it waits");
        // a program that connects before the server listens is refused, and does not try again
        from_far.recv().expect("it listens");
        Host { place, name, calls, far, _unload: unload }
    }

    /// A block of the page, with the name that `fp_bbr3` has here.
    fn block(&self, name: &str) -> String {
        block(name).replace("fp_bbr3", &self.name)
    }

    /// Runs the shell's lines of a block.
    fn shell(&self, name: &str) {
        let done = Command::new("sh").args(["-ec", &self.block(name)]).output().expect("a shell");
        assert!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// The congestion control of the sockets that `ss` finds.
    fn selected(&self, filter: &str) -> String {
        let done = Command::new("ss").args(["-Htin"]).args(filter.split(' ')).output().expect("ss");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Waits until one of these sockets is connected and has the algorithm.
    fn awaits(&self, filter: &str, name: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.selected(filter);
            if said.contains("ESTAB") && said.contains(name) {
                return;
            }
            assert!(Instant::now() < end, "{filter}: no socket with {name}: {said}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// A program that opens a connection to the server of the page gets the algorithm.
    fn client(&self, command: &mut Command) {
        if let Some(_running) = start(command) {
            self.awaits("dport = :443", &self.name);
        }
    }

    /// A program that listens at port 443 of the host gets it for what it accepts.
    fn server(&self, command: &mut Command) {
        if let Some(_running) = start(command) {
            let end = Instant::now() + PATIENCE;
            while !self.listens(443) {
                assert!(Instant::now() < end, "{command:?} does not listen");
                thread::sleep(Duration::from_millis(50));
            }
            self.calls.send(443).expect("the other side is there");
            self.awaits("sport = :443", &self.name);
        }
    }

    fn listens(&self, port: u16) -> bool {
        let all = Command::new("ss").args(["-Htln", "sport", "=", &format!(":{port}")]).output();
        !all.expect("ss").stdout.is_empty()
    }
}

/// The gateway and the server: it holds what connects to its ports, and connects to the host when called. It
/// sends its network namespace, and once more when it listens.
fn far_side(ready: &mpsc::Sender<String>, connected: &mpsc::Receiver<()>, called: &mpsc::Receiver<u16>) {
    unshare(CloneFlags::CLONE_NEWNET).expect("root may");
    let namespace = format!("/proc/{}/task/{}/ns/net", std::process::id(), gettid());
    ready.send(namespace.clone()).expect("it waits");
    connected.recv().expect("it goes on");
    ip("link set lo up");
    ip("addr add 192.0.2.1/24 dev far0");
    ip("addr add 198.51.100.7/32 dev far0");
    ip("link set far0 up");
    let listener = TcpListener::bind("198.51.100.7:443").expect("the port is free");
    ready.send(namespace).expect("it waits");
    let mut held = Vec::new();
    // in a thread: the namespace stays as long as one of its threads runs, which is as long as the test does
    thread::spawn(move || held.extend(listener.incoming().flatten()));
    let mut calls = Vec::new();
    while let Ok(port) = called.recv() {
        calls.push(TcpStream::connect(("192.0.2.2", port)).expect("it listens"));
    }
}

/// A program that is ended with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Programs that scripts/setup.sh installs for tests. Where the kernel is required, so are they. The others
/// are not installed: packages of servers start them, and compilers are large.
const INSTALLED: [&str; 3] = ["curl", "iperf3", "python3"];

/// `None` if the program is not installed; then the test is reported as skipped.
fn start(command: &mut Command) -> Option<Running> {
    match command.stdout(Stdio::null()).stdin(Stdio::null()).spawn() {
        Ok(child) => Some(Running(child)),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let name = command.get_program().to_string_lossy();
            let why = format!("{name} is not installed");
            if INSTALLED.contains(&&*name) {
                skip(&why)
            } else {
                announce("SKIPPED", &why)
            }
            None
        }
        Err(e) => panic!("{:?}: {e}", command.get_program()),
    }
}

/// A host, and no test where the kernel cannot be used.
macro_rules! host {
    () => {
        if has_kernel() { Host::new() } else { return }
    };
}

/// A file of the test's.
fn file(host: &Host, name: &str, text: &str) -> String {
    let path = host.place.path().join(name);
    fs::write(&path, text).expect("it is ours");
    path.display().to_string()
}

#[test]
fn a_python_program_selects_it() {
    let host = host!();
    let program = format!("{}\nimport time\ntime.sleep(600)\n", host.block("python"));
    host.client(Command::new("python3").args(["-c", &program]));
}

#[test]
fn a_go_program_selects_it() {
    let host = host!();
    let block = host.block("go");
    let imports = "import (\n\"errors\"\n\"net\"\n\"syscall\"\n\"time\"\n)";
    let text = format!(
        "package main\n{imports}\nfunc main() {{\n{block}\nif err != nil {{ panic(err) }}\n\
         defer connection.Close()\ntime.Sleep(600 * time.Second)\n}}\n"
    );
    let (source, program) = (file(&host, "main.go", &text), host.place.path().join("program"));
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(&source).env("GOFLAGS", "-mod=mod");
    let Some(mut built) = start(&mut build) else { return };
    assert!(built.0.wait().expect("it ends").success(), "{text}");
    host.client(&mut Command::new(program));
}

#[test]
fn iperf3_selects_it() {
    let host = host!();
    let page = PAGE.split_once("`iperf3 -C fp_bbr3 -c ").expect("the page has it").1;
    let server = page.split_once('`').expect("its end").0;
    let mut far = Command::new("nsenter");
    let net = format!("--net={}", host.far);
    let Some(_there) = start(Command::new("iperf3").arg("--version")) else { return };
    let _server = start(far.args([&net, "iperf3", "-s"])).expect("util-linux");
    // it answers with an error as long as the server does not listen
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let _client = start(Command::new("iperf3").args(["-C", &host.name, "-c", server]));
        thread::sleep(Duration::from_secs(1));
        if host.selected("dport = :5201").contains(&host.name) {
            return;
        }
    }
    panic!("no socket with {}", host.name);
}

#[test]
fn a_rule_for_outgoing_connections_reaches_curl_and_node() {
    let host = host!();
    host.shell("outgoing");
    host.client(Command::new("curl").args(["--silent", "http://198.51.100.7:443/"]));
    let host = host!();
    host.shell("outgoing");
    host.client(Command::new("node").args(["-e", "require('net').connect(443, '198.51.100.7')"]));
}

#[test]
fn a_rule_for_a_user_reaches_no_other_one() {
    let host = host!();
    host.shell("user");
    let page = block("python");
    let program = page.lines().filter(|line| !line.contains("setsockopt")).collect::<Vec<_>>();
    let program = format!("{}\nimport time\ntime.sleep(600)\n", program.join("\n"));
    let _roots = start(Command::new("python3").args(["-c", &program]));
    host.awaits("dport = :443", "");
    assert!(!host.selected("dport = :443").contains(&host.name));
    host.client(Command::new("python3").args(["-c", &program]).uid(65534).gid(65534));
}

#[test]
fn a_route_to_a_destination_has_it() {
    let host = host!();
    host.shell("destination");
    host.client(Command::new("curl").args(["--silent", "http://198.51.100.7:443/"]));
}

#[test]
fn a_rule_for_a_port_reaches_servers_and_is_taken_back() {
    let host = host!();
    host.shell("port");
    host.server(Command::new("python3").args(["-m", "http.server", "443"]));
    host.shell("port back");
    host.calls.send(443).expect("the other side is there");
    for what in ["rule", "route show table 443"] {
        let left = Command::new("ip").args(what.split(' ')).output().expect("ip").stdout;
        assert!(!String::from_utf8_lossy(&left).contains("443"), "{what}");
    }
}

#[test]
fn a_rule_for_a_port_reaches_nginx() {
    let host = host!();
    host.shell("port");
    let text = "daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\n\
                http { access_log off; server { listen 443; } }\n";
    let place = host.place.path().display().to_string();
    let text = text.replace("nginx.pid", &format!("{place}/nginx.pid"));
    host.server(Command::new("nginx").args(["-c", &file(&host, "nginx.conf", &text)]));
}

#[test]
fn a_rule_for_a_port_reaches_haproxy() {
    let host = host!();
    host.shell("port");
    let text = "defaults\n mode tcp\n timeout client 60s\n timeout connect 5s\n timeout server 60s\n\
                listen service\n bind :443\n server far 198.51.100.7:443\n";
    host.server(Command::new("haproxy").args(["-db", "-f", &file(&host, "haproxy.cfg", text)]));
}

#[test]
fn a_rule_for_a_port_reaches_node() {
    let host = host!();
    host.shell("port");
    host.server(Command::new("node").args(["-e", "require('net').createServer().listen(443)"]));
}

#[test]
fn a_rule_for_a_port_reaches_java() {
    let host = host!();
    host.shell("port");
    let text = "class Service { public static void main(String[] a) throws Exception {\n\
                var s = new java.net.ServerSocket(443); var c = s.accept(); Thread.sleep(600000); } }\n";
    host.server(Command::new("java").arg(file(&host, "Service.java", text)));
}
