//! Writes the gallery to look at while working on it, from records that are made up or from a JSON array of
//! `PaperRecords`: `cargo run -p fairpace-papers --example gallery -- PAGE.html [PAPERS.json]`

#[path = "../tests/all/support/mod.rs"]
#[allow(dead_code)]
mod made_up;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let file = arguments.next().ok_or("usage: gallery PAGE.html [PAPERS.json]")?;
    let papers = match arguments.next() {
        Some(papers) => serde_json::from_str(&std::fs::read_to_string(papers)?)?,
        None => made_up::papers(),
    };
    let page = fairpace_papers::gallery::page(&papers);
    println!("{} bytes", page.len());
    std::fs::write(file, page)?;
    Ok(())
}
