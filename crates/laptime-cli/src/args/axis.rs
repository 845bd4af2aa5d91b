//! Axes as they are typed: `batch=32,128,512`, `batch=16..512*2`, `lr=0.1..1.0+0.1`.

use laptime_analyse::sweep::Parameter;

use super::decimal::Decimal;

/// More values than anybody measures; a longer range is a slip of the finger.
const MOST_VALUES: usize = 100_000;

/// Reads `NAME=VALUES`; the error says why it cannot be.
pub(crate) fn parse_axis(text: &str) -> Result<Parameter, String> {
    let (name, list) =
        text.split_once('=').ok_or("expected NAME=VALUES, such as batch=32,128 or batch=16..512*2")?;
    if !is_name(name) {
        return Err(format!("invalid name `{name}`: use letters, digits, `_` and `-`, a letter first"));
    }
    if list.trim().is_empty() {
        return Err(format!("{name} has no values, such as {name}=32,128 or {name}=16..512*2"));
    }
    let mut values: Vec<String> = Vec::new();
    for item in list.split(',').map(str::trim) {
        values.extend(parse_item(item)?);
    }
    match first_twin(&values) {
        Some(twin) => Err(format!("{name} has {twin} twice; --repeats says how often to measure")),
        None => Ok(Parameter { name: name.to_owned(), values }),
    }
}

/// Whether it may stand between braces.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
}

fn first_twin(values: &[String]) -> Option<&String> {
    let mut sorted: Vec<&String> = values.iter().collect();
    sorted.sort();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

/// One item of a list: a range where it begins with a number and two dots, else the value itself.
fn parse_item(item: &str) -> Result<Vec<String>, String> {
    if item.is_empty() {
        return Err("a value is empty: two commas in a row, or one at the end".to_owned());
    }
    let begin = item.split_once("..").and_then(|(begin, rest)| Some((Decimal::parse(begin)?, rest)));
    match begin {
        Some((begin, rest)) => range(item, begin, rest),
        None => Ok(vec![item.to_owned()]),
    }
}

fn range(item: &str, begin: Decimal, rest: &str) -> Result<Vec<String>, String> {
    // An end may be negative or have an exponent, so the sign of a step is looked for behind its first digit.
    let sign = rest.char_indices().skip(1).find(|(at, letter)| match letter {
        '*' => true,
        '+' => !rest[..*at].ends_with(['e', 'E']),
        _ => false,
    });
    let Some((at, operator)) = sign else {
        return Err(format!("`{item}` has no step: `{item}+1` adds, `{item}*2` multiplies"));
    };
    let number =
        |text: &str| Decimal::parse(text).ok_or_else(|| format!("`{text}` in `{item}` is not a number"));
    let (end, step) = (number(&rest[..at])?, number(&rest[at + 1..])?);
    let next: fn(Decimal, Decimal) -> Option<Decimal> =
        if operator == '+' { Decimal::plus } else { Decimal::times };
    if begin > end {
        return Err(format!("`{item}` is empty: it begins above its end"));
    }
    values_of(item, (begin, end), |value| next(value, step))
}

/// Every value from the begin to the end, both among them where the steps meet the end.
fn values_of(
    item: &str,
    (begin, end): (Decimal, Decimal),
    next: impl Fn(Decimal) -> Option<Decimal>,
) -> Result<Vec<String>, String> {
    let mut values = vec![begin.to_string()];
    let mut value = begin;
    while value < end {
        let following = next(value).ok_or_else(|| format!("`{item}` has numbers with too many digits"))?;
        if following <= value {
            return Err(format!("`{item}` never ends: its step does not approach its end"));
        }
        value = following;
        if value <= end {
            values.push(value.to_string());
        }
        if values.len() > MOST_VALUES {
            return Err(format!("`{item}` has more than {MOST_VALUES} values"));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<String> {
        parse_axis(text).unwrap().values
    }

    #[test]
    fn lists_are_taken_as_they_are_and_ranges_end_where_they_say() {
        assert_eq!(values("opt=sgd,adam"), ["sgd", "adam"]);
        assert_eq!(values("rows=1e3,100_000"), ["1e3", "100_000"]);
        assert_eq!(values("batch=16..512*2"), ["16", "32", "64", "128", "256", "512"]);
        assert_eq!(values("batch=16..100*2"), ["16", "32", "64"]);
        assert_eq!(values("rows=1e3..1e5*10"), ["1000", "10000", "100000"]);
        assert_eq!(values("x=-2..2+2"), ["-2", "0", "2"]);
        assert_eq!(values("x=5..5+1"), ["5"]);
        assert_eq!(values("x=1..4*1.5"), ["1", "1.5", "2.25", "3.375"]);
        assert_eq!(values("x=0,4..8+2,full"), ["0", "4", "6", "8", "full"]);
    }

    #[test]
    fn steps_of_a_tenth_stay_tenths() {
        let tenths = ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"];
        assert_eq!(values("lr=0.1..1.0+0.1"), tenths);
        assert_eq!(values("lr=1e-4..1e-1*10"), ["0.0001", "0.001", "0.01", "0.1"]);
    }

    #[test]
    fn a_path_with_two_dots_is_a_word() {
        assert_eq!(values("data=../a.csv,b..c"), ["../a.csv", "b..c"]);
    }

    #[test]
    fn what_never_ends_or_says_nothing_is_refused() {
        let refusals = [
            ("batch", "expected NAME=VALUES"),
            ("batch=", "no values"),
            ("9x=1", "invalid name"),
            ("=1", "invalid name"),
            ("batch=1,,2", "empty"),
            ("batch=1,", "empty"),
            ("batch=16..512*1", "never ends"),
            ("batch=16..512*0.5", "never ends"),
            ("batch=0..8*2", "never ends"),
            ("batch=-1..8*2", "never ends"),
            ("batch=1..8+0", "never ends"),
            ("batch=1..8+-1", "never ends"),
            ("batch=512..16*2", "begins above its end"),
            ("batch=1..8", "has no step"),
            ("batch=1..x+1", "not a number"),
            ("batch=1..8+x", "not a number"),
            ("batch=1..1e9+1", "more than"),
            ("batch=1..1e30*1.0000000001", "too many digits"),
            ("batch=32,32", "twice"),
        ];
        for (text, because) in refusals {
            let refusal = parse_axis(text).unwrap_err();
            assert!(refusal.contains(because), "{text}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn nothing_typed_makes_it_panic_or_run_on(text in "[a-c=.,+*0-9e-]{0,24}") {
            if let Ok(axis) = parse_axis(&text) {
                prop_assert!(!axis.values.is_empty() && axis.values.len() <= MOST_VALUES + 1);
            }
        }

        #[test]
        fn a_range_of_sums_has_as_many_values_as_division_says(begin in 0..1000i64, step in 1..50i64, count in 0..60i64) {
            let end = begin + step * count;
            let typed = format!("x={begin}..{end}+{step}");
            let expected: Vec<String> = (0..=count).map(|at| (begin + at * step).to_string()).collect();
            prop_assert_eq!(values(&typed), expected);
        }
    }
}
