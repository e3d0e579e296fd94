//! Reads the code of the program without comments and tests: its modules, lines, functions, literals, and imports.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// A source file without comments and tests.
pub struct SourceFile {
    /// Path below `src/`, with `/` between folders; in a crate of one layer, it begins with the name of its folder in `crates/`.
    pub path: String,
    /// Path of its module, which begins with the same name; empty for the roots of `gristmill`, `gristmill-data` and `gristmill-ops`.
    pub module: Vec<String>,
    /// Number of lines with code, without comments, blank lines and tests.
    pub lines: usize,
    /// Name of each function, and its number of lines of code.
    pub functions: Vec<(String, usize)>,
    /// Names of its types, traits and constants.
    pub declared: Vec<String>,
    /// All identifiers that it declares: types, traits, constants, functions, fields, variants and modules, except those of tests.
    pub identifiers: Vec<String>,
    /// Text of each string literal, and its line number.
    pub literals: Vec<(String, usize)>,
    /// Names that occur in the file.
    pub names: BTreeSet<String>,
    /// Paths below the crate that the file names.
    pub imports: BTreeSet<Vec<String>>,
}

/// The crates in `crates/` except `gristmill-data` and `gristmill-ops`; each is one layer.
pub const LAYER_CRATES: [&str; 9] =
    ["core", "arrow", "storage", "fuse", "pycompat", "media", "parquet", "tokenizer", "dedup"];

/// Returns all files that are compiled into the program, found by following `mod` from the roots of the crates and of the program.
pub fn source_files() -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for (src, main) in
        [("src", "lib.rs"), ("src", "main.rs"), ("crates/ops/src", "lib.rs"), ("crates/data/src", "lib.rs")]
    {
        let src = root.join(src);
        let module = if main == "main.rs" { vec!["main".into()] } else { Vec::new() };
        read_module(&src, &src.join(main), module, &mut files);
    }
    for name in LAYER_CRATES {
        let src = root.join("crates").join(name).join("src");
        let first = files.len();
        read_module(&src, &src.join("lib.rs"), vec![name.into()], &mut files);
        files[first..].iter_mut().for_each(|file| file.path = format!("{name}/{}", file.path));
    }
    files
}

fn read_module(src: &Path, file: &Path, module: Vec<String>, files: &mut Vec<SourceFile>) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut items = Items::default();
    items.visit_file(&parsed);
    let mut tokens = Vec::new();
    flatten(text.parse().unwrap(), &mut tokens);
    tokens.retain(|(_, line, _)| !items.tests.iter().any(|(from, to)| from <= line && line <= to));
    let code: BTreeSet<usize> = tokens.iter().flat_map(|(_, from, to)| *from..=*to).collect();
    let functions = items.functions.iter().map(|(name, from, to)| (name.clone(), code.range(from..=to).count()));
    let mut imports = BTreeSet::new();
    find_imports(&without_tests(text.parse().unwrap(), &items.tests), &module, &mut imports);
    files.push(SourceFile {
        path: file.strip_prefix(src).unwrap().to_string_lossy().into_owned(),
        lines: code.len(),
        functions: functions.collect(),
        declared: items.declared,
        identifiers: items.identifiers,
        literals: tokens.iter().filter_map(|(token, line, _)| Some((text_of(token)?, *line))).collect(),
        names: tokens.iter().filter_map(|(token, ..)| name_of(token)).collect(),
        imports,
        module: module.clone(),
    });
    for name in items.modules {
        let child = module_file(file, &name);
        read_module(src, &child, [module.as_slice(), &[name]].concat(), files);
    }
}

fn module_file(parent: &Path, name: &str) -> PathBuf {
    let stem = parent.file_stem().unwrap().to_string_lossy();
    let folder = match stem.as_ref() {
        "mod" | "lib" | "main" => parent.parent().unwrap().to_owned(),
        stem => parent.parent().unwrap().join(stem),
    };
    let (file, nested) = (folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs"));
    if file.exists() {
        file
    } else {
        nested
    }
}

/// Functions, modules in separate files, and the lines of items that are compiled only for tests.
#[derive(Default)]
struct Items {
    functions: Vec<(String, usize, usize)>,
    declared: Vec<String>,
    identifiers: Vec<String>,
    modules: Vec<String>,
    tests: Vec<(usize, usize)>,
}

fn lines_of(span: Span) -> (usize, usize) {
    (span.start().line, span.end().line)
}

/// Whether an item is only compiled for tests of its crate or of other crates.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let of_cfg = || match attribute.parse_args::<syn::Meta>() {
            Ok(syn::Meta::Path(path)) => path.is_ident("test"),
            Ok(syn::Meta::List(list)) => {
                list.path.is_ident("any") && list.tokens.to_string().replace(' ', "") == "test,feature=\"testing\""
            }
            _ => false,
        };
        attribute.path().is_ident("test") || (attribute.path().is_ident("cfg") && of_cfg())
    })
}

impl Items {
    fn add_function(&mut self, name: &proc_macro2::Ident, from: usize, to: usize) {
        self.identifiers.push(name.to_string());
        self.functions.push((name.to_string(), from, to));
    }
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            _ => &[],
        };
        if is_test(attributes) {
            self.tests.push(lines_of(item.span()));
            return;
        }
        let declared = match item {
            syn::Item::Struct(item) => Some(&item.ident),
            syn::Item::Enum(item) => Some(&item.ident),
            syn::Item::Trait(item) => Some(&item.ident),
            syn::Item::Type(item) => Some(&item.ident),
            syn::Item::Const(item) => Some(&item.ident),
            _ => None,
        };
        self.declared.extend(declared.map(ToString::to_string));
        if let syn::Item::Static(item) = item {
            self.identifiers.push(item.ident.to_string());
        }
        self.identifiers.extend(declared.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.identifiers.extend(field.ident.iter().map(ToString::to_string));
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.identifiers.push(variant.ident.to_string());
        visit::visit_variant(self, variant);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.identifiers.push(item.ident.to_string());
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.identifiers.push(item.ident.to_string());
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.identifiers.push(item.ident.to_string());
        if item.content.is_none() {
            self.modules.push(item.ident.to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let (from, to) = (lines_of(item.sig.span()).0, lines_of(item.block.span()).1);
        self.add_function(&item.sig.ident, from, to);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test(&item.attrs) {
            self.tests.push(lines_of(item.span()));
            return;
        }
        let (from, to) = (lines_of(item.sig.span()).0, lines_of(item.block.span()).1);
        self.add_function(&item.sig.ident, from, to);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let (from, to) = lines_of(item.span());
        self.add_function(&item.sig.ident, from, to);
        visit::visit_trait_item_fn(self, item);
    }
}

/// Collects all tokens with their first and last line; the text of doc comments is omitted.
fn flatten(tokens: TokenStream, all: &mut Vec<(TokenTree, usize, usize)>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#') {
            while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '!') {
                tokens.next();
            }
            if matches!(tokens.peek(), Some(TokenTree::Group(group)) if is_doc(group)) {
                tokens.next();
                continue;
            }
        }
        match token {
            TokenTree::Group(group) => {
                let (open, close) = (group.span_open(), group.span_close());
                for (line, end) in [lines_of(open), lines_of(close)] {
                    all.push((TokenTree::Punct(proc_macro2::Punct::new(';', proc_macro2::Spacing::Alone)), line, end));
                }
                flatten(group.stream(), all);
            }
            token => {
                let (from, to) = lines_of(token.span());
                all.push((token, from, to));
            }
        }
    }
}

fn is_doc(group: &proc_macro2::Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

fn name_of(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    }
}

fn text_of(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(text.value()),
        _ => None,
    }
}

fn without_tests(tokens: TokenStream, tests: &[(usize, usize)]) -> TokenStream {
    let is_kept = |token: &TokenTree| {
        let line = lines_of(token.span()).0;
        !tests.iter().any(|(from, to)| *from <= line && line <= *to)
    };
    tokens.into_iter().filter(is_kept).collect()
}

/// Finds paths that begin with `crate`, `super`, `self` or a crate of this workspace, single and in braces, anywhere in the tokens.
fn find_imports(tokens: &TokenStream, module: &[String], found: &mut BTreeSet<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => find_imports(&group.stream(), module, found),
            TokenTree::Ident(name) if is_separated(&tokens, at + 1) => {
                let after_path = at >= 2 && is_separated(&tokens, at - 2);
                let base = match name.to_string().as_str() {
                    _ if after_path => None,
                    "crate" => Some(module.iter().take(1).filter(|name| is_layer_crate(name)).cloned().collect()),
                    "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
                    "self" => Some(module.to_vec()),
                    "gristmill_ops" | "gristmill_data" => Some(Vec::new()),
                    name => name
                        .strip_prefix("gristmill_")
                        .filter(|name| is_layer_crate(name))
                        .map(|name| vec![name.into()]),
                };
                if let Some(base) = base {
                    add_paths(&tokens, at + 3, base, found);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_layer_crate(name: &str) -> bool {
    LAYER_CRATES.contains(&name)
}

fn is_separated(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == ':');
    is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1))
}

/// Adds the path that continues at `at` below `base`, or each path of a list in braces.
fn add_paths(tokens: &[TokenTree], at: usize, mut base: Vec<String>, found: &mut BTreeSet<Vec<String>>) {
    match tokens.get(at) {
        Some(TokenTree::Ident(name)) => {
            if name == "super" {
                base.pop();
            } else if name != "self" {
                base.push(name.to_string());
            }
            match is_separated(tokens, at + 1) {
                true => add_paths(tokens, at + 3, base, found),
                false => _ = found.insert(base),
            }
        }
        Some(TokenTree::Group(group)) => {
            let list: Vec<TokenTree> = group.stream().into_iter().collect();
            for path in list.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ',')) {
                add_paths(path, 0, base.clone(), found);
            }
        }
        _ => _ = found.insert(base),
    }
}
