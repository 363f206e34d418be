//! Writes the JavaScript and the types of a WebAssembly module: `dumbbell-wasm-glue MODULE FOLDER`.
//!
//! This is what `wasm-bindgen` does on the command line. As a member of this workspace it has the version that
//! `Cargo.lock` names, which must be the one of the library in the module.

use std::env;
use std::error::Error;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let [module, folder] = env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "usage: MODULE FOLDER")?;
    Ok(Bindgen::new().input_path(module).web(true)?.typescript(true).out_name("dumbbell_wasm").generate(folder)?)
}
