//! Turns a run into one HTML file
