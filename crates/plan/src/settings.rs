//! Parameters of controllers' modules: Linux has them once for all sockets.

use crate::Plan;
use crate::operation::{Operation, Step};
use crate::traffic::{ParameterValue, Transport};
use std::fmt;

/// Parameters of a controller, as written.
pub type Parameters = Vec<(String, ParameterValue)>;

/// Two groups of flows set one module differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The controller.
    pub cc: String,
    /// What the first group sets.
    pub first: Parameters,
    /// What the other group sets.
    pub other: Parameters,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two groups set {} differently, but Linux has one setting for all sockets", self.cc)
    }
}

impl std::error::Error for Conflict {}

impl Plan {
    /// Controllers that the kernel needs: those of TCP flows.
    pub fn linux_controllers(&self) -> impl Iterator<Item = &str> {
        let tcp = self.flows.iter().filter(|flow| flow.transport == Transport::Tcp);
        tcp.filter_map(|flow| flow.cc.as_deref())
    }

    /// A step for each parameter of a controller.
    ///
    /// # Errors
    ///
    /// Two groups set the same module differently.
    pub fn module_parameters(&self) -> Result<Vec<Step>, Conflict> {
        let mut requested = Vec::<(&str, &Parameters)>::new();
        for flow in &self.flows {
            let Some(cc) = flow.cc.as_deref() else { continue };
            match requested.iter().find(|(known, _)| *known == cc) {
                None => requested.push((cc, &flow.cc_parameters)),
                Some((_, first)) if **first != flow.cc_parameters => {
                    let (first, other) = ((*first).clone(), flow.cc_parameters.clone());
                    return Err(Conflict { cc: cc.into(), first, other });
                }
                Some(_) => {}
            }
        }
        let step = |cc: &str, (name, value): &(String, ParameterValue)| {
            let value = match value {
                ParameterValue::Number(number) => number.to_string(),
                ParameterValue::Word(word) => word.clone(),
            };
            Step::new("", Operation::ModuleParameter { cc: cc.into(), name: name.clone(), value })
        };
        Ok(requested.iter().flat_map(|(cc, parameters)| parameters.iter().map(|each| step(cc, each))).collect())
    }
}
