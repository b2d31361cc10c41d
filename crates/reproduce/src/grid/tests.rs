use std::collections::BTreeSet;

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
    let scenario = cells.last().unwrap().scenario().unwrap();
    assert_eq!(scenario.flows.len(), 500, "ten flows per sender and Gbit/s");
}

#[test]
fn every_cell_is_a_scenario_of_its_own() {
    let one_gbit = cells(DURATION, 1).into_iter().filter(|cell| cell.rate == "1gbit");
    let hashes: BTreeSet<_> = one_gbit.map(|cell| cell.scenario().unwrap().hash).collect();
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
    let scenario = short_cell().scenario().unwrap();
    let (first, last) = (scenario.flows.first().unwrap(), scenario.flows.last().unwrap());
    assert_eq!((first.cc.to_string().as_str(), first.rtt.as_millis()), ("bbr3", 35));
    assert_eq!((last.cc.to_string().as_str(), last.rtt.as_millis()), ("cubic", 56));
}

#[test]
fn a_run_survives_in_the_table_and_half_a_line_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("grid.csv");
    let cell = short_cell();
    let scenario = cell.scenario().unwrap();
    let run = fairpace_sim::run(&scenario, &mut Silent).unwrap();
    let row = cell.row(&run.summary);
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
    let run = fairpace_sim::run(&cell.scenario().unwrap(), &mut Silent).unwrap();
    let row = cell.row(&run.summary);
    let kept_no_flows = Row { scenario: "other".into(), ..row.clone() };
    write_parquet(&path, &[row, kept_no_flows], &flow_rows(&run.summary)).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 20 + 1);
}
