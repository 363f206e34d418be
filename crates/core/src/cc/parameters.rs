//! What an experiment sets of a controller: numbers and words by name, as a Linux module has parameters.
//!
//! A controller takes what it knows when it is made; what is left over nobody knows, and what is out of range is
//! not used: [`Parameters::finish`] tells. Units are the controller's own (its page in `docs/controllers` has them).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Display, Formatter};
use core::ops::RangeInclusive;
use serde::Deserialize;

/// One value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A number; times are nanoseconds and rates bits per second where the controller is not Linux's.
    Number(u64),
    /// A choice among words.
    Word(String),
}

/// A parameter that a controller has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Its value where nothing is set.
    pub default: String,
    /// What it takes, in words.
    pub takes: String,
}

/// What a controller asked for, as it stands: a flow that sets nothing costs no text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    name: &'static str,
    takes: Takes,
}

/// A default, and the values beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Takes {
    Number(u64, RangeInclusive<u64>),
    /// The first is the default.
    Word(&'static [&'static str]),
}

/// Everything that was set for one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Parameters {
    set: BTreeMap<String, Setting>,
    #[serde(skip)]
    asked: Vec<Asked>,
    #[serde(skip)]
    problem: Option<String>,
}

impl Parameters {
    /// These settings.
    #[must_use]
    pub fn of(set: impl IntoIterator<Item = (String, Setting)>) -> Self {
        Self { set: set.into_iter().collect(), ..Self::default() }
    }

    /// The number of this name, or `default`, within `range`.
    pub fn take<T>(&mut self, name: &'static str, default: T, range: RangeInclusive<T>) -> T
    where
        T: Copy + PartialOrd + TryFrom<u64> + Into<u64>,
    {
        let takes = Takes::Number(default.into(), (*range.start()).into()..=(*range.end()).into());
        let chosen = match self.set.remove(name) {
            None => Ok(default),
            Some(Setting::Word(word)) => Err(format!("'{word}'")),
            Some(Setting::Number(number)) => {
                T::try_from(number).ok().filter(|fits| range.contains(fits)).ok_or_else(|| format!("{number}"))
            }
        };
        let chosen = chosen.unwrap_or_else(|given| {
            self.problem.get_or_insert(format!("parameter '{name}' is {given}; it takes {takes}"));
            default
        });
        self.asked.push(Asked { name, takes });
        chosen
    }

    /// Is the switch of this name on? Linux writes them 0 and 1.
    pub fn switch(&mut self, name: &'static str, default: bool) -> bool {
        self.take(name, u8::from(default), 0..=1) == 1
    }

    /// The word of this name: one of `choices`, the first of which is the default.
    ///
    /// # Panics
    ///
    /// When there is no choice.
    pub fn choose(&mut self, name: &'static str, choices: &'static [&'static str]) -> &'static str {
        let takes = Takes::Word(choices);
        let chosen = match self.set.remove(name) {
            None => Ok(choices[0]),
            Some(Setting::Word(word)) => choices.iter().find(|choice| **choice == word).copied().ok_or(word),
            Some(Setting::Number(number)) => Err(format!("{number}")),
        };
        let chosen = chosen.unwrap_or_else(|word| {
            self.problem.get_or_insert(format!("parameter '{name}' is '{word}'; it takes {takes}"));
            choices[0]
        });
        self.asked.push(Asked { name, takes });
        chosen
    }

    /// What was asked for so far: all that a controller has, once it is made.
    #[must_use]
    pub fn known(&self) -> Vec<Known> {
        self.asked.iter().map(Asked::told).collect()
    }

    /// Was all of it taken, and sound?
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, in words.
    pub fn finish(&self) -> Result<(), String> {
        if let Some(problem) = &self.problem {
            return Err(problem.clone());
        }
        let Some(name) = self.set.keys().next() else { return Ok(()) };
        let names: Vec<_> = self.asked.iter().map(|asked| asked.name).collect();
        let has = if names.is_empty() { "there are none".into() } else { format!("there is: {}", names.join(", ")) };
        Err(format!("no parameter '{name}'; {has}"))
    }
}

impl Asked {
    fn told(&self) -> Known {
        let default = match &self.takes {
            Takes::Number(default, _) => format!("{default}"),
            Takes::Word(choices) => choices[0].into(),
        };
        Known { name: self.name, default, takes: format!("{}", self.takes) }
    }
}

impl Display for Takes {
    fn fmt(&self, to: &mut Formatter) -> fmt::Result {
        match self {
            Self::Number(_, range) => write!(to, "a whole number from {} to {}", range.start(), range.end()),
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
    fn what_is_set_is_taken_and_what_is_not_is_the_default() {
        let mut parameters = set("alpha", Setting::Number(3));
        assert_eq!((parameters.take("alpha", 2_u32, 0..=9), parameters.take("beta", 4_u32, 0..=9)), (3, 4));
        assert!(!parameters.switch("hystart", false));
        let beta = Known { name: "beta", default: "4".into(), takes: "a whole number from 0 to 9".into() };
        assert_eq!(parameters.known()[1], beta);
        assert_eq!(parameters.finish(), Ok(()));
    }

    #[test]
    fn what_nobody_takes_is_named_with_what_there_is() {
        let mut parameters = set("alhpa", Setting::Number(3));
        assert_eq!(parameters.finish(), Err("no parameter 'alhpa'; there are none".into()));
        parameters.take("alpha", 2_u32, 0..=9);
        assert_eq!(parameters.finish(), Err("no parameter 'alhpa'; there is: alpha".into()));
    }

    #[test]
    fn what_is_out_of_range_is_not_used() {
        for number in [10, u64::MAX] {
            let mut parameters = set("alpha", Setting::Number(number));
            assert_eq!(parameters.take("alpha", 2_u32, 0..=9), 2);
            let problem = format!("parameter 'alpha' is {number}; it takes a whole number from 0 to 9");
            assert_eq!(parameters.finish(), Err(problem));
        }
    }

    #[test]
    fn a_word_is_one_of_the_choices() {
        let mut parameters = set("slow_start", Setting::Word("hystart++".into()));
        assert_eq!(parameters.choose("slow_start", &["hystart", "hystart++"]), "hystart++");
        assert_eq!(parameters.finish(), Ok(()));
        let mut parameters = set("slow_start", Setting::Number(1));
        assert_eq!(parameters.choose("slow_start", &["hystart", "hystart++"]), "hystart");
        let problem = "parameter 'slow_start' is '1'; it takes hystart, hystart++";
        assert_eq!(parameters.finish(), Err(problem.into()));
    }
}
