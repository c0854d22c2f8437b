//! The macros that define parameters.

/// Defines a struct of parameters: see the [module](crate::schema).
macro_rules! parameters {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $group:literal {
            $(
                $(#[doc = $doc:literal])+
                $field_vis:vis $field:ident: $type:ty = $default:expr
                $(, within $range:expr)?
                $(, as $public:literal)?
                $(, typed $typed:literal)?
                $(, elsewhere $elsewhere:literal)?
                ;
            )*
        }
        $(with {
            $(
                $(#[$other_meta:meta])*
                $other_vis:vis $other:ident: $other_type:ty = $other_default:expr;
            )*
        })?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $($(#[doc = $doc])+ $field_vis $field: $type,)*
            $($($(#[$other_meta])* $other_vis $other: $other_type,)*)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* $($($other: $other_default,)*)? }
            }
        }

        impl $crate::schema::Parameters for $name {
            fn schema() -> Vec<$crate::schema::Parameter> {
                let default = Self::default();
                vec![$({
                    let field = $crate::schema::parameters!(@field $field [$($range)?] [$($public)?]);
                    let elsewhere = concat!("" $(, $elsewhere)?);
                    let typed = $crate::schema::parameters!(@optional $($typed)?);
                    let doc = concat!($($doc, "\n",)+);
                    field.parameter($group, typed, &default.$field, [elsewhere, doc])
                }),*]
            }

            fn set(
                &mut self,
                name: &str,
                value: &$crate::schema::ParamValue,
            ) -> $crate::error::Result<bool> {
                $({
                    let field = $crate::schema::parameters!(@field $field [$($range)?] [$($public)?]);
                    if field.name == name {
                        self.$field = field.read(value)?;
                        return Ok(true);
                    }
                })*
                Ok(false)
            }

            fn values(&self) -> Vec<(&'static str, $crate::schema::ParamValue)> {
                vec![$((
                    $crate::schema::parameters!(@name $field $($public)?),
                    $crate::schema::ParamType::value(&self.$field),
                )),*]
            }

            fn check_ranges(&self) -> $crate::error::Result<()> {
                $($crate::schema::parameters!(@field $field [$($range)?] [$($public)?])
                    .check(&self.$field)?;)*
                Ok(())
            }
        }
    };
    (@field $field:ident [$($range:expr)?] [$($public:literal)?]) => {
        $crate::schema::ParamField {
            name: $crate::schema::parameters!(@name $field $($public)?),
            range: $crate::schema::parameters!(@optional $($range)?),
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $public:literal) => { $public };
    (@optional) => { None };
    (@optional $value:expr) => { Some($value) };
}
pub(crate) use parameters;

/// Defines a struct of several groups of parameters.
macro_rules! parameter_groups {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name { $($(#[$field_meta])* $field_vis $field: $type,)* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::schema::Parameters for $name {
            fn schema() -> Vec<$crate::schema::Parameter> {
                let default = <Self as $crate::schema::Parameters>::values(&Self::default());
                let mut all = Vec::new();
                $(all.extend(<$type as $crate::schema::Parameters>::schema());)*
                // A group may have other defaults here than alone.
                for (parameter, (_, value)) in all.iter_mut().zip(default) {
                    parameter.default = value;
                }
                all
            }

            fn set(
                &mut self,
                name: &str,
                value: &$crate::schema::ParamValue,
            ) -> $crate::error::Result<bool> {
                Ok($($crate::schema::Parameters::set(&mut self.$field, name, value)?)||*)
            }

            fn values(&self) -> Vec<(&'static str, $crate::schema::ParamValue)> {
                let mut all = Vec::new();
                $(all.extend($crate::schema::Parameters::values(&self.$field));)*
                all
            }

            fn check_ranges(&self) -> $crate::error::Result<()> {
                $($crate::schema::Parameters::check_ranges(&self.$field)?;)*
                Ok(())
            }
        }
    };
}
pub(crate) use parameter_groups;

/// Defines an enum whose variants have names.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $name {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name that parameters and files have.
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

        impl $crate::schema::ParamType for $name {
            const KIND: $crate::schema::ParamKind = $crate::schema::ParamKind::Choice(&[$($text),+]);

            fn read(value: &$crate::schema::ParamValue) -> Option<Self> {
                let $crate::schema::ParamValue::Text(text) = value else { return None };
                Self::ALL.iter().copied().find(|one| one.name() == text)
            }

            fn value(&self) -> $crate::schema::ParamValue {
                $crate::schema::ParamValue::Text(self.name().to_owned())
            }
        }
    };
}
pub(crate) use choices;
