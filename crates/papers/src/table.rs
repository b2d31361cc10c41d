//! Tables of finished runs: CSV with a header and a row for each run, compressed if the name ends with `.gz`.
//! Runs that take hours are made once and committed as such a table, which figures then read.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};

/// The operating system in the header of gzip: "unknown" (RFC 1952, section 2.3.1).
const NO_SYSTEM: u8 = 255;

/// Reads the text of a table.
///
/// # Errors
/// Returns an error if the file cannot be read or decompressed.
pub fn read(path: &Path) -> io::Result<String> {
    if !is_packed(path) {
        return fs::read_to_string(path);
    }
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// The bytes of a table's file with this text. Equal texts give equal bytes.
///
/// # Errors
/// Returns an error if the text cannot be compressed.
pub fn bytes(path: &Path, text: &str) -> io::Result<Vec<u8>> {
    if !is_packed(path) {
        return Ok(text.as_bytes().to_vec());
    }
    let header = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    let mut packer = header.write(Vec::new(), Compression::best());
    packer.write_all(text.as_bytes())?;
    packer.finish()
}

fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Name of a filter in place of a column. The value of the filter is a list of columns; of rows that are
/// equal in all of these columns, only the first counts.
const DISTINCT: &str = "distinct";

/// Name of a filter in place of a column. The value of the filter is a list of columns; rows that are equal
/// in all of these columns give one number, their mean.
const MEAN: &str = "mean";

/// The rows of a table, which is read once for all numbers that a figure takes from it.
#[derive(Debug, PartialEq)]
pub struct Rows {
    path: PathBuf,
    /// SHA-256 of the table's text.
    pub(crate) digest: Vec<u8>,
    header: StringRecord,
    records: Vec<StringRecord>,
}

impl Rows {
    /// Reads a table.
    ///
    /// # Errors
    /// Returns a message if the file cannot be read or is not CSV.
    pub fn read(path: &Path) -> Result<Self, String> {
        let unreadable = |error: csv::Error| format!("cannot read the table {}: {error}", path.display());
        let text = read(path).map_err(|error| unreadable(error.into()))?;
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().map_err(unreadable)?.clone();
        let records = reader.records().collect::<Result<_, _>>().map_err(unreadable)?;
        Ok(Rows { path: path.to_owned(), digest: Sha256::digest(&text).to_vec(), header, records })
    }

    /// The numbers in `column` of the rows that have, for each of `filters`, this value in this column, as
    /// written. Empty fields are left out; if no row matches, the list is empty. The filter
    /// `distinct=COLUMN,...` counts rows that are equal in these columns once. With `mean=seed` there is a
    /// number for each seed, the mean over all rows of this seed, so that an interval over the numbers is one
    /// over seeds. A seed with fewer rows than another one is left out, because its mean would be over other
    /// rows.
    ///
    /// # Errors
    /// Returns a message if the table lacks a column, or if `column` of such a row has a text that is not a
    /// number.
    pub fn numbers(&self, filters: &[(String, String)], column: &str) -> Result<Vec<f64>, String> {
        let wanted = self.position(column)?;
        let columns = |of: &str| -> Result<Vec<usize>, String> {
            let named = filters.iter().filter(|(name, _)| name == of);
            named.flat_map(|(_, names)| names.split(',')).map(|name| self.position(name.trim())).collect()
        };
        let (distinct, groups) = (columns(DISTINCT)?, columns(MEAN)?);
        let filters = filters.iter().filter(|(name, _)| ![DISTINCT, MEAN].contains(&name.as_str()));
        let filters = filters.map(|(name, value)| Ok((self.position(name)?, value.as_str())));
        let filters: Vec<(usize, &str)> = filters.collect::<Result<_, String>>()?;
        let (mut numbers, mut seen) = (Vec::new(), HashSet::new());
        for row in &self.records {
            let field = |index: usize| row.get(index).unwrap_or_default();
            let value = field(wanted);
            if value.is_empty() || filters.iter().any(|(index, value)| field(*index) != *value) {
                continue;
            }
            let fields = |of: &[usize]| of.iter().map(|index| field(*index).to_owned()).collect::<Vec<_>>();
            if !distinct.is_empty() && !seen.insert(fields(&distinct)) {
                numbers.push((fields(&groups), None));
                continue;
            }
            let number: f64 = value.parse().map_err(|_| {
                let line = row.position().map_or(0, csv::Position::line);
                let name = self.path.display();
                format!("line {line} of the table {name}: `{value}` in column `{column}` is no number")
            })?;
            numbers.push((fields(&groups), Some(number)));
        }
        Ok(if groups.is_empty() {
            numbers.into_iter().filter_map(|(_, number)| number).collect()
        } else {
            means(numbers)
        })
    }

    fn position(&self, column: &str) -> Result<usize, String> {
        self.header.iter().position(|known| known == column).ok_or_else(|| {
            let known = self.header.iter().collect::<Vec<_>>().join(", ");
            format!("the table {} has no column `{column}`; it has {known}", self.path.display())
        })
    }
}

/// The mean of each group that has as many rows as the largest group, in the order of their first rows. A row
/// without a number does not count again.
fn means(rows: Vec<(Vec<String>, Option<f64>)>) -> Vec<f64> {
    let mut groups: Vec<(Vec<String>, Vec<Option<f64>>)> = Vec::new();
    for (group, number) in rows {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, all)) => all.push(number),
            None => groups.push((group, vec![number])),
        }
    }
    let most = groups.iter().map(|(_, all)| all.len()).max().unwrap_or_default();
    let complete = groups.into_iter().filter(|(_, all)| all.len() == most);
    complete
        .filter_map(|(_, all)| {
            let numbers: Vec<f64> = all.into_iter().flatten().collect();
            (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(filters: &[(&str, &str)], column: &str) -> Result<Vec<f64>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.csv");
        std::fs::write(&path, "cc,rate,jain\nbbr3,1gbit,0.5\nbbr3,10gbit,0.75\ncubic,1gbit,\n").unwrap();
        let filters: Vec<_> = filters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Rows::read(&path)?.numbers(&filters, column)
    }

    #[test]
    fn rows_are_chosen_by_what_their_columns_say() {
        assert_eq!(read(&[], "jain").unwrap(), [0.5, 0.75]);
        assert_eq!(read(&[("cc", "bbr3"), ("rate", "10gbit")], "jain").unwrap(), [0.75]);
        assert!(read(&[("cc", "reno")], "jain").unwrap().is_empty());
    }

    #[test]
    fn rows_that_are_the_same_in_some_columns_count_once() {
        assert_eq!(read(&[("distinct", "cc")], "jain").unwrap(), [0.5], "both rows are of bbr3");
        assert_eq!(read(&[("distinct", "cc, rate")], "jain").unwrap(), [0.5, 0.75]);
        assert_eq!(
            read(&[("rate", "10gbit"), ("distinct", "cc")], "jain").unwrap(),
            [0.75],
            "of those that count"
        );
        let error = read(&[("distinct", "cc,queue")], "jain").unwrap_err();
        assert!(error.contains("no column `queue`"), "{error}");
    }

    #[test]
    fn rows_of_a_group_give_their_mean() {
        assert_eq!(read(&[("mean", "cc")], "jain").unwrap(), [0.625], "CUBIC has no number");
        assert_eq!(read(&[("mean", "rate")], "jain").unwrap(), [0.5, 0.75]);
        assert_eq!(read(&[("mean", "cc, rate"), ("rate", "10gbit")], "jain").unwrap(), [0.75]);
        let error = read(&[("mean", "seed")], "jain").unwrap_err();
        assert!(error.contains("no column `seed`"), "{error}");
    }

    #[test]
    fn a_group_without_all_rows_gives_no_mean() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.csv");
        let rows = ["1,1gbit,0.5,7", "1,10gbit,0.7,7", "2,1gbit,0.6,8", "2,10gbit,0.9,9", "3,1gbit,0.1,10"];
        std::fs::write(&path, format!("seed,rate,jain,packets\n{}\n", rows.join("\n"))).unwrap();
        let read = |filters: &[(&str, &str)]| {
            let filters: Vec<_> = filters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            Rows::read(&path).unwrap().numbers(&filters, "jain").unwrap()
        };
        assert_eq!(read(&[("mean", "seed")]), [0.6, 0.75], "seed 3 has no run at 10 Gbit/s");
        assert_eq!(read(&[("mean", "seed"), ("rate", "1gbit")]), [0.5, 0.6, 0.1]);
        // the second row of seed 1 is the first one again, and is there
        assert_eq!(read(&[("mean", "seed"), ("distinct", "packets")]), [0.5, 0.75]);
    }

    #[test]
    fn an_unknown_column_is_an_error_that_lists_the_known_ones() {
        let error = read(&[("queue", "fifo")], "jain").unwrap_err();
        assert!(error.contains("no column `queue`; it has cc, rate, jain"), "{error}");
        let error = read(&[], "cc").unwrap_err();
        assert!(error.contains("line 2") && error.contains("`bbr3` in column `cc`"), "{error}");
    }
}
