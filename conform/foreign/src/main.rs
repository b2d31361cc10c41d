//! Adaptors of `fairpace conform` for BBR implementations of other projects: `fairpace-foreign NAME`.

#![allow(non_snake_case)] // Bps: bytes per second

mod bbr_crate;
mod noq;
mod ranges;
mod s2n;

use std::error::Error;
use std::io;

use fairpace_conform::{Subject, serve};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let mut subject: Box<dyn Subject> = match name.as_str() {
        "bbr" => Box::new(bbr_crate::Adaptor::default()),
        "noq-proto" => Box::new(noq::Adaptor::default()),
        "s2n-quic-core" => Box::new(s2n::Adaptor::default()),
        _ => return Err("name a subject: bbr, noq-proto or s2n-quic-core".into()),
    };
    Ok(serve(&mut *subject, io::stdin().lock(), io::stdout().lock())?)
}
