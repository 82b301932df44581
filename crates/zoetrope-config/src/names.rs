//! Closed lists of names as enums.

/// Declares an enum whose values are names in files, flags and reports.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])+ $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])+ #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// All of them, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in files, on the command line and in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::setting::Setting for $name {
            fn expected() -> String {
                format!("one of {}", Self::names().join(", "))
            }

            fn read(value: &toml::Value) -> Option<Self> {
                let name = value.as_str()?;
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }

            fn write(&self) -> toml::Value {
                toml::Value::String(self.name().to_owned())
            }

            fn names() -> Vec<&'static str> {
                vec![$($text,)+]
            }
        }
    };
}

pub(super) use names;
