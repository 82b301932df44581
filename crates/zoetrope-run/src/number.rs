//! Numbers that may be NaN in JSON, which has no NaN: it is `null` there.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// A number, or NaN for `null`.
pub(super) fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Numbers by name, NaN for `null`.
pub(super) fn map_or_nan<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let map = BTreeMap::<String, Option<f64>>::deserialize(from)?;
    Ok(map.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect())
}

/// Numbers by name and name, NaN for `null`.
pub(super) fn maps_or_nan<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, BTreeMap<String, f64>>, D::Error> {
    #[derive(Deserialize)]
    struct Inner(#[serde(deserialize_with = "map_or_nan")] BTreeMap<String, f64>);
    let maps = BTreeMap::<String, Inner>::deserialize(from)?;
    Ok(maps.into_iter().map(|(name, Inner(map))| (name, map)).collect())
}
