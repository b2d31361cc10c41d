//! Tables of finished runs: CSV with a header, a row per run. What takes hours is computed once and
//! committed as such a table; figures then read it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Why a table says nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read, or is no CSV.
    #[error("cannot read the table {}: {source}", path.display())]
    Unreadable {
        /// Which table.
        path: PathBuf,
        /// Why.
        source: csv::Error,
    },
    /// It lacks a column.
    #[error("the table {} has no column `{column}`; it has {known}", path.display())]
    NoColumn {
        /// Which table.
        path: PathBuf,
        /// What was asked for.
        column: String,
        /// What there is.
        known: String,
    },
    /// A value is not a number.
    #[error("line {line} of the table {}: `{value}` in column `{column}` is no number", path.display())]
    NotANumber {
        /// Which table.
        path: PathBuf,
        /// Where, from 1.
        line: u64,
        /// In which column.
        column: String,
        /// As written.
        value: String,
    },
}

/// In place of a column's name in a filter: its value is names of columns, and of rows that have the same in
/// all of them only the first counts.
const DISTINCT: &str = "distinct";

/// In place of a column's name in a filter: its value is names of columns, and rows that have the same in all
/// of them give one number, their mean.
const MEAN: &str = "mean";

/// The numbers in `column` of the rows that have, for each of `filters`, this value in this column, as
/// written. Empty fields are left out; no row at all is no error. The filter `distinct=COLUMN,...` counts
/// rows once that are the same in these columns. With `mean=seed` there is a number per seed, the mean over
/// all rows of this seed, so that an interval over them is one over seeds.
///
/// # Errors
/// When the table cannot be read, lacks a column, or has something else than a number in `column` of such a
/// row.
pub fn table(path: &Path, filters: &[(String, String)], column: &str) -> Result<Vec<f64>, Error> {
    let unreadable = |source| Error::Unreadable { path: path.to_owned(), source };
    let mut reader = csv::Reader::from_path(path).map_err(unreadable)?;
    let header = reader.headers().map_err(unreadable)?.clone();
    let position = |name: &str| {
        header.iter().position(|known| known == name).ok_or_else(|| Error::NoColumn {
            path: path.to_owned(),
            column: name.to_owned(),
            known: header.iter().collect::<Vec<_>>().join(", "),
        })
    };
    let wanted = position(column)?;
    let columns = |of: &str| -> Result<Vec<usize>, Error> {
        let named = filters.iter().filter(|(name, _)| name == of);
        named.flat_map(|(_, names)| names.split(',')).map(|name| position(name.trim())).collect()
    };
    let (distinct, groups) = (columns(DISTINCT)?, columns(MEAN)?);
    let filters = filters.iter().filter(|(name, _)| ![DISTINCT, MEAN].contains(&name.as_str()));
    let filters: Vec<(usize, &str)> =
        filters.map(|(name, value)| Ok((position(name)?, value.as_str()))).collect::<Result<_, Error>>()?;
    let (mut numbers, mut seen) = (Vec::new(), HashSet::new());
    for row in reader.records() {
        let row = row.map_err(unreadable)?;
        let field = |index: usize| row.get(index).unwrap_or_default();
        let value = field(wanted);
        if value.is_empty() || filters.iter().any(|(index, value)| field(*index) != *value) {
            continue;
        }
        let fields = |of: &[usize]| of.iter().map(|index| field(*index).to_owned()).collect::<Vec<_>>();
        if !distinct.is_empty() && !seen.insert(fields(&distinct)) {
            continue;
        }
        let number: f64 = value.parse().map_err(|_| Error::NotANumber {
            path: path.to_owned(),
            line: row.position().map_or(0, csv::Position::line),
            column: column.to_owned(),
            value: value.to_owned(),
        })?;
        numbers.push((fields(&groups), number));
    }
    Ok(if groups.is_empty() {
        numbers.into_iter().map(|(_, number)| number).collect()
    } else {
        means(numbers)
    })
}

/// The mean of each group, in the order of their first rows.
fn means(numbers: Vec<(Vec<String>, f64)>) -> Vec<f64> {
    let mut groups: Vec<(Vec<String>, Vec<f64>)> = Vec::new();
    for (group, number) in numbers {
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, all)) => all.push(number),
            None => groups.push((group, vec![number])),
        }
    }
    groups.into_iter().map(|(_, all)| all.iter().sum::<f64>() / all.len() as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(filters: &[(&str, &str)], column: &str) -> Result<Vec<f64>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.csv");
        std::fs::write(&path, "cc,rate,jain\nbbr3,1gbit,0.5\nbbr3,10gbit,0.75\ncubic,1gbit,\n").unwrap();
        let filters: Vec<_> = filters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        table(&path, &filters, column).map_err(|error| error.to_string())
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
    fn an_unknown_column_is_an_error_that_lists_the_known_ones() {
        let error = read(&[("queue", "fifo")], "jain").unwrap_err();
        assert!(error.contains("no column `queue`; it has cc, rate, jain"), "{error}");
        let error = read(&[], "cc").unwrap_err();
        assert!(error.contains("line 2") && error.contains("`bbr3` in column `cc`"), "{error}");
    }
}
