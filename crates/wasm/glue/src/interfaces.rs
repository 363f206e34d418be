//! Structs and enums of Rust sources as TypeScript types, with their comments.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::fmt::Write as _;
use syn::{Attribute, Expr, Fields, GenericArgument, Item, ItemStruct, Lit, Meta, PathArguments, Type, Visibility};

/// The public structs of a source whose fields are public, and its public enums without fields.
///
/// # Errors
///
/// The source is not Rust, or a field has a type that has no counterpart here.
pub fn of(source: &str) -> Result<String, String> {
    let file = syn::parse_file(source).map_err(|error| error.to_string())?;
    let mut out = String::new();
    for item in &file.items {
        if let Item::Enum(each) = item {
            let names: Vec<_> =
                each.variants.iter().map(|one| format!("{:?}", one.ident.to_string().to_lowercase())).collect();
            _ = write!(out, "\n{}export type {} = {};\n", comment(&each.attrs, ""), each.ident, names.join(" | "));
        }
        let measured;
        let each = match item {
            Item::Struct(each) => each,
            Item::Macro(each) if each.mac.path.is_ident("measured") => {
                measured = struct_of(each.mac.tokens.clone())?;
                &measured
            }
            _ => continue,
        };
        if !is_written(&each.attrs) {
            continue;
        }
        let (Fields::Named(fields), Visibility::Public(_)) = (&each.fields, &each.vis) else { continue };
        _ = write!(out, "\n{}export interface {} {{\n", comment(&each.attrs, ""), each.ident);
        for field in fields.named.iter().filter(|field| !serde_says(&field.attrs, "skip")) {
            let name = field.ident.as_ref().ok_or("a field without a name")?;
            let mut written = script_type(&field.ty)?;
            if serde_says(&field.attrs, "by_name") {
                written = format!("Record<string, {}>", written.trim_end_matches("[]"));
            }
            _ = writeln!(out, "{}  {name}: {written};", comment(&field.attrs, "  "));
        }
        out.push_str("}\n");
    }
    Ok(out)
}

/// The struct that `measured!` declares: without units (` = "ms"`) and the semicolon before the metrics.
fn struct_of(tokens: TokenStream) -> Result<ItemStruct, String> {
    let plain = |token: TokenTree| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let fields = group.stream().into_iter().filter(|token| match token {
                TokenTree::Punct(mark) => !matches!(mark.as_char(), ';' | '='),
                TokenTree::Literal(_) => false,
                _ => true,
            });
            TokenTree::Group(Group::new(Delimiter::Brace, fields.collect()))
        }
        other => other,
    };
    syn::parse2(tokens.into_iter().map(plain).collect()).map_err(|error| error.to_string())
}

/// Whether a struct is written as JSON.
fn is_written(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("derive") && list.tokens.to_string().contains("Serialize"),
        _ => false,
    })
}

/// Whether an attribute of serde has this word.
fn serde_says(attributes: &[Attribute], word: &str) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => list.path.is_ident("serde") && list.tokens.to_string().contains(word),
        _ => false,
    })
}

fn comment(attributes: &[Attribute], indent: &str) -> String {
    let lines: Vec<_> = attributes.iter().filter_map(line).collect();
    if lines.is_empty() { String::new() } else { format!("{indent}/**{} */\n", lines.join(&format!("\n{indent} *"))) }
}

/// A line of a doc comment, which is an attribute with a text.
fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(value) = &pair.value else { return None };
    let Lit::Str(text) = &value.lit else { return None };
    // As serde writes it: what is not known is null.
    pair.path.is_ident("doc").then(|| text.value().replace("None", "null"))
}

fn script_type(of: &Type) -> Result<String, String> {
    // A name with its value: the key and the value of an object.
    if let Type::Tuple(pair) = of {
        return pair.elems.last().map_or_else(|| Err("a tuple without a value".into()), script_type);
    }
    let Type::Path(path) = of else { return Err("a type that is no path".into()) };
    let last = path.path.segments.last().ok_or("a type without a name")?;
    let inner = match &last.arguments {
        PathArguments::AngleBracketed(between) => between.args.last(),
        _ => None,
    };
    let inner = match inner {
        Some(GenericArgument::Type(inner)) => Some(script_type(inner)?),
        _ => None,
    };
    Ok(match (&last.ident.to_string()[..], inner) {
        ("f64" | "i64" | "u64" | "u32" | "usize", None) => "number".into(),
        ("String", None) => "string".into(),
        ("bool", None) => "boolean".into(),
        ("Option", Some(inner)) => format!("{inner} | null"),
        ("Vec", Some(inner)) => format!("{inner}[]"),
        ("BTreeMap", Some(inner)) => format!("Record<string, {inner}>"),
        (name, None) => name.into(),
        (name, Some(_)) => return Err(format!("{name} has no counterpart in TypeScript here")),
    })
}
