//! The scenes of the demo's pictures, and their captions.

use super::canvas::{mix, Canvas, Color, Figure, HEIGHT, WIDTH};
use super::random::RandomNumbers;

/// A picture with its captions and tags.
pub struct Picture {
    /// The picture.
    pub canvas: Canvas,
    /// The kind of scene.
    pub scene: &'static str,
    /// A caption of a few words.
    pub short: String,
    /// A caption of one sentence.
    pub long: String,
    /// Search words.
    pub tags: Vec<&'static str>,
}

#[derive(Clone, Copy)]
struct SkyColors {
    name: &'static str,
    when: &'static str,
    top: Color,
    bottom: Color,
    light: Color,
    dark: bool,
}

const fn rgb(r: u8, g: u8, b: u8) -> Color {
    [r as f32, g as f32, b as f32]
}

const SKIES: [SkyColors; 5] = [
    SkyColors {
        name: "pink",
        when: "at dawn",
        top: rgb(94, 111, 168),
        bottom: rgb(250, 187, 164),
        light: rgb(255, 236, 200),
        dark: false,
    },
    SkyColors {
        name: "blue",
        when: "at noon",
        top: rgb(58, 124, 201),
        bottom: rgb(190, 223, 245),
        light: rgb(255, 250, 225),
        dark: false,
    },
    SkyColors {
        name: "orange",
        when: "at dusk",
        top: rgb(58, 46, 99),
        bottom: rgb(245, 138, 66),
        light: rgb(255, 214, 130),
        dark: false,
    },
    SkyColors {
        name: "dark",
        when: "at night",
        top: rgb(9, 12, 36),
        bottom: rgb(38, 54, 99),
        light: rgb(232, 236, 250),
        dark: true,
    },
    SkyColors {
        name: "grey",
        when: "in the fog",
        top: rgb(142, 154, 166),
        bottom: rgb(216, 220, 222),
        light: rgb(244, 244, 238),
        dark: false,
    },
];

const COLORS: [(&str, Color); 9] = [
    ("red", rgb(206, 52, 56)),
    ("orange", rgb(236, 132, 42)),
    ("yellow", rgb(242, 201, 62)),
    ("green", rgb(66, 153, 86)),
    ("teal", rgb(34, 146, 150)),
    ("blue", rgb(52, 101, 190)),
    ("violet", rgb(126, 78, 172)),
    ("pink", rgb(232, 124, 160)),
    ("white", rgb(238, 238, 232)),
];

const SHAPES: [(Figure, &str, &str); 6] = [
    (Figure::Circle, "circle", "circles"),
    (Figure::Square, "square", "squares"),
    (Figure::Triangle, "triangle", "triangles"),
    (Figure::Ring, "ring", "rings"),
    (Figure::Hexagon, "hexagon", "hexagons"),
    (Figure::Diamond, "diamond", "diamonds"),
];

const NUMBERS: [&str; 6] = ["no", "one", "two", "three", "four", "five"];

/// Draws the picture with this number; the same number always gives the same picture.
pub fn paint(number: u64) -> Picture {
    let mut random = RandomNumbers::new(number);
    match number % 5 {
        0 => still_life(&mut random),
        1 => landscape(&mut random),
        2 => skyline(&mut random),
        3 => planet(&mut random),
        _ => pattern(&mut random),
    }
}

fn two_colors(random: &mut RandomNumbers) -> ((&'static str, Color), (&'static str, Color)) {
    let first = random.below(COLORS.len());
    let second = (first + 1 + random.below(COLORS.len() - 1)) % COLORS.len();
    (COLORS[first], COLORS[second])
}

fn still_life(random: &mut RandomNumbers) -> Picture {
    let sky = random.pick(&SKIES);
    let (shape, one, many) = random.pick(&SHAPES);
    let ((name, color), _) = two_colors(random);
    let number = 1 + random.below(5);
    let mut canvas = Canvas::gradient(sky.top, sky.bottom);
    let table = mix(sky.bottom, rgb(60, 44, 38), 0.55);
    canvas.ridge(|_| 136.0, mix(table, sky.light, 0.25), table);
    let radius = (WIDTH as f32 / (number as f32 * 2.6)).min(40.0);
    for i in 0..number {
        let x = WIDTH as f32 * (i as f32 + 0.5) / number as f32 + random.between(-5.0, 5.0);
        let size = radius * random.between(0.8, 1.0);
        canvas.shadow((x + size * 0.3, 150.0), size);
        canvas.shape(shape, (x, 150.0 - size * 0.9), size, color);
    }
    let noun = if number == 1 { one } else { many };
    let verb = if number == 1 { "lies" } else { "lie" };
    Picture {
        canvas,
        scene: "still life",
        short: format!("{} {name} {noun}", NUMBERS[number]),
        long: format!(
            "{} {name} {noun} {verb} on a table under {} sky {}.",
            capitalized(NUMBERS[number]),
            article(sky.name),
            sky.when
        ),
        tags: vec!["still life", one, name],
    }
}

fn landscape(random: &mut RandomNumbers) -> Picture {
    let sky = random.pick(&SKIES);
    let mut canvas = Canvas::gradient(sky.top, sky.bottom);
    if sky.dark {
        stars(&mut canvas, random, 90);
    }
    let sun = (random.between(40.0, 216.0), random.between(30.0, 84.0));
    canvas.glow(sun, 62.0, sky.light);
    canvas.shape(Figure::Circle, sun, 15.0, sky.light);
    let ranges = 2 + random.below(3);
    let ground = random.pick(&[rgb(44, 84, 62), rgb(92, 72, 54), rgb(56, 74, 104)]);
    for i in 0..ranges {
        let near = (i + 1) as f32 / ranges as f32;
        let base = 92.0 + near * 52.0;
        let (a, b, phase) = (random.between(8.0, 22.0), random.between(3.0, 8.0), random.between(0.0, 6.3));
        let color = mix(mix(sky.bottom, sky.top, 0.35), ground, near);
        canvas.ridge(
            |x| base - a * (x * 0.023 + phase).sin() - b * (x * 0.071 + phase * 2.0).sin(),
            color,
            mix(color, rgb(14, 18, 26), 0.4),
        );
    }
    let lake = random.below(2) == 0;
    if lake {
        canvas.ridge(|_| 164.0, mix(sky.bottom, sky.light, 0.3), mix(sky.top, rgb(10, 20, 40), 0.3));
    }
    let light = if sky.dark { "moon" } else { "sun" };
    let before = if lake { " behind a still lake" } else { "" };
    Picture {
        canvas,
        scene: "landscape",
        short: format!("hills {}", sky.when),
        long: format!(
            "{} ranges of hills{before} {}, a pale {light} in the {} sky.",
            capitalized(NUMBERS[ranges]),
            sky.when,
            sky.name
        ),
        tags: if lake { vec!["landscape", "hills", "lake"] } else { vec!["landscape", "hills"] },
    }
}

fn stars(canvas: &mut Canvas, random: &mut RandomNumbers, number: usize) {
    for _ in 0..number {
        let (x, y) = (random.below(WIDTH as usize) as u32, random.below(HEIGHT as usize) as u32);
        canvas.blend(x, y, rgb(235, 238, 255), random.between(0.25, 1.0));
    }
}

fn skyline(random: &mut RandomNumbers) -> Picture {
    let sky = random.pick(&SKIES[2..4]);
    let mut canvas = Canvas::gradient(sky.top, sky.bottom);
    if sky.dark {
        stars(&mut canvas, random, 60);
    }
    let (window_name, window) = random.pick(&[COLORS[2], COLORS[1], COLORS[8]]);
    let mut houses = 0;
    let mut x = 4;
    while x + 14 < WIDTH {
        let width = 16 + random.below(20) as u32;
        let top = 60 + random.below(80) as u32;
        let end = (x + width).min(WIDTH - 4);
        let wall = mix(rgb(22, 24, 40), sky.top, random.between(0.0, 0.35));
        canvas.block(x..end, top..HEIGHT, wall);
        for wy in (top + 5..HEIGHT - 6).step_by(9) {
            for wx in (x + 3..end.saturating_sub(4)).step_by(7) {
                if random.below(5) < 2 {
                    canvas.block(wx..wx + 3, wy..wy + 4, window);
                }
            }
        }
        houses += 1;
        x = end + 2 + random.below(5) as u32;
    }
    Picture {
        canvas,
        scene: "skyline",
        short: format!("a skyline {}", sky.when),
        long: format!(
            "A skyline of {houses} towers with {window_name} windows stands against {} sky {}.",
            article(sky.name),
            sky.when
        ),
        tags: vec!["city", "skyline", window_name],
    }
}

fn planet(random: &mut RandomNumbers) -> Picture {
    let ((name, color), (moon_name, moon_color)) = two_colors(random);
    let mut canvas = Canvas::gradient(rgb(6, 7, 22), rgb(24, 20, 48));
    stars(&mut canvas, random, 160);
    let center = (random.between(96.0, 160.0), random.between(84.0, 108.0));
    let radius = random.between(36.0, 58.0);
    canvas.glow(center, radius * 1.7, mix(color, rgb(255, 255, 255), 0.3));
    canvas.shape(Figure::Circle, center, radius, color);
    let moons = 1 + random.below(3);
    for i in 0..moons {
        let angle = random.between(0.0, 2.0) + i as f32 * 2.1;
        let far = radius * 1.45;
        let place = (center.0 + angle.cos() * far * 1.1, center.1 + angle.sin() * far * 0.8);
        canvas.shape(Figure::Circle, place, random.between(6.0, 10.0), moon_color);
    }
    let noun = if moons == 1 { "moon" } else { "moons" };
    Picture {
        canvas,
        scene: "planet",
        short: format!("{} planet", article(name)),
        long: format!(
            "{} planet with {} {moon_name} {noun} glows among the stars.",
            capitalized(&article(name)),
            NUMBERS[moons]
        ),
        tags: vec!["space", "planet", name],
    }
}

fn pattern(random: &mut RandomNumbers) -> Picture {
    let ((a_name, a), (b_name, b)) = two_colors(random);
    let mut canvas = Canvas::gradient(a, mix(a, rgb(30, 30, 60), 0.35));
    let step = random.between(14.0, 30.0);
    let (kind, noun) = random.pick(&[(0, "stripes"), (1, "rings"), (2, "waves"), (3, "checks")]);
    canvas.repaint(|x, y, under| {
        let (cx, cy) = (x - WIDTH as f32 / 2.0, y - HEIGHT as f32 / 2.0);
        let wave = match kind {
            0 => ((x + y * 0.6) / step * std::f32::consts::PI).sin(),
            1 => (cx.hypot(cy) / step * std::f32::consts::PI).sin(),
            2 => ((y + 9.0 * (x / 21.0).sin()) / step * std::f32::consts::PI).sin(),
            _ => (cx / step * std::f32::consts::PI).sin() * (cy / step * std::f32::consts::PI).sin() * 2.0,
        };
        mix(under, b, (wave * step * 0.3 + 0.5).clamp(0.0, 1.0))
    });
    Picture {
        canvas,
        scene: "pattern",
        short: format!("{b_name} {noun}"),
        long: format!("A pattern of {b_name} {noun} on {a_name} ground fills the whole picture."),
        tags: vec!["pattern", noun, b_name, a_name],
    }
}

/// Prepends `a` or `an` to a word.
fn article(word: &str) -> String {
    let an = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {word}", if an { "an" } else { "a" })
}

/// Returns the text with a capital first letter.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
