//! Manifests, for Python: mappings whose declared keys are attributes, too. `python/dumbbell/results/keys.pyi`, made of
//! the same declarations, has their types.

use crate::arrow::Arrow;
use crate::end::End;
use crate::errors::ResultError;
use crate::keys::Experiment;
use crate::plan::{Plan, Queue, inner};
use dumbbell::manifest::file;
use dumbbell::manifest::keys::{RunManifest, SweepManifest};
use dumbbell::manifest::run::{Asked, Outcome, manifest};
use dumbbell::manifest::shape::{Fault, MAX_LEVELS, Shape, Spec, joined};
use dumbbell::validity::Verdict;
use dumbbell_plan as plan;
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyIterator, PyList, PyString, PyTuple};
use pythonize::pythonize;
use serde_json::{Number, Value};
use std::path::PathBuf;

/// For pickle: a function and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyDict>, &'static str));

/// An object of a manifest.
#[pyclass(frozen, mapping, module = "dumbbell._sim")]
pub struct Record {
    spec: &'static Spec,
    values: Py<PyDict>,
}

#[pymethods]
impl Record {
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let key = name.strip_suffix('_').unwrap_or(name);
        if let Some(value) = self.values.bind(py).get_item(key)? {
            return Ok(value);
        }
        if self.spec.key(key).is_some() {
            return Ok(py.None().into_bound(py));
        }
        Err(PyAttributeError::new_err(format!("'{}' has no key '{name}'", self.spec.name)))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        self.values.bind(py).get_item(key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
    }

    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.values.bind(py).get_item(key)?.or(default))
    }

    /// A dict with these keys, too.
    fn __or__<'py>(&self, py: Python<'py>, more: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.values.bind(py).copy()?;
        dict.call_method1("update", (more,))?;
        Ok(dict)
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.values.bind(py).contains(key)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.values.bind(py).len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.values.bind(py).try_iter()
    }

    fn keys<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.values.bind(py).keys()
    }

    fn values<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.values.bind(py).values()
    }

    fn items<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.values.bind(py).items()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.as_dict(py)?.eq(as_plain(other)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}({})", self.spec.name, self.as_dict(py)?.repr()?))
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let names = (self.spec.keys)().into_iter().map(|key| key.name);
        names.chain(["as_dict", "get", "items", "keys", "values", "with_keys"]).collect()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let make = py.import("dumbbell._sim")?.getattr("manifest")?;
        Ok((make, (self.as_dict(py)?, self.spec.name)))
    }

    /// Its keys and values as dicts and lists.
    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (key, value) in self.values.bind(py) {
            dict.set_item(key, as_plain(&value)?)?;
        }
        Ok(dict)
    }

    /// With these keys. Raises `ResultError` for a value that its key can't hold.
    fn with_keys(&self, py: Python<'_>, more: &Bound<'_, PyAny>) -> PyResult<Self> {
        let dict = self.as_dict(py)?;
        dict.call_method1("update", (as_plain(more)?,))?;
        let (value, fault) = checked(&dict, self.spec)?;
        fault.map_or_else(|| Self::new(py, self.spec, &value), |fault| Err(ResultError::new_err(fault.to_string())))
    }
}

impl Record {
    /// A checked object.
    fn new(py: Python<'_>, spec: &'static Spec, value: &Value) -> PyResult<Self> {
        let values = PyDict::new(py);
        let keys = (spec.keys)();
        for (name, value) in value.as_object().into_iter().flatten() {
            let shape = keys.iter().find(|key| key.name == name).map_or(&Shape::Any, |key| &key.shape);
            values.set_item(name, shown(py, shape, value)?)?;
        }
        Ok(Self { spec, values: values.unbind() })
    }
}

/// A value as Python's; declared objects as records.
fn shown<'py>(py: Python<'py>, shape: &Shape, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match (shape, value) {
        (Shape::Null(inner), _) => shown(py, inner, value),
        (Shape::Object(spec), Value::Object(_)) => Ok(Bound::new(py, Record::new(py, spec, value)?)?.into_any()),
        (Shape::List(item, _), Value::Array(items)) if !matches!(**item, Shape::Any) => {
            let items = items.iter().map(|each| shown(py, item, each)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        _ => Ok(pythonize(py, value)?),
    }
}

/// The value without records: dicts and lists.
#[pyfunction]
pub fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    as_plain(value)
}

fn as_plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(record) = value.cast::<Record>() {
        return Ok(record.get().as_dict(value.py())?.into_any());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let plain = PyDict::new(value.py());
        for (key, item) in dict {
            plain.set_item(key, as_plain(&item)?)?;
        }
        return Ok(plain.into_any());
    }
    let Ok(items) = value.cast::<PyList>() else { return Ok(value.clone()) };
    let items = items.iter().map(|item| as_plain(&item)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(value.py(), items)?.into_any())
}

fn spec_of(name: &str) -> PyResult<&'static Spec> {
    let found = [RunManifest::SPEC, SweepManifest::SPEC].into_iter().find_map(|spec| spec.find(name));
    found.ok_or_else(|| PyTypeError::new_err(format!("no manifest has a '{name}'")))
}

/// The value, and its first fault.
fn checked(document: &Bound<'_, PyAny>, spec: &Spec) -> PyResult<(Value, Option<Fault>)> {
    Ok(match from_python(document, "", 0)? {
        Ok(value) => {
            let fault = file::check(&value, spec).err();
            (value, fault)
        }
        Err(fault) => (Value::Null, Some(fault)),
    })
}

/// A manifest that is this dict. `name`: `RunManifest` or `SweepManifest`. Raises `ResultError` with the first key that
/// does not hold what it should.
#[pyfunction]
#[pyo3(name = "manifest", signature = (document, name = "RunManifest"))]
pub fn of_document(document: &Bound<'_, PyAny>, name: &str) -> PyResult<Record> {
    let spec = spec_of(name)?;
    let (value, fault) = checked(document, spec)?;
    fault.map_or_else(|| Record::new(document.py(), spec, &value), |fault| Err(ResultError::new_err(fault.to_string())))
}

/// The first problem of a manifest, with key, value and expected value; None if it is valid.
#[pyfunction]
#[pyo3(signature = (document, name = "RunManifest"))]
pub fn manifest_problem(document: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<String>> {
    Ok(checked(document, spec_of(name)?)?.1.map(|fault| fault.to_string()))
}

/// A manifest of this text. `what`: `a run's manifest`. Raises `ResultError`.
#[pyfunction]
pub fn parse_manifest(py: Python<'_>, text: &[u8], name: &str, what: &str) -> PyResult<Record> {
    let spec = spec_of(name)?;
    let value = py.detach(|| file::read(text, spec, what)).map_err(ResultError::new_err)?;
    Record::new(py, spec, &value)
}

/// The text of a manifest's file. Raises `ResultError` as `manifest` does.
#[pyfunction]
#[pyo3(signature = (document, name = "RunManifest"))]
pub fn manifest_text(document: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let (value, fault) = checked(document, spec_of(name)?)?;
    fault.map_or_else(|| Ok(file::text(&value)), |fault| Err(ResultError::new_err(fault.to_string())))
}

/// Writes a manifest. Raises `OSError`, and `ResultError` as `manifest` does.
#[pyfunction]
#[pyo3(signature = (document, path, name = "RunManifest"))]
pub fn write_manifest(document: &Bound<'_, PyAny>, path: PathBuf, name: &str) -> PyResult<()> {
    Ok(std::fs::write(path, manifest_text(document, name)?)?)
}

/// Every key of a manifest: its path, what it holds, whether it is required.
#[pyfunction]
pub fn manifest_keys(name: &str) -> PyResult<Vec<(String, String, bool)>> {
    Ok(spec_of(name)?.manual())
}

/// The classes of both manifests for type checkers.
#[pyfunction]
pub fn manifest_classes() -> String {
    RunManifest::SPEC.classes() + &SweepManifest::SPEC.classes()
}

/// The manifest of a run of an engine. `verdict`: reasons, warnings, flows that came too late; `more`: the engine's own
/// entries.
#[pyfunction]
#[pyo3(signature = (experiment, plan, end, named, queues, verdict, *, engine, name, case, command, seed, more))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python are owned")]
pub fn run_manifest(
    py: Python<'_>,
    experiment: &Bound<'_, Experiment>,
    plan: &Bound<'_, Plan>,
    end: &Bound<'_, End>,
    named: Vec<Bound<'_, Queue>>,
    queues: &Bound<'_, Arrow>,
    verdict: (Vec<String>, Vec<String>, Vec<String>),
    engine: &str,
    name: &str,
    case: &str,
    command: &str,
    seed: u64,
    more: &Bound<'_, PyDict>,
) -> PyResult<Record> {
    let (invalid, warnings, too_late) = verdict;
    let verdict = Verdict { invalid, warnings, too_late };
    let named: Vec<&plan::Queue> = inner(&named);
    let asked = Asked { engine, name, case, command, seed };
    let outcome = Outcome { end: &end.get().0, named: &named, queues: queues.get(), verdict: &verdict };
    let mut made = manifest(&experiment.get().model, &plan.get().plan, asked, outcome);
    let more = from_python(more, "", 0)?.map_err(|fault| ResultError::new_err(fault.to_string()))?;
    if let (Value::Object(keys), Value::Object(more)) = (&mut made, more) {
        keys.extend(more);
    }
    file::check(&made, RunManifest::SPEC).map_err(|fault| ResultError::new_err(fault.to_string()))?;
    Record::new(py, RunManifest::SPEC, &made)
}

/// A value of JSON, or what none of our files has: an infinite or huge number, invalid text, deep nesting.
fn from_python(value: &Bound<'_, PyAny>, key: &str, level: usize) -> PyResult<Result<Value, Fault>> {
    let fault = |found: &str, expected: &str| {
        Ok(Err(Fault { key: key.into(), found: found.into(), expected: expected.into() }))
    };
    let most = "a number below 2^64";
    if value.is_none() {
        return Ok(Ok(Value::Null));
    }
    if let Ok(boolean) = value.cast::<PyBool>() {
        return Ok(Ok(boolean.is_true().into()));
    }
    if value.is_instance_of::<PyInt>() {
        return match (value.extract::<u64>(), value.extract::<i64>()) {
            (Ok(number), _) => Ok(Ok(number.into())),
            (_, Ok(number)) => Ok(Ok(number.into())),
            _ => fault("is a number with too many digits", most),
        };
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        let name = if number.is_nan() {
            "is NaN"
        } else if number > 0.0 {
            "is Infinity"
        } else {
            "is -Infinity"
        };
        return Number::from_f64(number).map_or_else(|| fault(name, most), |number| Ok(Ok(Value::Number(number))));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_str().map_or_else(|_| fault("is not valid text", "UTF-8"), |text| Ok(Ok(text.into())));
    }
    if level == MAX_LEVELS {
        return Ok(Err(file::too_deep(key)));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return pairs(dict, key, level);
    }
    if let Ok(record) = value.cast::<Record>() {
        return pairs(record.get().values.bind(value.py()), key, level);
    }
    let items = if let Ok(list) = value.cast::<PyList>() {
        list.iter().collect::<Vec<_>>()
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        tuple.iter().collect()
    } else if value.hasattr("keys")? {
        let dict = PyDict::new(value.py());
        dict.call_method1("update", (value,))?;
        return pairs(&dict, key, level);
    } else {
        return Err(PyTypeError::new_err(format!("{key}: a manifest has no {}", value.get_type())));
    };
    let mut list = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        match from_python(item, &format!("{key}[{place}]"), level + 1)? {
            Ok(item) => list.push(item),
            Err(fault) => return Ok(Err(fault)),
        }
    }
    Ok(Ok(Value::Array(list)))
}

fn pairs(dict: &Bound<'_, PyDict>, key: &str, level: usize) -> PyResult<Result<Value, Fault>> {
    let mut table = serde_json::Map::new();
    for (name, item) in dict {
        let name = name.str()?;
        let Ok(name) = name.to_str() else {
            let found = "has a key that is not valid text".into();
            return Ok(Err(Fault { key: key.into(), found, expected: "UTF-8".into() }));
        };
        match from_python(&item, &joined(key, name), level + 1)? {
            Ok(item) => table.insert(name.into(), item),
            Err(fault) => return Ok(Err(fault)),
        };
    }
    Ok(Ok(Value::Object(table)))
}
