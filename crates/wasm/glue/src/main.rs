//! Writes the JavaScript and the types around a WebAssembly module: `dumbbell-wasm-glue MODULE FOLDER SOURCE.rs…`.
//!
//! This is what `wasm-bindgen` does on the command line, in the version that the module needs, and the types of the
//! metrics, which cross the border as JSON.

mod interfaces;

use std::error::Error;
use std::path::Path;
use std::{env, fs};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = env::args().skip(1).collect();
    let [module, folder, metrics @ ..] = &words[..] else { return Err("usage: MODULE FOLDER SOURCE.rs…".into()) };
    Bindgen::new().input_path(module).web(true)?.typescript(true).out_name("dumbbell_wasm").generate(folder)?;
    let mut types = String::from("// Numbers of a run, made from the comments and fields in Rust.\n");
    for source in metrics {
        types += &interfaces::of(&fs::read_to_string(source)?)?;
    }
    fs::write(Path::new(folder).join("metrics.ts"), types)?;
    Ok(())
}
