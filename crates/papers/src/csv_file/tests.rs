use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::*;

/// Path of a file of the experiment of Mahmud et al., 2025.
fn path(name: &str) -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reproduction/bbrv3-startup-mahmud2025");
    Path::new(root).join(name)
}

/// The rows of a table of that experiment at these places.
fn rows(of: &Tables, table: &str, places: &[&str]) -> CsvFile {
    let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
    let table = of.tables.iter().find(|of| of.name == table).unwrap();
    CsvFile::new(of, table, &places, false).unwrap()
}

#[test]
fn the_grid_has_the_papers_972_cells_and_each_is_a_scenario_of_its_own() {
    let grid = Tables::read(&path("grid.toml")).unwrap();
    let runs = grid.sheet.figure.runs.iter().filter(|run| grid.tables[0].rows.contains(&run.name));
    let points = runs.flat_map(|run| &run.sweep.as_ref().unwrap().points);
    assert_eq!(points.map(|point| &point.on[..5]).collect::<BTreeSet<_>>().len(), 972);
    let some = rows(&grid, "grid", &["rate=1gbit", "queue=fifo", "buffer=1bdp"]);
    let hashes: BTreeSet<&str> = some.rows().map(|row| row.scenario.hash.as_str()).collect();
    assert_eq!((hashes.len(), some.rows().count()), (180, 180), "12 pairs x 3 RTTs x 5 seeds");
    assert!(some.rows().all(|row| row.scenario.flows.len() == 20), "ten per sender and Gbit/s");
}

#[test]
fn starts_are_near_simultaneous_and_the_seeds() {
    let at = ["rate=25gbit", "queue=fifo", "buffer=1bdp", "pair=bbr3/cubic", "rtt=35ms/56ms"];
    let grid = Tables::read(&path("grid.toml")).unwrap();
    let (usual, jumbo) = (rows(&grid, "grid", &at), rows(&grid, "grid-jumbo", &at));
    let scenarios = |of: &CsvFile| of.rows().map(|row| row.scenario.clone()).collect::<Vec<_>>();
    let (usual, jumbo) = (scenarios(&usual), scenarios(&jumbo));
    let starts = |of: &Scenario| of.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    let first = starts(&usual[0]);
    let (least, most) = (first.iter().min().unwrap(), first.iter().max().unwrap());
    assert!(*least < Duration::from_millis(5) && *most > Duration::from_millis(95));
    assert!(*most < Duration::from_millis(100) && first.len() == 500);
    assert_ne!(first, starts(&usual[1]), "of another seed");
    assert_eq!(first, starts(&jumbo[0]), "a variant differs by what it sets");
    assert!(jumbo[0].flows.iter().all(|flow| flow.sending.mtu_bytes == 9000));
    let flow = |index: usize| {
        let flow = &usual[0].flows[index];
        (flow.cc.to_string(), flow.rtt.as_millis())
    };
    assert_eq!([flow(0), flow(499)], [("bbr3".to_owned(), 35), ("cubic".to_owned(), 56)]);
}

#[test]
fn the_committed_files_have_rows_of_the_scenarios_of_today() {
    let grid = Tables::read(&path("grid.toml")).unwrap();
    for table in &grid.tables {
        // the large scenarios take long, so of these only some; rows with FQ-CoDel are older than its
        // defaults
        let small = ["rate=1gbit", "rtt=145ms", "queue=fifo", "queue=red"];
        for places in
            [&small[..], &["rate=25gbit", "pair=bbr3/bbr3", "buffer=1bdp", "queue=fifo", "queue=red"]]
        {
            let some = rows(&grid, &table.name, places);
            let kept = some.kept(&path(&table.file)).unwrap();
            let lacks = some.rows().find(|row| !kept.contains_key(&row.key()));
            assert_eq!(lacks.map(|row| row.key()), None, "{}", table.file);
        }
    }
}

#[test]
fn columns_name_one_cell_or_none() {
    let mut at =
        ["pair=bbr3/cubic", "rate=1gbit", "queue=fifo", "rtt=145ms", "buffer=1bdp", "duration_s=150.0"];
    let points = |at: &[&str]| {
        let places: Vec<String> = at.iter().map(|place| (*place).to_owned()).collect();
        let cell = Tables::of_csv_file(&path("grid.csv.gz"), &places).unwrap();
        cell.plan(true).unwrap().scenarios().map(|of| of.hash.clone()).collect::<Vec<_>>()
    };
    let grid = Tables::read(&path("grid.toml")).unwrap();
    assert_eq!(points(&at), [rows(&grid, "grid", &at).rows().next().unwrap().scenario.hash.clone()]);
    assert_eq!(points(&at[..4]).len(), 3, "neither the buffer nor the length");
    assert_eq!(points(&[&at[..], &["mean=seed"]].concat()).len(), 0, "means are of several runs");
    at[4] = "buffer=3bdp";
    assert_eq!(points(&at).len(), 0);
}

#[test]
fn numbers_have_six_digits_and_counts_all() {
    let numbers = [0.986_541_23, 11_815_264.0, 1.0, 0.000_012_345_678, f64::NAN, 1_234.567_89];
    assert_eq!(numbers.map(written), ["0.986541", "11815264", "1", "0.0000123457", "", "1234.57"]);
}
