use std::collections::BTreeSet;
use std::path::Path;

use fairpace_results::Silent;

use super::*;

fn short_cell() -> Cell {
    let cells = cells(Duration::from_secs(2), 1);
    cells.into_iter().find(|cell| cell.pair == ("bbr3", "cubic") && cell.rtt == "35ms/56ms").unwrap()
}

#[test]
fn the_grid_has_the_papers_972_runs() {
    let cells = cells(DURATION, 1);
    assert_eq!(cells.len(), 972);
    let pairs: BTreeSet<_> = cells.iter().map(Cell::pair_name).collect();
    assert_eq!(pairs.len(), 12);
    let scenario = cells.last().unwrap().scenario(&[], Target::Simulator).unwrap();
    assert_eq!(scenario.flows.len(), 500, "ten flows per sender and Gbit/s");
}

#[test]
fn every_cell_is_a_scenario_of_its_own() {
    let one_gbit = cells(DURATION, 1).into_iter().filter(|cell| cell.rate == "1gbit");
    let hashes: BTreeSet<_> =
        one_gbit.map(|cell| cell.scenario(&[], Target::Simulator).unwrap().hash).collect();
    assert_eq!(hashes.len(), 324);
}

#[test]
fn starts_are_near_simultaneous_and_the_seeds() {
    let first: Vec<_> = starts(1).take(500).collect();
    assert!(first.iter().all(|start| *start < START_SPREAD));
    assert!(
        first.iter().max() > Some(&Duration::from_millis(95))
            && first.iter().min() < Some(&Duration::from_millis(5))
    );
    assert_eq!(first, starts(1).take(500).collect::<Vec<_>>());
    assert_ne!(first, starts(2).take(500).collect::<Vec<_>>());
}

#[test]
fn mixed_rtts_belong_to_the_senders_in_order() {
    let scenario = short_cell().scenario(&[], Target::Simulator).unwrap();
    let (first, last) = (scenario.flows.first().unwrap(), scenario.flows.last().unwrap());
    assert_eq!((first.cc.to_string().as_str(), first.rtt.as_millis()), ("bbr3", 35));
    assert_eq!((last.cc.to_string().as_str(), last.rtt.as_millis()), ("cubic", 56));
}

#[test]
fn a_run_survives_in_the_table_and_half_a_line_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grid.csv");
    let cell = short_cell();
    let scenario = cell.scenario(&[], Target::Simulator).unwrap();
    let run = fairpace_sim::run(&scenario, &mut Silent).unwrap();
    let row = cell.row(&scenario, &run.summary);
    assert!(row.goodput1_mbps > 0.0 && row.flows == 20, "{row:?}");
    let mut table = RunTable::open(&path).unwrap();
    assert!(matches!(RunTable::open(&path), Err(Error::Busy(_))), "two at once");
    table.append(row.clone(), &flow_rows(&run.summary)).unwrap();
    drop(table);
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{whole}bbr3/bbr3,fifo,1bd")).unwrap();
    let mut table = RunTable::open(&path).unwrap();
    assert_eq!(table.row(&cell), Some(&row));
    assert!(cell.is_current(&row, &scenario));
    assert_eq!(table.flows().unwrap().len(), 20);
    // made again: the later row replaces the earlier one
    let again = Row { commit: "later".into(), ..row };
    table.append(again.clone(), &flow_rows(&run.summary)).unwrap();
    table.tidy(|_| 0).unwrap();
    assert_eq!(table.rows(), std::slice::from_ref(&again));
    drop(table);
    assert_eq!(RunTable::open(&path).unwrap().rows(), [again]);
}

#[test]
fn the_parquet_file_has_a_row_per_flow() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grid.parquet");
    let cell = short_cell();
    let scenario = cell.scenario(&[], Target::Simulator).unwrap();
    let run = fairpace_sim::run(&scenario, &mut Silent).unwrap();
    let row = cell.row(&scenario, &run.summary);
    let kept_no_flows = Row { scenario: "other".into(), ..row.clone() };
    write_parquet(&path, &[row, kept_no_flows], &flow_rows(&run.summary)).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 20 + 1);
}

#[test]
fn only_a_file_of_ours_is_replaced_by_parquet() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grid.parquet");
    write_parquet(&path, &[], &[]).unwrap();
    write_parquet(&path, &[], &[]).unwrap();
    let mine = dir.path().join("mine.parquet");
    std::fs::write(&mine, "years of work").unwrap();
    let link = dir.path().join("link.parquet");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let foreign = dir.path().join("foreign.parquet");
    let column: arrow_array::ArrayRef = std::sync::Arc::new(arrow_array::UInt64Array::from(vec![1]));
    let batch = arrow_array::RecordBatch::try_from_iter([("x", column)]).unwrap();
    let file = std::fs::File::create(&foreign).unwrap();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    for kept in [mine.as_path(), &link, &foreign, dir.path(), Path::new("/dev/null")] {
        let error = write_parquet(kept, &[], &[]).unwrap_err();
        assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "years of work");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
}

#[test]
fn a_file_of_another_kind_is_no_table_and_keeps_every_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.csv");
    for text in ["my notes, without an end of line", "a,b\n", "a,b\n1,2\n3", "pair,queue\n"] {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(RunTable::open(&path), Err(Error::NotATable { .. })), "{text:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    assert!(matches!(RunTable::open(Path::new("/dev/null")), Err(Error::NotATable { .. })));
    // a crash in the first line of all
    std::fs::write(&path, "pair,queue,buf").unwrap();
    assert!(RunTable::open(&path).unwrap().rows().is_empty());
}

#[test]
fn no_text_of_the_table_is_a_formula_for_a_spreadsheet() {
    let scenario = short_cell().scenario(&[], Target::Simulator).unwrap();
    let names = scenario.flows.iter().map(|flow| flow.name.clone());
    let words = cells(DURATION, 1).into_iter().flat_map(|cell| {
        [
            cell.pair_name(),
            cell.queue.to_owned(),
            cell.buffer.to_owned(),
            cell.rate.to_owned(),
            cell.rtt.to_owned(),
        ]
    });
    for word in names.chain(words) {
        assert!(word.starts_with(|c: char| c.is_ascii_alphanumeric()), "{word}");
    }
}

#[test]
fn a_variant_is_another_scenario_with_the_same_starts() {
    let set = ["flow.mtu=9000".parse().unwrap()];
    let [usual, jumbo] =
        [&[][..], &set].map(|variant| short_cell().scenario(variant, Target::Simulator).unwrap());
    assert_ne!(usual.hash, jumbo.hash);
    assert!(jumbo.flows.iter().all(|flow| flow.sending.mtu_bytes == 9000));
    let starts = |of: &Scenario| of.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    assert_eq!(starts(&usual), starts(&jumbo));
    let unknown = ["flow.nothing=1".parse().unwrap()];
    assert!(short_cell().scenario(&unknown, Target::Simulator).is_err());
}

#[test]
fn columns_name_one_run_or_none() {
    let column = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut columns = vec![
        column("pair", "bbr3/cubic"),
        column("rate", "1gbit"),
        column("queue", "fifo"),
        column("rtt", "145ms"),
        column("buffer", "1bdp"),
        column("duration_s", "150.0"),
    ];
    let cell = Cell::with(&columns, 3).unwrap();
    assert_eq!((cell.pair, cell.buffer, cell.duration, cell.seed), (("bbr3", "cubic"), "1bdp", DURATION, 3));
    for (index, wrong) in [(5, "0"), (4, "3bdp"), (0, "bbr3/bbr1")] {
        let mut others = columns.clone();
        others[index].1 = wrong.to_owned();
        assert_eq!(Cell::with(&others, 3).is_some(), index == 5, "{wrong}: only a length is free");
    }
    columns.push(column("mean", "seed"));
    assert_eq!(Cell::with(&columns, 3), None, "means are of several runs");
    columns.truncate(4);
    assert_eq!(Cell::with(&columns, 3), None, "neither the buffer nor the length");
}

#[test]
fn a_row_has_the_numbers_of_its_table() {
    let cell = short_cell();
    let scenario = cell.scenario(&[], Target::Simulator).unwrap();
    let row = cell.row(&scenario, &fairpace_sim::run(&scenario, &mut Silent).unwrap().summary);
    assert_eq!(row.number("jain"), row.jain);
    assert_eq!(row.number("utilization"), Some(row.utilization));
    assert_eq!(row.number("retransmits"), Some(row.retransmits as f64));
    let variant = ["link.rate=100mbit", "flow.count=1"].map(|set| set.parse::<Set>().unwrap());
    let tenth = cell.scenario(&variant, Target::Simulator).unwrap();
    let small = cell.row(&tenth, &fairpace_sim::run(&tenth, &mut Silent).unwrap().summary);
    assert!(small.goodput1_mbps > 0.0 && small.goodput2_mbps > 0.0, "one flow per sender: {small:?}");
    assert!(small.utilization > 0.5 && small.utilization < 1.0, "over the rate that was run: {small:?}");
    assert_eq!((row.number("pair"), row.number("fairness")), (None, None), "no number, no column");
    assert!(row.has("pair") && !row.has("fairness"));
}
