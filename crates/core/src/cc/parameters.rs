//! What an experiment sets of a controller: numbers and words by name, as a Linux module has parameters.
//!
//! A controller takes what it knows when it is made; what is left over nobody knows, and what is out of range is
//! not used: [`Parameters::finish`] tells. Units are the controller's own (its page in `docs/controllers` has them).

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;
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

/// Everything that was set for one controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Parameters {
    set: BTreeMap<String, Setting>,
    #[serde(skip)]
    known: Vec<Known>,
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
        T: Copy + Display + PartialOrd + TryFrom<u64>,
    {
        let takes = format!("a whole number from {} to {}", range.start(), range.end());
        self.known.push(Known { name, default: format!("{default}"), takes: takes.clone() });
        let wrong = match self.set.remove(name) {
            None => return default,
            Some(Setting::Word(word)) => format!("parameter '{name}' is '{word}'; it takes {takes}"),
            Some(Setting::Number(number)) => match T::try_from(number) {
                Ok(fits) if range.contains(&fits) => return fits,
                _ => format!("parameter '{name}' is {number}; it takes {takes}"),
            },
        };
        self.problem.get_or_insert(wrong);
        default
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
    pub fn choose(&mut self, name: &'static str, choices: &[&'static str]) -> &'static str {
        let takes = choices.join(", ");
        self.known.push(Known { name, default: choices[0].into(), takes: takes.clone() });
        let asked = match self.set.remove(name) {
            None => return choices[0],
            Some(Setting::Word(word)) => word,
            Some(Setting::Number(number)) => format!("{number}"),
        };
        if let Some(choice) = choices.iter().find(|choice| **choice == asked) {
            return choice;
        }
        self.problem.get_or_insert(format!("parameter '{name}' is '{asked}'; it takes {takes}"));
        choices[0]
    }

    /// What was asked for so far: all that a controller has, once it is made.
    #[must_use]
    pub fn known(&self) -> &[Known] {
        &self.known
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
        let names: Vec<_> = self.known.iter().map(|known| known.name).collect();
        let has = if names.is_empty() { "there are none".into() } else { format!("there is: {}", names.join(", ")) };
        Err(format!("no parameter '{name}'; {has}"))
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
