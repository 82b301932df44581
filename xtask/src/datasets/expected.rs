//! The counts that the README beside the data sets states, typed in once.

/// One data set (or one of its files) and what its README says.
#[derive(Debug)]
pub(super) struct Expected {
    /// File or folder under the folder of data sets.
    pub(super) path: &'static str,
    /// Vertices that occur.
    pub(super) vertices: u64,
    /// Events; edges over all snapshots; edges of the one topology if it is constant.
    pub(super) events: u64,
    /// Snapshots; `None` for a stream of events.
    pub(super) snapshots: Option<u64>,
    /// Whether the rows are in time order, if the README says so.
    pub(super) sorted: Option<bool>,
    /// First and last time, if the README gives them to the tick.
    pub(super) time: Option<(i64, i64)>,
}

const fn snapshots(path: &'static str, vertices: u64, events: u64, steps: u64) -> Expected {
    Expected { path, vertices, events, snapshots: Some(steps), sorted: None, time: None }
}

const fn events(path: &'static str, vertices: u64, events: u64, sorted: Option<bool>) -> Expected {
    Expected { path, vertices, events, snapshots: None, sorted, time: None }
}

const fn timed(expected: Expected, first: i64, last: i64) -> Expected {
    Expected { time: Some((first, last)), ..expected }
}

const SORTED: Option<bool> = Some(true);
const UNSORTED: Option<bool> = Some(false);

/// All twenty data sets; `uci-messages` has two files with different counts.
pub(super) const ALL: [Expected; 21] = [
    snapshots("england-covid/england_covid.json.gz", 129, 82_529, 61),
    snapshots("twitter-tennis-rg17/twitter_tennis_rg17.json.gz", 1_000, 40_839, 120),
    snapshots("chickenpox/chickenpox.json", 20, 102, 521),
    snapshots("pedalme/pedalme_london.json", 15, 225, 35),
    snapshots("montevideo-bus/montevideo_bus.json.gz", 675, 690, 744),
    snapshots("metr-la-week", 207, 2_833, 2_016),
    snapshots("pemsd7-week", 228, 1_664, 2_016),
    snapshots("as-733/as-733.tar.xz", 7_716, 11_965_533, 733),
    events("bitcoin-otc/soc-sign-bitcoinotc.csv.gz", 5_881, 35_592, SORTED),
    events("uci-messages/CollegeMsg.txt.gz", 1_899, 59_835, SORTED),
    events("uci-messages/OCnodeslinks_chars.txt.gz", 1_899, 61_734, None),
    timed(events("wikipedia/wikipedia.csv.gz", 9_227, 157_474, SORTED), 0, 2_678_373),
    timed(events("enron/ml_enron.csv.gz", 184, 125_235, SORTED), 0, 113_740_399),
    events("sx-mathoverflow/sx-mathoverflow.txt.gz", 24_818, 506_550, UNSORTED),
    events("epinions-trust/soc-epinions-trust-dir.edges.gz", 131_828, 841_372, UNSORTED),
    timed(events("nycflights13/nycflights13.csv.gz", 4_141, 328_521, SORTED), 19_020, 31_537_560),
    // 84 people, of whom 83 occur in an event; the file holds the events.
    events("social-evolution/social.csv.gz", 83, 54_369, SORTED),
    timed(
        events("sociopatterns-invs15/tij_pres_InVS15.txt.gz", 219, 1_283_194, SORTED),
        28_820,
        1_022_380,
    ),
    events("sociopatterns-primary-school/Primary_School.csv.gz", 242, 125_773, SORTED),
    timed(
        events(
            "ethereum-tx-small/transactions_03300000_03399999_small.csv.gz",
            10_905,
            19_999,
            UNSORTED,
        ),
        1_488_769_200,
        1_488_800_865,
    ),
    events("reddit-hyperlinks-sample/reddit-title-test.tsv", 16, 9, None),
];
