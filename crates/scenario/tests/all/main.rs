//! Scenario files: what is read, what is refused with which error, and the canonical form.

mod errors;
mod file_errors;
mod hashes;
mod hostile;
mod key_errors;
mod keys;
mod model_errors;
mod properties;
mod reading;
mod routes;
mod support;
mod timed;
mod typed;
