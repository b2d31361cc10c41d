//! Network elements from outside: queues against queueing theory, and AQMs against their specifications.

mod disciplines;
mod queueing;
mod red;
