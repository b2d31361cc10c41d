//! Compiles a congestion control algorithm, a C header that follows Fairpace's contract, to an eBPF object
//! for Linux.
//!
//! The object holds a `tcp_congestion_ops`: the algorithm between the hooks of the shim (`bpf/object.bpf.c`
//! of fairpace-cc). It is an ordinary ELF file with BTF; no part of it depends on the kernel of the machine
//! that compiles it. `fairpace_kernel` adapts it to the running kernel. Another loader must clear the event
//! hook that the kernel does not have (7.1), use `cong_control_2` before 6.10, and before 6.4 set
//! `cc_config.may_set_app_limited` to 0 and clear `BPF_F_LINK`: see `adapt.rs` of fairpace-kernel.
//!
//! Compiling an algorithm needs clang. Building this crate with its default feature needs a C compiler, make,
//! pkg-config, libelf and zlib with headers (libbpf-sys).
//!
//! [`NativeCompiler`] compiles the header to a shared library for this machine, which fairpace-cc's feature
//! `plugin` loads.
//!
//! The crate works in a build script and at run time. It reports clang's messages and never panics. It loads
//! nothing, and holds no algorithm of its own.
//!
//! ```no_run
//! use fairpace_bpf_build::{Algorithm, BpfCompiler, Kind, Sources};
//!
//! # fn main() -> Result<(), fairpace_bpf_build::Error> {
//! let compiler = BpfCompiler::new(Sources::contained()?)?;
//! let object = compiler.compile(&Algorithm::new("mine.h", Kind::OwnsCwnd)?)?;
//! // object.elf is the file; with fairpace_kernel: Object::from_elf(&object.elf)
//! # Ok(())
//! # }
//! ```
//!
//! A whole `mine.h` that compiles:
//!
//! ```
//! # use fairpace_bpf_build::{Algorithm, BpfCompiler, Error, Kind, Sources};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let header = r#"
//! #include "contract/params.h"
//!
//! /* a window that never changes */
//! #define mine_parameters(P) P(cwnd_pkts, 20, 1, 1000, CC_UNIT_PKTS, "the window", "any")
//! struct mine_params { mine_parameters(CC_PARAM_FIELD) };
//! struct mine { struct mine_params p; };
//!
//! CC_INLINE void mine_init(struct mine *s, const struct mine_params *p, const struct cc_view *v,
//!                          struct cc_decision *d)
//! {
//!     s->p = *p;
//!     d->cwnd_pkts = p->cwnd_pkts;
//! }
//! CC_INLINE void mine_on_ack(struct mine *s, const struct cc_view *v, struct cc_decision *d)
//! {
//!     d->cwnd_pkts = s->p.cwnd_pkts;
//! }
//! CC_INLINE void mine_on_event(struct mine *s, u32 event, const struct cc_view *v, struct cc_decision *d)
//! {
//!     d->cwnd_pkts = s->p.cwnd_pkts;
//! }
//! "#;
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("mine.h");
//! std::fs::write(&path, header)?;
//! match BpfCompiler::new(Sources::contained()?) {
//!     Ok(compiler) => {
//!         let object = compiler.compile(&Algorithm::new(&path, Kind::OwnsCwnd)?)?;
//!         assert!(object.elf.starts_with(b"\x7fELF"));
//!     }
//!     Err(Error::NoClang { .. }) => println!("this machine has no clang"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod algorithm;
mod compiler;
mod error;
#[cfg(feature = "headers")]
mod native;
mod objects;
mod settings;
mod sources;

pub use algorithm::{Algorithm, Kind};
pub use compiler::{BpfCompiler, Object};
pub use error::Error;
#[cfg(feature = "headers")]
pub use native::{Library, NativeCompiler, private_folder};
pub use objects::{TOOLS, check_objects, compile_all, read_objects, write_objects};
#[cfg(feature = "headers")]
pub use sources::CONTRACT;
pub use sources::Sources;
