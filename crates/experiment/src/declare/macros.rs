//! The macros with which tables, choices and simple kinds are declared.

/// Declares a table: its struct, and everything that is made of its keys.
///
/// ```text
/// table! {
///     /// The queue under test.
///     pub struct Bottleneck, rules rules::bottleneck {
///         ..impairment: Impairment,                      keys of another table
///         /// Rate behind the queue.
///         rate: Rate, optional;                          a field `Option<u64>`
///         name: Name, required("name = \"second\"");     with an example for the message
///         position as "where": Position = "after";       another name in files; a default as in a file
///         mtu: Integer<u32, 576, 9000> [since "0.2"] = 1500;
///     }
/// }
/// ```
///
/// `before` is a function that may change the table before it is read, `rules` one that checks keys against each other,
/// `old ["trace" = "rate_trace"]` are older spellings ([`crate::renames`]),
/// `written` instead of `optional` means that the default depends on other keys, so that the key is always written.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:ident),+)])?
        pub struct $name:ident $(, before $before:path)? $(, rules $rules:path)? $(, also [$($also:literal),+])?
            $(, old [$($old:literal = $new:literal),+])?
        {
            $(..$flat:ident: $flat_type:ty,)*
            $(
                $(#[doc = $key_doc:literal])+
                $field:ident $(as $key:literal)?: $kind:ty $([since $since:literal])?
                $(, $presence:ident $(($example:literal))?)? $(= $default:expr)?;
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize $($(, $derive)+)?)]
        pub struct $name {
            $(#[doc = concat!("Keys of [`", stringify!($flat_type), "`].")] pub $flat: $flat_type,)*
            $($(#[doc = $key_doc])+ pub $field: $crate::declare::macros::field_type!($kind; $($presence)?),)*
        }

        impl $crate::declare::Declared for $name {
            const SPEC: &'static $crate::declare::spec::TableSpec = &$crate::declare::spec::TableSpec {
                name: stringify!($name),
                doc: $crate::declare::macros::referred!(concat!($($doc),+), ""),
                flat: &[$(<$flat_type as $crate::declare::Declared>::SPEC),*],
                also: &[$($($also),+)?],
                old: &[$($(($old, $new)),+)?],
                keys: &[$($crate::declare::spec::KeySpec {
                    name: $crate::declare::macros::or!([$($key)?] stringify!($field)),
                    field: stringify!($field),
                    doc: $crate::declare::macros::referred!(concat!($($key_doc),+), ""),
                    since: $crate::declare::macros::or!([$($since)?] "0.1"),
                    presence: $crate::declare::macros::presence!([$($presence)?] [$($default)?]),
                    table: <$kind as $crate::declare::Kind>::TABLE,
                    is_list: <$kind as $crate::declare::Kind>::IS_LIST,
                    shape: $crate::declare::macros::referred!(
                        <$kind as $crate::declare::Kind>::shape, $crate::declare::shapes::no_shape
                    ),
                    draw: $crate::declare::macros::referred!(
                        <$kind as $crate::declare::Kind>::draw, $crate::declare::shapes::no_value
                    ),
                    modern: <$kind as $crate::declare::Kind>::modern,
                }),*],
            };

            fn fields(
                value: &$crate::value::Value,
                table: &$crate::value::Table,
                location: &$crate::declare::location::Location<'_>,
                faults: &mut $crate::declare::location::Faults,
                has_rules: bool,
            ) -> Option<Self> {
                let before = faults.len();
                // A table of nothing but optional keys has no use for it.
                _ = value;
                $(let $flat = <$flat_type as $crate::declare::Declared>::fields(value, table, location, faults, has_rules);)*
                $(let $field = $crate::declare::macros::read_key!(
                    $kind, $crate::declare::macros::or!([$($key)?] stringify!($field)),
                    value, table, location, faults; $($presence $(($example))?)?; $($default)?
                );)*
                let made = Self { $($flat: $flat?,)* $($field: $field?,)* };
                _ = has_rules;
                $(if has_rules {
                    let mut report = $crate::declare::location::Report { value, location, faults };
                    $rules(&made, &mut report);
                })?
                (faults.len() == before).then_some(made)
            }

            fn write_into(&self, table: &mut $crate::value::Table) {
                $(self.$flat.write_into(table);)*
                $($crate::declare::macros::write_key!(
                    $kind, $crate::declare::macros::or!([$($key)?] stringify!($field)), table, &self.$field;
                    $($presence)?; $($default)?
                );)*
            }

            fn complete_into(&self, table: &mut $crate::value::Table) {
                $(self.$flat.complete_into(table);)*
                table.0.retain(|(key, _)| !<Self as $crate::declare::Declared>::SPEC.has_old(&key.text));
                $(table.0.push((
                    $crate::declare::macros::or!([$($key)?] stringify!($field)).into(),
                    $crate::declare::macros::each!(complete, $kind, &self.$field; $($presence)?),
                ));)*
            }

            fn data_into(&self, table: &mut $crate::value::Table) {
                $(self.$flat.data_into(table);)*
                $(table.0.push((
                    $crate::declare::macros::or!([$($key)?] stringify!($field)).into(),
                    $crate::declare::macros::each!(data, $kind, &self.$field; $($presence)?),
                ));)*
            }
        }

        impl $crate::declare::Kind for $name {
            type Value = Self;
            const TABLE: Option<&'static $crate::declare::spec::TableSpec> = Some(<Self as $crate::declare::Declared>::SPEC);

            fn read(
                value: &$crate::value::Value,
                location: &$crate::declare::location::Location<'_>,
                faults: &mut $crate::declare::location::Faults,
            ) -> Option<Self> {
                let spec = <Self as $crate::declare::Declared>::SPEC;
                let table = $crate::declare::table_of(value, spec, location, faults)?;
                let before = faults.len();
                let known = spec.names();
                for (key, _) in table.0.iter().filter(|(key, _)| !known.contains(&&key.text[..]) && !spec.has_old(&key.text)) {
                    faults.unknown(location, key, &known);
                }
                $(
                    let changed = $before(table);
                    let table = changed.as_ref().unwrap_or(table);
                )?
                let made = <Self as $crate::declare::Declared>::fields(value, table, location, faults, faults.len() == before);
                made.filter(|_| faults.len() == before)
            }

            fn write(value: &Self) -> $crate::value::Value {
                let mut table = $crate::value::Table::default();
                $crate::declare::Declared::write_into(value, &mut table);
                table.into()
            }

            fn data(value: &Self) -> $crate::value::Value {
                let mut table = $crate::value::Table::default();
                $crate::declare::Declared::data_into(value, &mut table);
                table.into()
            }

            fn complete(value: &Self) -> $crate::value::Value {
                let mut table = $crate::value::Table::default();
                $crate::declare::Declared::complete_into(value, &mut table);
                table.into()
            }

            fn shape() -> $crate::declare::spec::Shape {
                $crate::declare::shapes::table_shape(<Self as $crate::declare::Declared>::SPEC)
            }

            fn draw(draw: &mut $crate::draw::Draw<'_>) -> $crate::value::Value {
                $crate::declare::shapes::draw_table(<Self as $crate::declare::Declared>::SPEC, draw)
            }
        }
    };
}

/// What only a reference, a schema or random experiments need, else the second.
macro_rules! referred {
    ($of:expr, $without:expr) => {
        if cfg!(feature = "reference") { $of } else { $without }
    };
}
pub(crate) use referred;

/// The first, or the second where there is no first.
macro_rules! or {
    ([$value:expr] $other:expr) => {
        $value
    };
    ([] $other:expr) => {
        $other
    };
}

macro_rules! field_type {
    ($kind:ty; optional) => { Option<<$kind as $crate::declare::Kind>::Value> };
    ($kind:ty; $($other:ident)?) => { <$kind as $crate::declare::Kind>::Value };
}

macro_rules! presence {
    ([optional] []) => {
        $crate::declare::spec::Presence::Optional
    };
    ([required] []) => {
        $crate::declare::spec::Presence::Required
    };
    ([$($written:ident)?] [$default:expr]) => {
        $crate::declare::spec::Presence::Default(|| $crate::value::Value::from($default))
    };
}

macro_rules! read_key {
    ($kind:ty, $key:expr, $value:ident, $table:ident, $location:ident, $faults:ident; optional; ) => {
        $crate::declare::read_optional::<$kind>($table, $key, $location, $faults)
    };
    ($kind:ty, $key:expr, $value:ident, $table:ident, $location:ident, $faults:ident; required($example:literal); ) => {
        $crate::declare::read_required::<$kind>($value, $table, $key, $location, $faults, $example)
    };
    ($kind:ty, $key:expr, $value:ident, $table:ident, $location:ident, $faults:ident; $($written:ident)?; $default:expr) => {
        $crate::declare::read_default::<$kind>($table, $key, $location, $faults, || {
            $crate::value::Value::from($default)
        })
    };
}

macro_rules! write_key {
    ($kind:ty, $key:expr, $table:ident, $field:expr; optional; ) => {
        if let Some(value) = $field {
            $table.set($key, <$kind as $crate::declare::Kind>::write(value));
        }
    };
    ($kind:ty, $key:expr, $table:ident, $field:expr; ; $default:expr) => {
        $crate::declare::write_default::<$kind>($table, $key, $field, || $crate::value::Value::from($default));
    };
    ($kind:ty, $key:expr, $table:ident, $field:expr; $always:ident; $($default:expr)?) => {
        $table.set($key, <$kind as $crate::declare::Kind>::write($field));
    };
}

/// A key's value by `data` or `complete`; null where it has none.
macro_rules! each {
    ($by:ident, $kind:ty, $field:expr; optional) => {
        $field.as_ref().map_or_else($crate::value::Value::default, <$kind as $crate::declare::Kind>::$by)
    };
    ($by:ident, $kind:ty, $field:expr; $($other:ident)?) => {
        <$kind as $crate::declare::Kind>::$by($field)
    };
}

/// Declares an enum of words.
macro_rules! choices {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[doc = $word_doc])+ $variant,)+ }

        impl $name {
            /// The words, in this order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word in files.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl $name {
            /// Each, in this order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
        }

        $crate::declare::words!($name);
    };
}

/// Makes a kind of an enum of words that has `ALL`, `WORDS` and `word`. `old` gives today's word for an older value.
macro_rules! words {
    ($name:ident $(, old $old:path)?) => {
        impl $crate::declare::Simple for $name {
            type Value = Self;

            fn parse(value: &$crate::value::Value) -> Result<Self, dumbbell_tc::Wrong> {
                let found = Self::ALL.iter().find(|each| value.text() == Some(each.word()));
                found.copied().ok_or_else(|| $crate::declare::shapes::none_of(value, Self::WORDS))
            }

            fn write(value: &Self) -> $crate::value::Value {
                value.word().into()
            }

            fn shape() -> $crate::declare::spec::Shape {
                $crate::declare::shapes::choice_shape(Self::WORDS)
            }

            fn draw(draw: &mut $crate::draw::Draw<'_>) -> $crate::value::Value {
                draw.pick(Self::WORDS).into()
            }

            $(fn modern(value: &$crate::value::Value) -> Option<$crate::value::Value> {
                $old(value).map(|word| word.word().into())
            })?
        }

        $crate::declare::simple!($name);
    };
}

/// Makes a [`Kind`](crate::declare::Kind) of each [`Simple`](crate::declare::Simple) kind.
macro_rules! simple {
    ($($name:ty),+ $(,)?) => {
        $(impl $crate::declare::Kind for $name {
            type Value = <Self as $crate::declare::Simple>::Value;

            fn read(
                value: &$crate::value::Value,
                location: &$crate::declare::location::Location<'_>,
                faults: &mut $crate::declare::location::Faults,
            ) -> Option<Self::Value> {
                let read = <Self as $crate::declare::Simple>::parse(value);
                read.map_err(|wrong| faults.add(location, value, wrong)).ok()
            }

            fn write(value: &Self::Value) -> $crate::value::Value {
                <Self as $crate::declare::Simple>::write(value)
            }

            fn data(value: &Self::Value) -> $crate::value::Value {
                <Self as $crate::declare::Simple>::data(value)
            }

            fn shape() -> $crate::declare::spec::Shape {
                <Self as $crate::declare::Simple>::shape()
            }

            fn draw(draw: &mut $crate::draw::Draw<'_>) -> $crate::value::Value {
                <Self as $crate::declare::Simple>::draw(draw)
            }

            fn modern(value: &$crate::value::Value) -> Option<$crate::value::Value> {
                <Self as $crate::declare::Simple>::modern(value)
            }
        })+
    };
}

pub(crate) use {choices, each, field_type, or, presence, read_key, simple, table, words, write_key};
