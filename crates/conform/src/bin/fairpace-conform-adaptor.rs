//! An adaptor for the algorithms of Fairpace: `cargo run --bin fairpace-conform-adaptor -- bbr3`.
//!
//! For another stack, implement [`fairpace_conform::Subject`] for its algorithm, as `own.rs` of this crate
//! does.

use std::error::Error;
use std::io;

use fairpace_cc::Algorithm;
use fairpace_conform::{Own, serve};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "bbr3_draft".to_owned());
    let mut subject = Own::new(Algorithm::by_name(&name)?);
    Ok(serve(&mut subject, io::stdin().lock(), io::stdout().lock())?)
}
