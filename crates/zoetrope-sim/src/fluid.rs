//! Activities that share resources, each as fast as max-min fairness lets it be.
//!
//! All activities are sped up together; whoever meets a full resource or its own limit stays at its speed, the
//! others go on. Speeds are compared in bytes a second, so that two flows over one link get half of it each.

/// Something that takes time: `uses` of resources for the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Demand {
    /// How much it takes of which resource.
    pub(crate) uses: Vec<(usize, f64)>,
    /// Bytes that its speed is measured in.
    pub(crate) bytes: f64,
    /// Seconds that it takes at least.
    pub(crate) least_seconds: f64,
}

impl Demand {
    /// Seconds if nobody else is there.
    pub(crate) fn alone(&self, capacity: &[f64]) -> f64 {
        let of_use = self.uses.iter().map(|&(resource, amount)| amount / capacity[resource]);
        of_use.fold(self.least_seconds, f64::max)
    }
}

/// The parts of each demand that are done in a second.
pub(crate) fn speeds(demands: &[&Demand], capacity: &[f64]) -> Vec<f64> {
    let mut done = vec![None; demands.len()];
    let mut touched: Vec<usize> = demands
        .iter()
        .flat_map(|demand| demand.uses.iter().map(|&(resource, _)| resource))
        .collect();
    touched.sort_unstable();
    touched.dedup();
    let at = |resource: usize| touched.binary_search(&resource).expect("it was put there");
    // What those that are decided use of each resource, and what the others use for a byte a second.
    let mut used = vec![0.0; touched.len()];
    let mut growing = vec![0.0; touched.len()];
    for demand in demands {
        for &(resource, amount) in &demand.uses {
            growing[at(resource)] += amount / demand.bytes;
        }
    }
    let mut left = demands.len();
    while left > 0 {
        let limit_of = |demand: &Demand| match demand.least_seconds {
            seconds if seconds > 0.0 => demand.bytes / seconds,
            _ => f64::INFINITY,
        };
        let own = demands.iter().zip(&done).filter(|(_, done)| done.is_none());
        let own = own.map(|(demand, _)| limit_of(demand)).fold(f64::INFINITY, f64::min);
        let full = |place: usize| match growing[place] {
            grows if grows > 1e-12 => (capacity[touched[place]] - used[place]).max(0.0) / grows,
            _ => f64::INFINITY,
        };
        let level = (0..touched.len()).map(full).fold(own, f64::min);
        let near = level * (1.0 + 1e-12);
        let filled: Vec<bool> = (0..touched.len()).map(|place| full(place) <= near).collect();
        let mut decided = Vec::new();
        for (number, demand) in demands.iter().enumerate() {
            let stops = limit_of(demand) <= near
                || demand.uses.iter().any(|&(resource, _)| filled[at(resource)]);
            if done[number].is_none() && (stops || level.is_infinite()) {
                done[number] = Some(level / demand.bytes);
                decided.push(number);
            }
        }
        assert!(!decided.is_empty(), "a level is where somebody stops");
        for number in decided {
            left -= 1;
            for &(resource, amount) in &demands[number].uses {
                let part = amount / demands[number].bytes;
                growing[at(resource)] -= part;
                used[at(resource)] += part * level;
            }
        }
    }
    done.into_iter().map(|speed| speed.expect("all are decided")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(uses: &[(usize, f64)], least_seconds: f64) -> Demand {
        let bytes = uses.iter().map(|&(_, amount)| amount).fold(1.0, f64::max);
        Demand { uses: uses.to_vec(), bytes, least_seconds }
    }

    /// Bytes a second of each.
    fn rates(flows: &[Demand], capacity: &[f64]) -> Vec<f64> {
        let all: Vec<&Demand> = flows.iter().collect();
        let speeds = speeds(&all, capacity);
        speeds.iter().zip(flows).map(|(speed, flow)| speed * flow.bytes).collect()
    }

    #[test]
    fn two_flows_share_a_link_evenly_whatever_their_sizes() {
        let flows = [flow(&[(0, 1e9)], 0.0), flow(&[(0, 10.0)], 0.0)];
        assert_eq!(rates(&flows, &[100.0]), [50.0, 50.0]);
    }

    #[test]
    fn what_a_slow_flow_leaves_goes_to_the_others() {
        // The first is held up at a link of its own, the second by itself.
        let flows =
            [flow(&[(0, 8.0), (1, 8.0)], 0.0), flow(&[(0, 8.0)], 0.4), flow(&[(0, 8.0)], 0.0)];
        let found = rates(&flows, &[100.0, 10.0]);
        for (found, expected) in found.iter().zip([10.0, 20.0, 70.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn no_resource_is_used_beyond_its_capacity_and_nobody_could_be_faster_alone() {
        use proptest::prelude::*;
        let one = proptest::collection::vec((0..4_usize, 0.1..9.0_f64), 1..3);
        let all = proptest::collection::vec((one, 0.0..2.0_f64), 1..8);
        proptest!(|(all in all)| {
            let flows: Vec<Demand> = all.into_iter().map(|(mut uses, least)| {
                uses.sort_by_key(|one| one.0);
                uses.dedup_by_key(|one| one.0);
                flow(&uses, least)
            }).collect();
            let capacity = [1.0, 2.0, 3.0, 5.0];
            let demands: Vec<&Demand> = flows.iter().collect();
            let speeds = speeds(&demands, &capacity);
            let load = |resource: usize| -> f64 {
                let of = |(flow, speed): (&Demand, &f64)| {
                    let uses = flow.uses.iter().filter(|one| one.0 == resource);
                    uses.map(|one| one.1 * speed).sum::<f64>()
                };
                flows.iter().zip(&speeds).map(of).sum()
            };
            for (resource, most) in capacity.iter().enumerate() {
                prop_assert!(load(resource) <= most * (1.0 + 1e-9));
            }
            for (flow, speed) in flows.iter().zip(&speeds) {
                let held = flow.uses.iter().any(|one| load(one.0) >= capacity[one.0] * (1.0 - 1e-6));
                let own = speed * flow.least_seconds >= 1.0 - 1e-6;
                prop_assert!(held || own, "somebody could be faster");
                prop_assert!(speed * flow.alone(&capacity) <= 1.0 + 1e-9);
            }
        });
    }
}
