//! Records of fixed size: fields in order, little-endian.

/// A field of a record: its name, and its type as numpy writes it.
pub type Field = (&'static str, String);

/// A type of a field.
pub trait Encode<'a>: Sized {
    /// Its bytes.
    const SIZE: usize;

    /// Its type as numpy writes it.
    fn numpy() -> String;

    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads the first [`Encode::SIZE`] bytes.
    fn get(bytes: &'a [u8]) -> Self;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Encode<'_> for $kind {
            const SIZE: usize = size_of::<Self>();

            fn numpy() -> String {
                format!("<u{}", size_of::<Self>())
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes[..size_of::<Self>()].try_into().expect("so many bytes"))
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64);

/// Bytes that the kernel wrote, cut or filled with zeros to a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'a, const N: usize>(pub &'a [u8]);

impl<'a, const N: usize> Encode<'a> for Kept<'a, N> {
    const SIZE: usize = N;

    fn numpy() -> String {
        format!("V{N}")
    }

    fn put(&self, out: &mut Vec<u8>) {
        let kept = &self.0[..self.0.len().min(N)];
        out.extend_from_slice(kept);
        out.resize(out.len() + N - kept.len(), 0);
    }

    fn get(bytes: &'a [u8]) -> Self {
        Self(&bytes[..N])
    }
}

/// Declares a record: a struct, its encoding and its fields.
macro_rules! record {
    ($(#[$meta:meta])* $name:ident$(<$life:lifetime>)? { $($(#[$field_meta:meta])* $field:ident: $kind:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name$(<$life>)? {
            $($(#[$field_meta])* pub $field: $kind,)*
        }

        impl$(<$life>)? $name$(<$life>)? {
            /// Bytes of a record.
            pub const SIZE: usize = 0 $(+ <$kind as $crate::layout::Encode<'_>>::SIZE)*;

            /// Appends the record's bytes.
            pub fn put(&self, out: &mut Vec<u8>) {
                $($crate::layout::Encode::put(&self.$field, out);)*
            }

            /// Reads the record at the start of these bytes.
            ///
            /// # Panics
            ///
            /// If there are fewer than [`Self::SIZE`].
            #[must_use]
            pub fn get(bytes: &$($life)? [u8]) -> Self {
                let mut at = 0;
                $(
                    let $field = <$kind as $crate::layout::Encode<'_>>::get(&bytes[at..]);
                    at += <$kind as $crate::layout::Encode<'_>>::SIZE;
                )*
                let _ = at;
                Self { $($field),* }
            }

            /// Its fields in order.
            #[must_use]
            pub fn fields() -> Vec<$crate::layout::Field> {
                vec![$((stringify!($field), <$kind as $crate::layout::Encode<'_>>::numpy())),*]
            }
        }
    };
}

pub(crate) use record;
