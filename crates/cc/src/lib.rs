//! Safe wrapper over the C algorithms, built natively
