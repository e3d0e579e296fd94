use super::*;
use ratatui::layout::Rect;
use ratatui::style::Style;

fn picture(lines: &[(&str, Style)]) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, u16::try_from(lines.len()).unwrap()));
    for (y, (text, style)) in lines.iter().enumerate() {
        buffer.set_string(0, u16::try_from(y).unwrap(), text, *style);
    }
    draw(&buffer, "a <test>", &Palette::default())
}

/// Returns the lines of an SVG document without those that all documents have.
fn body(svg: &str) -> Vec<&str> {
    svg.lines().skip_while(|line| !line.starts_with("<rect")).skip(1).take_while(|line| *line != "</svg>").collect()
}

#[test]
fn svg_words_of_one_style_are_one_text_element() {
    let svg = picture(&[("two words", Style::new().green().bold())]);
    let text = "<text x=\"12\" y=\"27\" fill=\"#98c379\" class=\"b\" textLength=\"81\" lengthAdjust=\"spacingAndGlyphs\">two words</text>";
    assert_eq!(body(&svg), [text]);
}

#[test]
fn svg_non_ascii_characters_have_separate_cells() {
    let svg = picture(&[("a▸数b", Style::new())]);
    let places: Vec<&str> = body(&svg).iter().filter_map(|l| l.split('"').nth(1)).collect();
    assert_eq!(places, ["12", "21", "30", "48"]);
    assert!(svg.contains("textLength=\"18\" lengthAdjust=\"spacingAndGlyphs\">数<"));
}

#[test]
fn svg_draws_box_and_block_characters_as_shapes() {
    let svg = picture(&[("╭─╮│╰┼╯▀▄█▌▐░▏▂⣿", Style::new().cyan())]);
    assert!(!svg.contains("<text "), "{svg}");
    assert!(svg.contains("M21 22Q16.5 22 16.5 32"), "{svg}");
}

#[test]
fn svg_half_block_has_two_colours() {
    let style = Style::new().fg(Color::Rgb(255, 0, 0)).bg(Color::Rgb(0, 0, 255));
    let svg = picture(&[("▀", style)]);
    let page = "<path fill=\"#0000ff\" shape-rendering=\"crispEdges\" d=\"M12 12h9v20h-9z\"/>";
    let upper = "<path fill=\"#ff0000\" shape-rendering=\"crispEdges\" d=\"M12 12h9v10h-9z\"/>";
    assert_eq!(body(&svg), [page, upper]);
}

#[test]
fn reverse_dim_and_underline_are_detected() {
    let svg = picture(&[("r", Style::new().reversed()), ("d", Style::new().dim()), ("u", Style::new().underlined())]);
    assert!(svg.contains("fill=\"#d7dae0\" shape-rendering=\"crispEdges\" d=\"M12 12h9v20h-9z"), "reversed: {svg}");
    assert!(svg.contains("fill=\"#1b1d23\" textLength=\"9\" lengthAdjust=\"spacingAndGlyphs\">r<"), "{svg}");
    assert!(svg.contains("fill=\"#8b8e94\" textLength=\"9\" lengthAdjust=\"spacingAndGlyphs\">d<"), "{svg}");
    assert!(svg.contains("M12 70h9v1h-9z"), "{svg}");
}

#[test]
fn svg_escapes_markup_and_control_characters() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 8, 1));
    for (x, symbol) in ["<", "&", ">", "\"", "\x1b]0;x\x07", "\u{202e}", "\u{0}", "x"].into_iter().enumerate() {
        buffer[(u16::try_from(x).unwrap(), 0)].set_symbol(symbol);
    }
    let svg = draw(&buffer, "<script>\x1b", &Palette::default());
    assert!(svg.contains("&lt;&amp;&gt;&quot;") && svg.contains("&lt;script&gt;␛"), "{svg}");
    assert!(!svg.chars().any(|c| c != '\n' && c.is_control() || c == '\u{202e}'), "{svg:?}");
}

#[test]
fn svg_palette_colours_equal_those_of_terminals() {
    let palette = Palette::default();
    assert_eq!(palette.colour(Color::Indexed(196), [0; 3]), [255, 0, 0]);
    assert_eq!(palette.colour(Color::Indexed(232), [0; 3]), [8; 3]);
    assert_eq!(palette.colour(Color::Indexed(255), [0; 3]), [238; 3]);
    assert_eq!(palette.colour(Color::Reset, [1, 2, 3]), [1, 2, 3]);
    assert_eq!(palette.colour(Color::LightCyan, [0; 3]), palette.named[14]);
}
