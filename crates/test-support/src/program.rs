//! The contents of a program that was built.

use std::path::Path;

/// The type of a loaded segment (ELF specification, `PT_LOAD`).
const LOADED: u32 = 1;

/// Returns whether a program of this machine (ELF, 64 bits) has this text in its loaded segments. Names and
/// lines for debuggers are not loaded; a release has none of them.
///
/// # Panics
/// The file cannot be read, or is no such program.
pub fn is_in_program(program: &Path, text: &str) -> bool {
    let bytes = std::fs::read(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert_eq!(bytes[..5], *b"\x7fELF\x02", "no ELF file of 64 bits");
    let number = |at: usize, length: usize| {
        let field = bytes[at..at + length].iter();
        let digits: Vec<u64> = match cfg!(target_endian = "big") {
            true => field.copied().map(u64::from).collect(),
            false => field.rev().copied().map(u64::from).collect(),
        };
        digits.into_iter().fold(0, |number, byte| number << 8 | byte) as usize
    };
    // e_phoff, e_phentsize, e_phnum; then of each segment p_type, p_offset, p_filesz
    let (first, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let loaded = (0..count).map(|index| first + index * size).filter(|at| number(*at, 4) == LOADED as usize);
    let mut segments = loaded.map(|at| &bytes[number(at + 8, 8)..][..number(at + 32, 8)]);
    segments.any(|segment| segment.windows(text.len()).any(|part| part == text.as_bytes()))
}
