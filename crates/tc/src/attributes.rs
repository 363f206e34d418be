//! What tc sends for a qdisc, and the settings that Linux makes of it.

use crate::syntax::attributes::AttributeBytes;
use crate::syntax::grammar::{Grammar, Options};
use crate::syntax::{Device, Wrong};
use dumbbell_net::queue::Config;

/// What tc sends for one kind of qdisc, in the kernel's units.
pub trait Attributes: Clone + Sized {
    /// The kind's keywords.
    const GRAMMAR: Grammar;

    /// Reads options as tc does.
    ///
    /// # Errors
    ///
    /// tc refuses them.
    fn parse(options: &Options<'_>) -> Result<Self, Wrong>;

    /// Takes over what `tc qdisc change` sends; the kernel keeps the rest.
    ///
    /// # Errors
    ///
    /// Linux does not change this kind, or not this attribute.
    fn change(&mut self, new: Self) -> Result<(), Wrong> {
        *self = new;
        Ok(())
    }

    /// Settings on this device, without children.
    ///
    /// # Errors
    ///
    /// Linux refuses them, or the simulator does not have them.
    fn config(&self, device: &Device) -> Result<Config, Wrong>;

    /// Appends the options as tc sends them (`TCA_OPTIONS`), if there are any.
    ///
    /// # Errors
    ///
    /// Only tc can send this kind, or these options.
    fn send(&self, _to: &mut AttributeBytes) -> Result<(), Wrong> {
        Ok(())
    }

    /// The same for a qdisc that may exist: of what is not sent the kernel keeps what it has.
    ///
    /// # Errors
    ///
    /// As [`Attributes::send`].
    fn send_change(&self, to: &mut AttributeBytes) -> Result<(), Wrong> {
        self.send(to)
    }
}
