//! The demo's text corpus: short documents in several languages, one JSON object a line.

use super::dice::Dice;
use super::scenes::capital;
use serde_json::json;

/// Documents in the corpus.
pub const DOCUMENTS: u64 = 400;

struct Language {
    code: &'static str,
    /// `{who}`, `{does}` and `{where}` are replaced; the words fit every pattern of their language.
    patterns: &'static [&'static str],
    who: &'static [&'static str],
    does: &'static [&'static str],
    places: &'static [&'static str],
    stop: &'static str,
    space: &'static str,
}

const LANGUAGES: [Language; 7] = [
    Language {
        code: "en",
        patterns: &["{who} {does} {where}", "{where}, {who} {does}", "every autumn {who} {does} {where}"],
        who: &["the miller", "an old baker", "the neighbour's daughter", "a travelling carpenter"],
        does: &["grinds the first rye", "waits for the wind", "mends the water wheel", "counts the sacks twice"],
        places: &["by the river", "behind the hill", "in the yellow barn", "at the edge of the village"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "de",
        patterns: &["{who} {does} {where}", "auch {who} {does} {where}"],
        who: &["der Müller", "eine alte Bäckerin", "das Kind des Nachbarn", "ein fahrender Zimmermann"],
        does: &["mahlt den ersten Roggen", "wartet auf den Wind", "flickt das Wasserrad", "zählt die Säcke zweimal"],
        places: &["am Fluss", "hinter dem Hügel", "in der gelben Scheune", "am Rand des Dorfes"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "fr",
        patterns: &["{who} {does} {where}", "{where}, {who} {does}"],
        who: &["le meunier", "une vieille boulangère", "la fille du voisin", "un charpentier de passage"],
        does: &["moud le premier seigle", "attend le vent", "répare la roue à eau", "compte deux fois les sacs"],
        places: &["près de la rivière", "derrière la colline", "dans la grange jaune", "à l'orée du village"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "es",
        patterns: &["{who} {does} {where}", "{where}, {who} {does}"],
        who: &["el molinero", "una panadera anciana", "la hija del vecino", "un carpintero viajero"],
        does: &["muele el primer centeno", "espera el viento", "arregla la rueda", "cuenta dos veces los sacos"],
        places: &["junto al río", "detrás de la colina", "en el granero amarillo", "a la entrada del pueblo"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "el",
        patterns: &["{who} {does} {where}", "{where} {who} {does}"],
        who: &["ο μυλωνάς", "μια γριά φουρνάρισσα", "η κόρη του γείτονα"],
        does: &["αλέθει την πρώτη σίκαλη", "περιμένει τον άνεμο", "φτιάχνει τον τροχό"],
        places: &["δίπλα στο ποτάμι", "πίσω από τον λόφο", "στην άκρη του χωριού"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "ru",
        patterns: &["{who} {does} {where}", "{where} {who} {does}"],
        who: &["мельник", "старый пекарь", "соседский сын"],
        does: &["мелет первую рожь", "ждёт ветра", "чинит водяное колесо", "дважды считает мешки"],
        places: &["у реки", "за холмом", "в жёлтом амбаре", "на краю деревни"],
        stop: ".",
        space: " ",
    },
    Language {
        code: "ja",
        patterns: &["{who}は{where}{does}", "{where}{who}が{does}"],
        who: &["粉屋", "年老いたパン屋", "隣の娘"],
        does: &["最初のライ麦を挽く", "風を待つ", "水車を直す", "袋を二度数える"],
        places: &["川のほとりで", "丘の向こうで", "黄色い納屋で"],
        stop: "。",
        space: "",
    },
];

/// The corpus as one JSONL file; always the same bytes.
pub fn jsonl() -> String {
    let mut out = String::new();
    for number in 0..DOCUMENTS {
        let mut dice = Dice::new(1_000_000 + number);
        let language = &LANGUAGES[dice.below(LANGUAGES.len())];
        let sentences = 1 + dice.below(6);
        let text: Vec<String> = (0..sentences).map(|_| sentence(language, &mut dice)).collect();
        let document = json!({
            "id": format!("doc-{number:05}"),
            "text": text.join(language.space),
            "metadata": { "language": language.code, "source": "gristmill demo" },
        });
        out.push_str(&document.to_string());
        out.push('\n');
    }
    out
}

fn sentence(language: &Language, dice: &mut Dice) -> String {
    let text = dice
        .pick(language.patterns)
        .replace("{who}", dice.pick(language.who))
        .replace("{does}", dice.pick(language.does))
        .replace("{where}", dice.pick(language.places));
    capital(&text) + language.stop
}
