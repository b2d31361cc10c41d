//! The receiving end of DCTCP: `cc/bpf/dctcp_echo.bpf.c`.

use crate::load::{Registration, register};
use crate::{Error, Features, LoadOptions, adapt, names};

/// Name of the embedded object.
const OBJECT: &str = "dctcp_echo";
/// Its name in the kernel, before the suffix.
const KERNEL_NAME: &str = "fp_dctcp_echo";

/// The exact echo of marks (RFC 8257, section 3.2) in the kernel, for receiving sockets. Dropping it
/// unregisters it; sockets that use it go on using it until they close.
#[derive(Debug)]
pub struct DctcpEcho {
    name: String,
    #[expect(dead_code, reason = "it keeps the echo registered")]
    registration: Registration,
}

impl DctcpEcho {
    /// Loads the echo under a name that nothing else in the kernel has.
    ///
    /// # Errors
    /// The errors of [`load`](crate::load).
    pub fn load() -> Result<DctcpEcho, Error> {
        let features = Features::probe();
        features.require()?;
        let name = names::with_suffix(KERNEL_NAME, &LoadOptions::unique().suffix);
        let mut object = adapt::load_tool(OBJECT, &name, &features)?;
        let registration = register(&mut object, &name, features.interface.has_links)?;
        Ok(DctcpEcho { name, registration })
    }

    /// The name by which a receiving socket selects the echo (TCP_CONGESTION).
    pub fn kernel_name(&self) -> &str {
        &self.name
    }
}
