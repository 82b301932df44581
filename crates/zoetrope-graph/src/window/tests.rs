use proptest::prelude::*;

use super::*;
use crate::events::EventColumns;
use crate::ids::VertexNames;
use crate::time::{TimeScale, TimeUnit};

fn store_of(time: Vec<Time>, scale: TimeScale) -> EventStore {
    let ends = vec![0; time.len()];
    let columns = EventColumns::default();
    EventStore::new(ends.clone(), ends, time, columns, scale, VertexNames::identity(1)).unwrap()
}

fn steps(time: &[Time]) -> EventStore {
    store_of(time.to_vec(), TimeScale::STEPS)
}

fn wide(ticks: u64, origin: Origin) -> Windowing {
    Windowing::Width { width: Duration::Ticks(ticks), origin }
}

fn count(events: u64) -> NonZeroU64 {
    NonZeroU64::new(events).unwrap()
}

fn cut(store: &EventStore, windowing: &Windowing) -> (Vec<Time>, Vec<u64>) {
    let windows = Windows::cut(store, windowing).unwrap();
    (windows.boundaries().iter().collect(), windows.ranges().offsets())
}

#[test]
fn fixed_widths_start_where_they_are_told_to() {
    let store = steps(&[-7, -1, 0, 3, 12]);
    let (boundaries, offsets) = cut(&store, &wide(5, Origin::Aligned));
    assert_eq!(boundaries, [-10, -5, 0, 5, 10, 15]);
    assert_eq!(offsets, [0, 1, 2, 4, 4, 5]);
    let (boundaries, offsets) = cut(&store, &wide(5, Origin::FirstEvent));
    assert_eq!(boundaries, [-7, -2, 3, 8, 13]);
    assert_eq!(offsets, [0, 1, 3, 4, 5]);
    let (boundaries, _) = cut(&store, &wide(5, Origin::At(101)));
    assert_eq!(boundaries, [-9, -4, 1, 6, 11, 16]);
}

#[test]
fn the_ends_of_the_time_axis_do_not_overflow() {
    let store = steps(&[Time::MIN, -1, 0, Time::MAX]);
    let half = 1 << 62;
    for origin in [Origin::Aligned, Origin::FirstEvent, Origin::At(Time::MAX), Origin::At(1)] {
        let windows = Windows::cut(&store, &wide(half, origin)).unwrap();
        assert_eq!(windows.left_out(store.len()), 0, "{origin:?}");
        let times: Vec<Time> = windows.boundaries().iter().collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{origin:?}");
    }
    for windowing in [Windowing::Events(count(1)), Windowing::Parts(count(3))] {
        let windows = Windows::cut(&store, &windowing).unwrap();
        assert_eq!(windows.left_out(store.len()), 0);
    }
    let given = Windowing::Boundaries(vec![Time::MIN, 0, Time::MAX]);
    assert_eq!(cut(&store, &given).1, [0, 2, 4]);
    for only in [Time::MIN, Time::MAX] {
        for windowing in [
            wide(1, Origin::Aligned),
            wide(7, Origin::FirstEvent),
            Windowing::Events(count(1)),
            Windowing::Parts(count(2)),
        ] {
            let windows = Windows::cut(&steps(&[only, only]), &windowing).unwrap();
            assert_eq!((windows.len(), windows.events(0)), (1, 0..2), "{only} {windowing:?}");
        }
    }
}

#[test]
fn a_slip_of_the_unit_is_an_error_with_a_suggestion() {
    let scale = TimeScale { unit: TimeUnit::Nanosecond, unix: true };
    let year = 31_536_000_000_000_000;
    let store = store_of((0..1_000).map(|at| at * (year / 1_000)).collect(), scale);
    let error = Windows::cut(&store, &wide(1, Origin::Aligned)).unwrap_err();
    assert!(matches!(error, GraphError::TooManyWindows { .. }));
    assert!(error.to_string().contains("a width of 2d would suit"), "{error}");
    let error = Windows::cut(&store, &Windowing::Parts(count(u64::MAX))).unwrap_err();
    assert!(matches!(error, GraphError::TooManyWindows { .. }));
}

#[test]
fn equal_counts_never_part_equal_times() {
    let store = steps(&[1, 1, 1, 2, 3, 3, 4, 9]);
    let (boundaries, offsets) = cut(&store, &Windowing::Events(count(2)));
    assert_eq!(boundaries, [1, 2, 4, 10]);
    assert_eq!(offsets, [0, 3, 6, 8]);
    let (boundaries, offsets) = cut(&store, &Windowing::Parts(count(4)));
    assert_eq!(boundaries, [1, 2, 3, 4, 10]);
    assert_eq!(offsets, [0, 3, 4, 6, 8]);
    assert_eq!(cut(&steps(&[5; 9]), &Windowing::Parts(count(3))), (vec![5, 6], vec![0, 9]));
}

#[test]
fn calendar_weeks_start_on_monday_and_months_on_the_first() {
    // From `date -u -d … +%s`: 2024-02-28 12:00 (a Wednesday) and 2024-03-04 00:00 (a Monday).
    let store = store_of(vec![1_709_121_600, 1_709_510_400], TimeScale::UNIX_SECONDS);
    let boundaries = |unit| cut(&store, &Windowing::Calendar(unit)).0;
    let day = 86_400;
    let monday = 1_709_510_400;
    assert_eq!(boundaries(CalendarUnit::Week), [monday - 7 * day, monday, monday + 7 * day]);
    // 2024-02-01, 2024-03-01, 2024-04-01: February of a leap year has 29 days.
    let (february, march) = (1_706_745_600, 1_706_745_600 + 29 * day);
    assert_eq!(boundaries(CalendarUnit::Month), [february, march, march + 31 * day]);
    assert_eq!(boundaries(CalendarUnit::Day).len(), 7);
    assert_eq!(boundaries(CalendarUnit::Hour)[0], 1_709_121_600);
    let milli = TimeScale { unit: TimeUnit::Millisecond, unix: true };
    let store = store_of(vec![-1], milli);
    assert_eq!(cut(&store, &Windowing::Calendar(CalendarUnit::Hour)).0, [-3_600_000, 0]);
    assert!(Windows::cut(&steps(&[1]), &Windowing::Calendar(CalendarUnit::Day)).is_err());
}

#[test]
fn given_boundaries_leave_out_what_lies_outside() {
    let store = steps(&[0, 1, 2, 3, 4]);
    let windows = Windows::cut(&store, &Windowing::Boundaries(vec![1, 2, 4])).unwrap();
    assert_eq!((windows.events(0), windows.events(1)), (1..2, 2..4));
    assert_eq!((windows.times(1), windows.left_out(5)), (2..4, 2));
    for wrong in [vec![], vec![1, 1], vec![2, 1]] {
        assert!(Windows::cut(&store, &Windowing::Boundaries(wrong)).is_err());
    }
}

#[test]
fn a_stream_without_events_has_no_windows() {
    let store = steps(&[]);
    for windowing in [wide(3, Origin::FirstEvent), Windowing::Events(count(5))] {
        assert!(Windows::cut(&store, &windowing).unwrap().is_empty());
    }
    assert_eq!(suggest_window(&store), Duration::Ticks(1));
}

#[test]
fn windows_are_read_as_people_write_them() {
    let read = |text: &str| text.parse::<Windowing>().unwrap();
    let day = Windowing::Width { width: Duration::seconds(86_400), origin: Origin::Aligned };
    assert_eq!(read("1d"), day);
    assert_eq!(read("day"), Windowing::Calendar(CalendarUnit::Day));
    assert_eq!(read("500 events"), Windowing::Events(count(500)));
    assert_eq!(read("20parts"), Windowing::Parts(count(20)));
    for wrong in ["", "0 events", "year", "-1d", "parts"] {
        assert!(wrong.parse::<Windowing>().is_err(), "{wrong}");
    }
    for text in ["1d", "month", "500 events", "20 parts", "17"] {
        assert_eq!(read(text).to_string(), text);
    }
}

#[test]
fn suggestions_are_round_and_give_tens_to_hundreds_of_windows() {
    let evenly = |span: Time, scale| {
        suggest_window(&store_of((0..=1_000).map(|at| at * span / 1_000).collect(), scale))
    };
    assert_eq!(evenly(2_678_373, TimeScale::SECONDS).to_string(), "6h");
    assert_eq!(evenly(36_000, TimeScale::SECONDS).to_string(), "5m");
    assert_eq!(evenly(522, TimeScale::STEPS).to_string(), "5");
    assert_eq!(suggest_window(&steps(&[7; 4])), Duration::Ticks(1));
    // One stray time far away does not decide alone.
    let mut stray: Vec<Time> = (0..1_000).map(|at| 1_000_000 + at * 3_600).collect();
    stray.insert(0, 0);
    assert_eq!(suggest_window(&store_of(stray, TimeScale::SECONDS)).to_string(), "12h");
    // Nor does one that lies further away than all others lie apart.
    let mut stray: Vec<Time> = (0..1_000).map(|at| 1_577_836_800 + at * 3_600).collect();
    stray.insert(0, 0);
    assert_eq!(suggest_window(&store_of(stray, TimeScale::UNIX_SECONDS)).to_string(), "12h");
    let ends = steps(&[Time::MIN, Time::MAX]);
    let width = suggest_window(&ends);
    let windows = Windows::cut(&ends, &Windowing::Width { width, origin: Origin::Aligned });
    assert!(windows.unwrap().len() < 1_000);
}

#[test]
fn stray_events_join_the_first_and_the_last_window() {
    let core = (0..1_000).map(|at| 1_577_836_800 + at * 3_600);
    let mut time: Vec<Time> = core.collect();
    time.insert(0, 0);
    time.push(4_000_000_000);
    let store = store_of(time, TimeScale::UNIX_SECONDS);
    let found = suggest_cut(&store);
    assert_eq!((found.stray_before, found.stray_after), (1, 1));
    let windows = Windows::cut(&store, &found.windowing).unwrap();
    assert!((50..200).contains(&windows.len()), "{} windows", windows.len());
    assert_eq!(windows.left_out(store.len()), 0);
    let sizes: Vec<usize> = (0..windows.len()).map(|window| windows.events(window).len()).collect();
    assert!(sizes.iter().all(|&size| size > 0), "no window is empty: {sizes:?}");
    // An even stream, a stream of one time and a few events have none.
    for time in [(0..500).collect(), vec![7; 90], vec![0, 1_000, 1_001, 1_002]] {
        let found = suggest_cut(&steps(&time));
        assert_eq!((found.stray_before, found.stray_after), (0, 0), "{time:?}");
        assert!(matches!(found.windowing, Windowing::Width { .. }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_event_lies_in_the_window_that_covers_its_time(
        mut time in proptest::collection::vec(-60_i64..60, 1..60),
        windowing in prop_oneof![
            (1_u64..30, -50_i64..50).prop_map(|(w, at)| wide(w, Origin::At(at))),
            (1_u64..30).prop_map(|w| wide(w, Origin::FirstEvent)),
            (1_u64..70).prop_map(|n| Windowing::Events(count(n))),
            (1_u64..70).prop_map(|n| Windowing::Parts(count(n))),
        ],
    ) {
        let windows = Windows::cut(&steps(&time), &windowing).unwrap();
        time.sort();
        prop_assert_eq!(windows.left_out(time.len()), 0);
        for window in 0..windows.len() {
            let covered = windows.times(window);
            prop_assert!(covered.start < covered.end);
            for &at in &time[windows.events(window)] {
                prop_assert!(covered.contains(&at));
            }
        }
        if let Windowing::Parts(parts) = windowing {
            prop_assert!(windows.len() as u64 <= parts.get());
        }
        if let Windowing::Events(events) = windowing {
            let full = |w| windows.events(w).len() as u64 >= events.get();
            prop_assert!((0..windows.len() - 1).all(full));
        }
    }

    #[test]
    fn galloping_finds_what_a_scan_finds(
        mut time in proptest::collection::vec(-20_i64..20, 0..50),
        start in 0_usize..50,
        boundary in -25_i64..25,
    ) {
        time.sort();
        let start = start.min(time.len());
        let scan = (start..time.len()).find(|&at| time[at] >= boundary).unwrap_or(time.len());
        prop_assert_eq!(gallop(&time, start, boundary), scan);
    }
}
