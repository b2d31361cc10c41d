//! Virtual-time driver: path elements and TCP models from a scenario file
