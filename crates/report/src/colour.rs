//! Colours of curves, bars and marks. An algorithm has one colour in all pictures.

use std::fmt::Write as _;

use crate::plot::flow_class;

/// An algorithm's colour, with all names of the algorithm.
struct Entry {
    /// Names in lower case: of the algorithm itself, of its versions with the same rules, and of runs and
    /// labels.
    names: &'static [&'static str],
    /// The colour on a light background.
    light: Rgb,
    /// The colour on a dark background.
    dark: Rgb,
}

/// A colour: red, green, blue.
type Rgb = [u8; 3];

/// The colour of every algorithm. When they were chosen, the colours of algorithms that share a picture
/// differed by at least 12 units of CIE L*a*b* with normal vision and without red, green or blue cones
/// (simulated after Machado, 2009); no test checks this. Curves also have labels.
const ALGORITHMS: [Entry; 16] = [
    entry(&["bbr", "bbr1", "bbr1_49", "bbrv1", "v1"], [0x00, 0x72, 0xb2], [0x4a, 0xa9, 0xee]),
    entry(&["cubic"], [0xd5, 0x5e, 0x00], [0xff, 0x8b, 0x45]),
    entry(&["reno"], [0x7a, 0x7f, 0x87], [0xa9, 0xb0, 0xb8]),
    entry(&["bbq"], [0x00, 0x93, 0x70], [0x2b, 0xc7, 0x9a]),
    entry(&["bbq_firstcut", "firstcut"], [0x6f, 0x9c, 0x1f], [0xa5, 0xd2, 0x55]),
    entry(&["bbr2", "bbrv2", "v2"], [0x4f, 0xb0, 0xe0], [0xa6, 0xdc, 0xfa]),
    entry(&["bbr3", "bbrv3", "v3"], [0x4b, 0x2a, 0x9a], [0x86, 0x5f, 0xe6]),
    entry(&["bbr3e1", "bbrv3e1", "e1"], [0xd0, 0x6a, 0xa8], [0xf2, 0x9f, 0xd0]),
    entry(&["bbr3e2", "bbrv3e2", "e2"], [0xd0, 0x9c, 0x00], [0xf5, 0xd0, 0x5a]),
    entry(&["bbr3e3", "bbrv3e3", "e3"], [0x7d, 0x2a, 0x1c], [0xa8, 0x4e, 0x40]),
    entry(&["bbr1_drain", "bbr1_drain8"], [0x2a, 0xa1, 0xa8], [0x5f, 0xd8, 0xdc]),
    entry(&["nyu_latency", "nyu_latency8"], [0x6b, 0x5b, 0x00], [0xe8, 0xdc, 0x8a]),
    entry(&["nyu", "nyu8"], [0xa8, 0x32, 0x7f], [0xc8, 0x50, 0xa0]),
    entry(&["nyu_curve"], [0x8a, 0x9a, 0x00], [0xc4, 0xd4, 0x4a]),
    entry(&["nyu_line"], [0x8c, 0x5a, 0x3c], [0xcf, 0xa0, 0x80]),
    entry(&["level"], [0x14, 0x18, 0x1d], [0xf2, 0xf5, 0xf8]),
];

/// The colour of curves without an algorithm. It has a middle lightness, so that its tones differ.
const NEUTRAL: Entry = entry(&[], [0x5a, 0x63, 0x6d], [0xa0, 0xaa, 0xb5]);
/// CSS class of the neutral colour.
const NO_ALGORITHM: &str = "an";

/// Distance of a deep tone from the colour, percent of the way to black on a light background, to white on a
/// dark one.
const DEEPER: u32 = 45;
/// Distance of a pale tone from the colour, percent of the way to the background: the tone stays visible as a
/// thin line.
const PALER: u32 = 32;
/// Number of distinct looks: three tones, without and with dashes.
const MOST_TONES: usize = 6;
/// The backgrounds, light and dark, as `--paper` in palette.css and dark.css.
const PAPER: [Rgb; 2] = [[0xff, 0xff, 0xff], [0x14, 0x18, 0x1d]];
/// Least contrast of text to its background: WCAG 2, success criterion 1.4.3.
const READABLE: f64 = 4.5;

const fn entry(names: &'static [&'static str], light: Rgb, dark: Rgb) -> Entry {
    Entry { names, light, dark }
}

/// The colour of an algorithm, as an index of the table of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hue(usize);

impl Hue {
    /// The colour of the algorithm of this name; case does not matter.
    #[must_use]
    pub fn of(name: &str) -> Option<Hue> {
        let name = name.to_lowercase();
        ALGORITHMS.iter().position(|entry| entry.names.contains(&name.as_str())).map(Hue)
    }
}

/// The tone by which curves of one algorithm differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// The colour without a change.
    Plain,
    /// A darker tone; on a dark background a lighter one.
    Deep,
    /// A tone nearer to the background.
    Pale,
}

/// The colour of a curve, a bar or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// The colour of a series, by its index among the series of its picture.
    Series(usize),
    /// The colour of an algorithm, or the neutral colour.
    Algorithm {
        /// The algorithm's colour; `None` is the neutral colour, for no algorithm or several.
        hue: Option<Hue>,
        /// The tone that distinguishes the curve from others of the same algorithm.
        tone: Tone,
        /// Whether lines have dashes, because other curves of the algorithm have all tones.
        dashed: bool,
    },
}

impl Colour {
    /// The colour of an algorithm without a change of tone.
    #[must_use]
    pub fn plain(hue: Option<Hue>) -> Colour {
        Colour::Algorithm { hue, tone: Tone::Plain, dashed: false }
    }

    /// The colour of the curve with this index among `count` curves of the same algorithm in a picture. If
    /// there are more curves than tones and dashes can distinguish, the curves get the colours of series.
    #[must_use]
    pub fn among(hue: Option<Hue>, index: usize, count: usize) -> Colour {
        if count > MOST_TONES {
            return Colour::Series(index);
        }
        let tones: &[Tone] = match count {
            0 | 1 => &[Tone::Plain],
            2 => &[Tone::Deep, Tone::Pale],
            _ => &[Tone::Deep, Tone::Plain, Tone::Pale],
        };
        let dashed = index / tones.len() % 2 == 1;
        Colour::Algorithm { hue, tone: tones[index % tones.len()], dashed }
    }
}

/// CSS classes of a colour; `None` is the colour of text.
pub(crate) fn class(colour: Option<Colour>) -> String {
    let Some(Colour::Algorithm { hue, tone, dashed }) = colour else {
        let Some(Colour::Series(index)) = colour else { return flow_class(None) };
        return flow_class(Some(index));
    };
    let mut class = hue.map_or_else(|| NO_ALGORITHM.to_owned(), |Hue(index)| format!("a{index}"));
    class.push_str(match tone {
        Tone::Plain => "",
        Tone::Deep => " deep",
        Tone::Pale => " pale",
    });
    class.push_str(if dashed { " d1" } else { "" });
    class
}

/// The style sheet of the colour classes, for a light background and for a dark one where the reader prefers
/// it.
pub(crate) fn style() -> String {
    let light = rules(|entry| entry.light, [0, 0, 0], PAPER[0]);
    let dark = rules(|entry| entry.dark, [0xff, 0xff, 0xff], PAPER[1]);
    format!("{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n")
}

fn rules(of: impl Fn(&Entry) -> Rgb, deepest: Rgb, paper: Rgb) -> String {
    let algorithms = ALGORITHMS.iter().enumerate().map(|(index, entry)| (format!("a{index}"), entry));
    let all = algorithms.chain([(NO_ALGORITHM.to_owned(), &NEUTRAL)]);
    all.fold(String::new(), |mut style, (class, entry)| {
        let plain = of(entry);
        let tones =
            [("", plain), (".deep", mixed(plain, deepest, DEEPER)), (".pale", mixed(plain, paper, PALER))];
        for (tone, colour) in tones {
            let text = readable(colour, deepest, paper);
            let _ = writeln!(style, ".{class}{tone} {{ --c: {}; --t: {}; }}", hex(colour), hex(text));
        }
        style
    })
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colour of text that is nearest to a colour on the way to the deepest one.
fn readable(colour: Rgb, deepest: Rgb, paper: Rgb) -> Rgb {
    let mut tones = (0..100).map(|percent| mixed(colour, deepest, percent));
    tones.find(|tone| contrast(*tone, paper) >= READABLE).unwrap_or(deepest)
}

/// The contrast ratio of two colours, from 1 to 21 (WCAG 2).
fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |of: Rgb| {
        let linear = of.map(|part| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        });
        linear.iter().zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum::<f64>()
    };
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// The colour that is this percentage of the way from one to another.
fn mixed(from: Rgb, to: Rgb, percent: u32) -> Rgb {
    let part = |i: usize| (u32::from(from[i]) * (100 - percent) + u32::from(to[i]) * percent + 50) / 100;
    [0, 1, 2].map(|i| u8::try_from(part(i)).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_algorithm_has_a_colour_of_its_own_and_every_name_one_algorithm() {
        let names: Vec<&str> = ALGORITHMS.iter().flat_map(|entry| entry.names).copied().collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        assert!(names.iter().all(|name| name.to_lowercase() == *name), "names are in lower case");
        for of in [|entry: &Entry| entry.light, |entry: &Entry| entry.dark] {
            let colours: HashSet<Rgb> = ALGORITHMS.iter().map(of).collect();
            assert_eq!(colours.len(), ALGORITHMS.len());
        }
        assert_eq!(Hue::of("BBRv1"), Hue::of("bbr1_49"));
        assert_ne!(Hue::of("bbr"), Hue::of("bbq"));
        assert_eq!(Hue::of("vegas"), None);
    }

    #[test]
    fn curves_of_an_algorithm_differ() {
        for count in 1..=24 {
            let classes: HashSet<String> =
                (0..count).map(|i| class(Some(Colour::among(Hue::of("bbr"), i, count)))).collect();
            assert_eq!(classes.len(), count, "{classes:?}");
        }
    }

    #[test]
    fn the_style_has_each_class_that_is_used() {
        let style = style();
        for colour in [Colour::among(Hue::of("level"), 0, 2), Colour::among(None, 1, 2)] {
            let class = class(Some(colour)).replace(' ', ".");
            assert_eq!(style.matches(&format!(".{class} {{")).count(), 2, "{class} in {style}");
        }
    }

    /// The value of a variable in one of the palettes, where it may be that of another variable.
    fn value(palettes: &[&str], name: &str) -> Rgb {
        let of = |sheet: &&str| {
            let (_, after) = sheet.split_once(&format!("{name}: "))?;
            after.split_once(';').map(|(value, _)| value.to_owned())
        };
        let value = palettes.iter().find_map(of).unwrap_or_else(|| panic!("{name} is not in the palette"));
        if let Some(other) = value.strip_prefix("var(").and_then(|of| of.strip_suffix(')')) {
            return self::value(palettes, other);
        }
        let digits: String = value.trim_start_matches('#').to_owned();
        let digits = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits };
        [0, 2, 4].map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
    }

    #[test]
    fn text_has_the_contrast_that_wcag_asks_for() {
        assert!((contrast([0, 0, 0], [0xff; 3]) - 21.0).abs() < 1e-9);
        assert!((contrast([0x76; 3], [0xff; 3]) - 4.54).abs() < 0.01, "WebAIM: #767676 on white");
        let (light, dark) = (include_str!("../assets/palette.css"), include_str!("../assets/dark.css"));
        let texts = ["ink", "muted", "accent", "link"].map(|name| format!("--{name}"));
        let flows = (0..8).map(|i| format!("--text-{i}"));
        let texts: Vec<String> = texts.into_iter().chain(flows).collect();
        for (palettes, paper) in [(&[light][..], PAPER[0]), (&[dark, light], PAPER[1])] {
            assert_eq!(value(palettes, "--paper"), paper);
            for background in ["--paper", "--shade"] {
                let background = value(palettes, background);
                for name in &texts {
                    let ratio = contrast(value(palettes, name), background);
                    assert!(ratio >= READABLE, "{name}: {ratio:.2} on {background:02x?}");
                }
                // borders of buttons: WCAG 2, success criterion 1.4.11
                let border = contrast(value(palettes, "--control"), background);
                assert!(border >= 3.0, "{border:.2} on {background:02x?}");
            }
            // the pressed button has the colours of text exchanged
            assert!(contrast(value(palettes, "--ink"), paper) >= 7.0);
        }
    }

    #[test]
    fn text_in_the_colour_of_an_algorithm_is_readable_and_as_near_to_it_as_possible() {
        let style = style();
        let (light, dark) = style.split_once("@media").unwrap();
        for (rules, paper) in [(light, PAPER[0]), (dark, PAPER[1])] {
            let rules: Vec<&str> = rules.lines().filter(|line| line.contains("--c")).collect();
            assert_eq!(rules.len(), 3 * (ALGORITHMS.len() + 1));
            for rule in rules {
                let (line, text) = (value(&[rule], "--c"), value(&[rule], "--t"));
                assert!(contrast(text, paper) >= READABLE, "{rule}");
                assert!(text == line || contrast(line, paper) < READABLE, "{rule}");
            }
        }
    }
}
