//! Network elements without I/O: links, queues and delays; time is an argument
