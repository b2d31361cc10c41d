//! Widths of texts in pictures, which SVG cannot measure. They are those of DejaVu Sans, the widest of the
//! fonts that stand for `system-ui` on desktops: a text in another font needs less.

/// Advance widths of the characters from space to `~`, in thousandths of the size of the font (DejaVu Sans
/// 2.37).
const REGULAR: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, // ' ' to '/'
    636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, // '0' to '?'
    1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, // '@' to 'O'
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, // 'P' to '_'
    500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, // '`' to 'o'
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838, // 'p' to '~'
];

/// The same of its bold weight, which also stands for semibold.
const BOLD: [u16; 95] = [
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, // ' ' to '/'
    696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580, // '0' to '?'
    1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850, // '@' to 'O'
    733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, // 'P' to '_'
    500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, // '`' to 'o'
    716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838, // 'p' to '~'
];

/// Width of every other character: an em, which is the width of a Chinese one.
const OTHER: u16 = 1000;

/// Width of a text in a font of this size.
#[must_use]
pub fn width(text: &str, size: f64) -> f64 {
    of(text, size, &REGULAR)
}

/// Width of a text in bold letters of this size.
#[must_use]
pub fn bold_width(text: &str, size: f64) -> f64 {
    of(text, size, &BOLD)
}

fn of(text: &str, size: f64, widths: &[u16; 95]) -> f64 {
    let letter = |c: char| {
        let index = u32::from(c).checked_sub(u32::from(' ')).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| widths.get(index)).copied().unwrap_or(OTHER)
    };
    // whole numbers, so that sums are the same on all machines
    text.chars().map(|c| u64::from(letter(c))).sum::<u64>() as f64 * size / 1000.0
}

/// Cuts the text to the given width.
pub(crate) fn clip(text: &str, most: f64, width: impl Fn(&str) -> f64) -> String {
    if width(text) <= most {
        return text.into();
    }
    let mut short: String = text.into();
    while !short.is_empty() && width(&short) + width("…") > most {
        short.pop();
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_width_of_its_letters() {
        assert_eq!(width("100+100ms", 11.0), 11.0 * (6.0 * 0.636 + 0.838 + 0.974 + 0.521));
        assert_eq!(width("", 11.0), 0.0);
        assert_eq!(width("–", 10.0), 10.0);
        for letter in ' '..='~' {
            let text = letter.to_string();
            assert!(bold_width(&text, 1.0) >= width(&text, 1.0), "{letter}");
        }
    }

    #[test]
    fn a_text_is_cut_to_its_width() {
        let narrow = |text: &str| width(text, 10.0);
        assert_eq!(clip("paper 42.5", 100.0, narrow), "paper 42.5");
        let cut = clip("a publication 42.5", 60.0, narrow);
        assert!(cut.ends_with('…') && narrow(&cut) <= 60.0, "{cut}");
        assert_eq!(clip("wide", 1.0, narrow), "…");
    }
}
