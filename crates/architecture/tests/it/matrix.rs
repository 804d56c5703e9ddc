//! The book says nothing of the tests that is not so.

use crate::WORKSPACE;

#[test]
fn every_test_that_the_matrix_names_is_there() {
    let page = WORKSPACE.text("docs/src/matrix.md").expect("the page");
    let code = WORKSPACE.all_code().expect("the sources");
    // Names of tests are sentences: nothing else in that page has so many underscores.
    let named: Vec<&str> =
        page.split('`').skip(1).step_by(2).filter(|word| word.matches('_').count() > 3).collect();
    assert!(named.len() > 40, "{} tests are named", named.len());
    let missing: Vec<&&str> = named.iter().filter(|name| !code.contains(&format!("fn {name}"))).collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}
