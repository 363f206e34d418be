//! Writes the JavaScript and the types around a WebAssembly module: `dumbbell-wasm-glue MODULE METRICS.rs FOLDER`.
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
    let [module, metrics, folder] = &words[..] else { return Err("usage: MODULE METRICS.rs FOLDER".into()) };
    Bindgen::new().input_path(module).web(true)?.typescript(true).out_name("dumbbell_wasm").generate(folder)?;
    let types = interfaces::of(&fs::read_to_string(metrics)?)?;
    fs::write(Path::new(folder).join("metrics.ts"), types)?;
    Ok(())
}
