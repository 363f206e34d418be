//! A controller's settings: numbers and choices by name, like the parameters of a Linux module.
//!
//! A controller takes its parameters when it is created. [`Parameters::finish`] reports unknown parameters and values
//! out of range, which are not used. Units are the controller's own; see its page in `docs/controllers`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};
use core::ops::RangeInclusive;
use serde::{Deserialize, Serialize};

/// One value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Setting {
    /// A number. For controllers that Linux does not have, times are in nanoseconds and rates in bits per second.
    Number(u64),
    /// One of several choices.
    Word(String),
}

/// A parameter that a controller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// Its name.
    pub name: &'static str,
    /// Its default value.
    pub default: String,
    /// The accepted values, in words.
    pub takes: String,
}

/// A parameter as the controller requested it. A flow without settings formats no text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requested {
    name: &'static str,
    accepted: Accepted,
}

/// A default and the accepted values.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Accepted {
    Number(u64, RangeInclusive<u64>),
    /// The first is the default.
    Word(&'static [&'static str]),
}

/// The settings of one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Parameters {
    set: BTreeMap<String, Setting>,
    #[serde(skip)]
    requested: Vec<Requested>,
    #[serde(skip)]
    problem: Option<String>,
}

impl Parameters {
    /// Parameters with these settings.
    #[must_use]
    pub fn of(set: impl IntoIterator<Item = (String, Setting)>) -> Self {
        Self { set: set.into_iter().collect(), ..Self::default() }
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The number of this name, or `default`, within `range`.
    pub fn take<T>(&mut self, name: &'static str, default: T, range: RangeInclusive<T>) -> T
    where
        T: Copy + PartialOrd + TryFrom<u64> + Into<u64>,
    {
        let accepted = Accepted::Number(default.into(), (*range.start()).into()..=(*range.end()).into());
        let chosen = match self.set.remove(name) {
            None => Ok(default),
            Some(Setting::Word(word)) => Err(format!("'{word}'")),
            Some(Setting::Number(number)) => {
                T::try_from(number).ok().filter(|fits| range.contains(fits)).ok_or_else(|| format!("{number}"))
            }
        };
        let chosen = chosen.unwrap_or_else(|given| {
            self.problem.get_or_insert(format!("parameter '{name}' is {given}; it takes {accepted}"));
            default
        });
        self.requested.push(Requested { name, accepted });
        chosen
    }

    /// A switch (Linux writes 0 or 1).
    pub fn switch(&mut self, name: &'static str, default: bool) -> bool {
        self.take(name, u8::from(default), 0..=1) == 1
    }

    /// One of `choices`; the first is the default.
    ///
    /// # Panics
    ///
    /// If `choices` is empty.
    pub fn choose(&mut self, name: &'static str, choices: &'static [&'static str]) -> &'static str {
        let accepted = Accepted::Word(choices);
        let chosen = match self.set.remove(name) {
            None => Ok(choices[0]),
            Some(Setting::Word(word)) => choices.iter().find(|choice| **choice == word).copied().ok_or(word),
            Some(Setting::Number(number)) => Err(format!("{number}")),
        };
        let chosen = chosen.unwrap_or_else(|word| {
            self.problem.get_or_insert(format!("parameter '{name}' is '{word}'; it takes {accepted}"));
            choices[0]
        });
        self.requested.push(Requested { name, accepted });
        chosen
    }

    /// The parameters requested so far: after creation, all that the controller has.
    #[must_use]
    pub fn known(&self) -> Vec<ParameterInfo> {
        self.requested.iter().map(Requested::describe).collect()
    }

    /// Checks that every setting was taken and valid.
    ///
    /// # Errors
    ///
    /// The first unknown parameter or invalid value.
    pub fn finish(&self) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let Some(name) = self.set.keys().next() else { return Ok(()) };
        let names: Vec<_> = self.requested.iter().map(|requested| requested.name).collect();
        let has = if names.is_empty() {
            "it has no parameters".into()
        } else {
            format!("its parameters: {}", names.join(", "))
        };
        Err(format!("no parameter '{name}'; {has}"))
    }
}

impl Requested {
    fn describe(&self) -> ParameterInfo {
        let default = match &self.accepted {
            Accepted::Number(default, _) => format!("{default}"),
            Accepted::Word(choices) => choices[0].into(),
        };
        ParameterInfo { name: self.name, default, takes: format!("{}", self.accepted) }
    }
}

impl Display for Accepted {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Number(_, range) => write!(to, "an integer from {} to {}", range.start(), range.end()),
            Self::Word(choices) => to.write_str(&choices.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, setting: Setting) -> Parameters {
        Parameters::of([(name.into(), setting)])
    }

    #[test]
    fn a_set_value_is_taken_and_an_unset_one_is_the_default() {
        let mut parameters = set("alpha", Setting::Number(3));
        assert_eq!((parameters.take("alpha", 2_u32, 0..=9), parameters.take("beta", 4_u32, 0..=9)), (3, 4));
        assert!(!parameters.switch("hystart", false));
        let beta = ParameterInfo { name: "beta", default: "4".into(), takes: "an integer from 0 to 9".into() };
        assert_eq!(parameters.known()[1], beta);
        assert_eq!(parameters.finish(), Ok(()));
    }

    #[test]
    fn an_unknown_parameter_is_an_error_that_lists_the_known_ones() {
        let mut parameters = set("alhpa", Setting::Number(3));
        assert_eq!(parameters.finish(), Err("no parameter 'alhpa'; it has no parameters".into()));
        parameters.take("alpha", 2_u32, 0..=9);
        assert_eq!(parameters.finish(), Err("no parameter 'alhpa'; its parameters: alpha".into()));
    }

    #[test]
    fn a_value_out_of_range_is_not_used() {
        for number in [10, u64::MAX] {
            let mut parameters = set("alpha", Setting::Number(number));
            assert_eq!(parameters.take("alpha", 2_u32, 0..=9), 2);
            let problem = format!("parameter 'alpha' is {number}; it takes an integer from 0 to 9");
            assert_eq!(parameters.finish(), Err(problem));
        }
    }

    #[test]
    fn a_word_must_be_one_of_the_choices() {
        let mut parameters = set("slow_start", Setting::Word("hystart++".into()));
        assert_eq!(parameters.choose("slow_start", &["hystart", "hystart++"]), "hystart++");
        assert_eq!(parameters.finish(), Ok(()));
        let mut parameters = set("slow_start", Setting::Number(1));
        assert_eq!(parameters.choose("slow_start", &["hystart", "hystart++"]), "hystart");
        let problem = "parameter 'slow_start' is '1'; it takes hystart, hystart++";
        assert_eq!(parameters.finish(), Err(problem.into()));
    }
}
