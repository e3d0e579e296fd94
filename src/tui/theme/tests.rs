use super::*;
use crate::tui::testing;
use ratatui::style::Modifier;

#[test]
fn built_in_themes_define_every_role_without_mistakes() {
    for (name, text) in BUILT_IN {
        let (theme, mistakes) = file::read(text);
        assert_eq!(mistakes, [], "{name}");
        assert_eq!(theme.roles().len(), 19);
        for (role, _) in file::ROLES.iter().filter(|(role, _)| !role.starts_with("bar ")) {
            assert!(text.lines().any(|line| line.starts_with(&format!("{role}:"))), "{name} leaves out {role}");
        }
    }
}

#[test]
fn styles_of_built_in_themes_match_their_snapshots() {
    for (name, _) in BUILT_IN {
        let theme = Theme::built_in(name).unwrap();
        let line = |(role, style): (&str, Style)| {
            let colour = |c: Option<Color>| c.map_or_else(|| "-".to_owned(), |c| c.to_string());
            let manner = format!("{:?}", style.add_modifier);
            format!("{role:<14} {:<10} on {:<10} {manner}", colour(style.fg), colour(style.bg))
        };
        let lines: Vec<String> = theme.roles().into_iter().map(line).collect();
        testing::compare_one(&format!("theme_{name}"), &lines.join("\n"));
    }
}

#[test]
fn colourless_theme_has_no_colours() {
    for (role, style) in Theme::new(ColourMode::None).roles() {
        assert_eq!((style.fg, style.bg, style.underline_color), (None, None, None), "{role}");
    }
}

#[test]
fn the_selection_is_visible_in_every_theme() {
    for (name, _) in BUILT_IN {
        let theme = Theme::built_in(name).unwrap();
        assert_ne!(theme.selected, theme.text, "{name}");
        assert_ne!(theme.selected, theme.selected_idle, "{name}");
        assert_ne!(theme.border, theme.border_focus, "{name}");
        let marked = theme.selected.add_modifier.contains(Modifier::REVERSED) || theme.selected.bg.is_some();
        assert!(marked, "{name}: a whole row has to be seen, not its letters alone");
    }
}

/// Returns the contrast ratio of two colours according to WCAG: from 1 (equal) to 21 (black and white).
fn contrast(a: Color, b: Color) -> f64 {
    let light = |colour| {
        let Color::Rgb(r, g, b) = colour else { panic!("{colour} is no 24-bit colour") };
        let part = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.040_45 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b)
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn themes_with_a_background_have_readable_contrast() {
    for (name, least) in [("dark", 4.5), ("light", 4.5), ("high-contrast", 7.0)] {
        let theme = Theme::built_in(name).unwrap();
        let (text, page) = (theme.text.fg.unwrap(), theme.text.bg.unwrap());
        for (role, style) in theme.roles() {
            let (fg, bg) = (style.fg.unwrap_or(text), style.bg.unwrap_or(page));
            // Borders and disabled items are faint by design, but must stay visible.
            let least = if matches!(role, "border" | "disabled") { 1.9 } else { least };
            assert!(contrast(fg, bg) >= least, "{name}: {role} has a contrast of {:.1}", contrast(fg, bg));
        }
    }
}

#[test]
fn the_default_theme_uses_only_the_terminals_own_colours() {
    for (role, style) in Theme::new(ColourMode::Sixteen).roles() {
        for colour in [style.fg, style.bg].into_iter().flatten() {
            assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)), "{role}");
        }
    }
}

#[test]
fn user_theme_overrides_given_roles_of_its_base() {
    let (theme, mistakes) = file::read("base: dark\naccent: \"#ff8800 bold\"\nselected: black on yellow\nmuted: 245\n");
    assert_eq!(mistakes, []);
    let dark = Theme::built_in("dark").unwrap();
    assert_eq!(theme.accent, Style::new().fg(Color::Rgb(255, 136, 0)).add_modifier(Modifier::BOLD));
    assert_eq!(theme.selected, Style::new().fg(Color::Black).bg(Color::Yellow));
    assert_eq!(theme.muted, Style::new().fg(Color::Indexed(245)));
    assert_eq!((theme.text, theme.error, theme.bars), (dark.text, dark.error, dark.bars));
    assert_eq!(file::read("").0, Theme::new(ColourMode::Sixteen), "without base it is the default");
}

#[test]
fn theme_mistakes_have_position_and_suggestion() {
    let text = "base: drak\nacent: red\nok: grene\nerror: red on\nbars: red\ntitle: #fff000\n";
    let (_, mistakes) = file::read(text);
    let messages: Vec<String> = mistakes
        .iter()
        .map(|m| format!("{}:{} {} ({})", m.at.line, m.at.column, m.message, m.hint.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        messages,
        [
            "1:7 there is no theme 'drak' to begin with (did you mean 'dark'?)",
            "2:1 a theme has no role 'acent' (did you mean 'accent'?)",
            "3:5 'grene' is neither a colour nor an attribute (did you mean 'green'?)",
            "4:8 'on' is neither a colour nor an attribute (write a colour (cyan, 208, \"#ff8800\"), `on` and a background, bold, dim, underline, reverse)",
            "5:7 'bars' is a list of four styles (write it like [cyan, magenta, blue, yellow])",
            "6:6 a style is missing here (a colour in #rrggbb needs quotes; 'default' changes nothing)",
        ]
    );
}

#[test]
fn limited_colour_depth_uses_nearest_colours() {
    let theme = Theme::built_in("dark").unwrap();
    for (depth, allowed) in [
        (Depth::Indexed, (|c| matches!(c, Color::Indexed(16..))) as fn(Color) -> bool),
        (Depth::Shades, |c| !matches!(c, Color::Rgb(..) | Color::Indexed(_))),
    ] {
        for (role, style) in theme.clone().for_depth(depth).roles() {
            assert!([style.fg, style.bg].into_iter().flatten().all(allowed), "{role} {style:?}");
        }
    }
    assert_eq!(nearest_indexed(255, 255, 255), 231);
    assert_eq!(nearest_indexed(0, 0, 0), 16);
    assert_eq!(nearest_indexed(118, 118, 118), 243);
    assert_eq!(nearest_of_sixteen(250, 90, 80), Color::LightRed);
    assert_eq!(theme.clone().for_depth(Depth::True), theme);
}
