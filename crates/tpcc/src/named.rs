//! Enums whose variants have a name each, for databases, command lines and results.

/// Declares an enum whose variants have names. Adds `ALL` in the order of the declaration, `COUNT`, `index` (the place
/// in `ALL`, for tables with an entry for each variant), `name` and `from_name`. With `[from N]` behind the enum's name,
/// `index` counts from `N`: the enum is then a part of a larger one.
///
/// ```
/// lydite_tpcc::named_enum! {
///     /// A colour.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Colour {
///         /// Like the sky.
///         Blue = "blue",
///         /// Like grass.
///         Green = "green",
///     }
/// }
/// assert_eq!(Colour::ALL, [Colour::Blue, Colour::Green]);
/// assert_eq!((Colour::Green.index(), Colour::Green.name()), (1, "green"));
/// assert_eq!((Colour::from_name("blue"), Colour::from_name("red")), (Some(Colour::Blue), None));
/// ```
#[macro_export]
macro_rules! named_enum {
    ($(#[$about:meta])* $visibility:vis enum $Enum:ident $([from $first:expr])? {
        $($(#[$about_variant:meta])* $Variant:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        $visibility enum $Enum {
            $($(#[$about_variant])* $Variant,)+
        }

        impl $Enum {
            /// Number of variants.
            $visibility const COUNT: usize = [$($name),+].len();
            /// All variants, in the order of their declaration.
            $visibility const ALL: [Self; Self::COUNT] = [$(Self::$Variant),+];

            /// Returns the place of the variant in `ALL`, for tables with an entry for each variant.
            #[must_use]
            $visibility const fn index(self) -> usize {
                self as usize $(+ $first)?
            }

            /// Returns the variant with this name.
            #[must_use]
            $visibility fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }

            /// Returns the name of the variant.
            #[must_use]
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }
    };
}
