//! Tests are added once.

use bobcat_core::analysis::theory::{TextTest, Texts, TheoryBudget};

#[test]
fn equal_tests_have_one_id() {
    let mut texts = Texts::new(TheoryBudget::default());
    let prefix = |text: &str| TextTest::StartsWith(vec![text.to_owned()]);
    let first = texts.add(prefix("a")).unwrap();
    let other = texts.add(prefix("b")).unwrap();
    assert_ne!(first, other);
    assert_eq!(texts.add(prefix("a")).unwrap(), first);
}
