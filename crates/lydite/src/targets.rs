//! `lydite targets`.

use lydite_target::families;

/// Lists the families of databases with their URLs, ways of sending transactions, and options.
pub(crate) fn list() -> crate::Outcome {
    for family in families() {
        let modes: Vec<&str> = family.modes.iter().map(|mode| mode.name()).collect();
        println!("{}", family.schemes.join(", "));
        println!("    {}", family.about);
        println!("    URL   {}", family.url);
        println!("    --tx  {}", modes.join(", "));
        for option in family.options {
            println!("    ?{}={}", option.name, option.values);
            println!("        {} [default: {}]", option.about, option.default);
        }
        println!();
    }
    Ok(())
}
