use std::path::Path;

use super::*;

/// The roles of a csv text, as `src dst time weight label features`.
fn roles_of(text: &str) -> Result<String, DataError> {
    let layout = crate::table::dialect::sniff(text.as_bytes(), true, None, None).unwrap();
    let header = layout.header.clone();
    let path = Path::new("table.csv");
    let map = ColumnMap::default();
    let judged = judge(path, header.as_deref(), &layout.kinds, &layout.sample, &map)?;
    let Roles { src, dst, time, weight, label, features, .. } = judged.roles;
    let name = |column: Option<usize>| match (column, &header) {
        (None, _) => "-".to_owned(),
        (Some(column), None) => column.to_string(),
        (Some(column), Some(names)) => names[column].clone(),
    };
    let features: Vec<String> = features.into_iter().map(|column| name(Some(column))).collect();
    let single = [Some(src), Some(dst), time, weight, label].map(name).join(" ");
    Ok(format!("{single} [{}]", features.join(" ")))
}

/// A table of 300 rows: a header, and a value for each column and row.
fn table(header: &str, cells: impl Fn(u64, &dyn Fn(u64, u64) -> u64) -> String) -> String {
    let mut text = if header.is_empty() { String::new() } else { format!("{header}\n") };
    for row in 0..300 {
        // Numbers without a pattern: a multiplicative hash of row and column.
        let draw = move |column: u64, below: u64| {
            let mixed = (row * 31 + column + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) % below
        };
        text.push_str(&cells(row, &draw));
        text.push('\n');
    }
    text
}

fn day(row: u64) -> String {
    format!("2022-09-{:02} {:02}:{:02}:00", 1 + row / 60, row % 60 / 3, row % 3 * 20)
}

#[test]
fn transactions_are_read_between_accounts_and_not_from_their_numbers() {
    let text =
        table("transaction_id,from_account,to_account,amount,timestamp,is_fraud", |row, draw| {
            let (from, to) = (1000 + draw(0, 60), 1000 + draw(1, 60));
            format!(
                "{},{from},{to},{}.25,{},{}",
                9000 + row,
                draw(2, 900),
                1_600_000_000 + row * 7,
                draw(3, 9) / 8
            )
        });
    assert_eq!(roles_of(&text).unwrap(), "from_account to_account timestamp amount is_fraud []");
}

#[test]
fn a_time_in_front_is_no_vertex() {
    let row = |row: u64, draw: &dyn Fn(u64, u64) -> u64| {
        format!("{},{},{},{}", row * 3 / 2, draw(0, 40), draw(1, 40), 1 + draw(2, 9))
    };
    assert_eq!(roles_of(&table("time,u,v,w", row)).unwrap(), "u v time w - []");
    // Without a header the values tell, or the command asks.
    let error = roles_of(&table("", row)).unwrap_err();
    let DataError::Uncertain { confirm, .. } = error else { panic!("{error}") };
    assert_eq!(confirm, "--src 1 --dst 2 --time 0 --weight 3");
    let seconds = |at: u64, draw: &dyn Fn(u64, u64) -> u64| {
        format!("{},{},{}", 28_820 + at / 3 * 20, draw(0, 40), draw(1, 40))
    };
    assert_eq!(roles_of(&table("", seconds)).unwrap(), "1 2 0 - - []");
}

#[test]
fn tables_of_the_field_are_read_right() {
    let paysim = table(
        "step,type,amount,nameOrig,oldbalanceOrg,newbalanceOrig,nameDest,oldbalanceDest,newbalanceDest,isFraud,isFlaggedFraud",
        |row, draw| {
            let kind = ["PAYMENT", "TRANSFER"][draw(0, 2) as usize];
            format!(
                "{},{kind},{}.5,C{},{}.5,0.0,M{},0.0,1.5,{},0",
                1 + row / 50,
                draw(1, 999),
                10_000 + row * 13,
                draw(2, 999),
                draw(3, 40),
                draw(4, 20) / 19
            )
        },
    );
    assert_eq!(
        roles_of(&paysim).unwrap(),
        "nameOrig nameDest step amount isFraud [oldbalanceOrg newbalanceOrig oldbalanceDest newbalanceDest isFlaggedFraud]"
    );
    let ibm = table(
        "Timestamp,From Bank,Account,To Bank,Account.1,Amount Received,Receiving Currency,Amount Paid,Payment Currency,Payment Format,Is Laundering",
        |row, draw| {
            let (from, to) = (draw(0, 40), draw(1, 40));
            format!(
                "2022/09/{:02} 00:{:02},{},8{from:05X}0,{},8{to:05X}0,{}.5,US Dollar,7.5,Euro,Cheque,{}",
                1 + row / 60,
                row % 60,
                from % 7,
                to % 7,
                draw(2, 99),
                draw(3, 30) / 29
            )
        },
    );
    assert_eq!(
        roles_of(&ibm).unwrap(),
        "Account Account.1 Timestamp - Is Laundering [From Bank To Bank Amount Received Amount Paid]"
    );
    let taxi = table(
        "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,PULocationID,DOLocationID,fare_amount,total_amount",
        |row, draw| {
            format!(
                "{},{},{},{},{},{},{}.5,{}.5",
                1 + draw(0, 2),
                day(row),
                day(row + 1),
                draw(1, 5),
                draw(2, 200),
                draw(3, 200),
                draw(4, 40),
                draw(5, 40)
            )
        },
    );
    assert!(
        roles_of(&taxi).unwrap().starts_with("PULocationID DOLocationID tpep_pickup_datetime"),
        "{taxi}"
    );
    let bike = table(
        "ride_id,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat",
        |row, draw| {
            let (from, to) = (draw(0, 50), draw(1, 50));
            format!(
                "R{row:06},{},{},Street {from},{from},Street {to},{to},41.{}",
                day(row),
                day(row + 2),
                draw(2, 900)
            )
        },
    );
    assert!(roles_of(&bike).unwrap().starts_with("start_station_"), "{:?}", roles_of(&bike));
    assert!(roles_of(&bike).unwrap().contains(" started_at "), "{:?}", roles_of(&bike));
    let votes = table("Id,PostId,UserId,CreationDate", |row, draw| {
        format!("{},{},{},{}", 1 + row, draw(0, 90), draw(1, 40), day(row))
    });
    assert_eq!(roles_of(&votes).unwrap(), "UserId PostId CreationDate - - []");
    let mail = table("sentAt,senderId,receiverId", |row, draw| {
        format!("{},{},{}", day(row), draw(0, 40), draw(1, 40))
    });
    assert_eq!(roles_of(&mail).unwrap(), "senderId receiverId sentAt - - []");
    let elliptic = table("txId1,txId2", |_, draw| format!("{},{}", draw(0, 90), draw(1, 90)));
    assert_eq!(roles_of(&elliptic).unwrap(), "txId1 txId2 - - - []");
    let contacts = table("i,j,t", |row, draw| format!("{},{},{row}", draw(0, 40), draw(1, 40)));
    assert_eq!(roles_of(&contacts).unwrap(), "i j t - - []");
}

#[test]
fn names_that_say_nothing_are_asked_about_and_the_flags_confirm_the_guess() {
    let text = table("alpha,beta,gamma,delta", |_, draw| {
        format!("{},{},{},{}", draw(0, 40), draw(1, 40), draw(2, 40), draw(3, 40))
    });
    let error = roles_of(&text).unwrap_err();
    let shown = error.to_string();
    let DataError::Uncertain { confirm, columns, .. } = error else { panic!("{error}") };
    assert_eq!(columns.len(), 4);
    assert_eq!(confirm, "--src alpha --dst beta");
    assert!(shown.contains(&confirm) && shown.contains("gamma"), "{shown}");
    let layout = crate::table::dialect::sniff(text.as_bytes(), true, None, None).unwrap();
    let map = ColumnMap {
        src: Some(ColumnRef::Name("alpha".into())),
        dst: Some(ColumnRef::Name("beta".into())),
        ..ColumnMap::default()
    };
    let header = layout.header.as_deref();
    let path = Path::new("t.csv");
    let judged = judge(path, header, &layout.kinds, &layout.sample, &map).unwrap();
    assert_eq!((judged.roles.src, judged.roles.dst), (0, 1));
}

#[test]
fn columns_that_share_a_name_are_confirmed_by_position() {
    let text = table("Account,Bank,Account,Bank,n", |_, draw| {
        format!("{},{},{},{},{}", draw(0, 40), draw(1, 40), draw(2, 40), draw(3, 40), draw(4, 9))
    });
    let error = roles_of(&text).unwrap_err();
    let DataError::Uncertain { confirm, .. } = error else { panic!("{error}") };
    assert_eq!(confirm, "--src 0 --dst 2");
}

#[test]
fn users_and_products_are_numbered_apart() {
    let text = table("user_id,product_id,rating,timestamp", |row, draw| {
        format!("{},{},{},{}", draw(0, 40), draw(1, 40), 1 + draw(2, 5), 1_600_000_000 + row)
    });
    let layout = crate::table::dialect::sniff(text.as_bytes(), true, None, None).unwrap();
    let map = ColumnMap::default();
    let header = layout.header.as_deref();
    let judged = judge(Path::new("t.csv"), header, &layout.kinds, &layout.sample, &map).unwrap();
    assert!(judged.apart);
}

#[test]
fn a_header_may_be_longer_or_shorter_than_the_rows() {
    let map = ColumnMap::default();
    let kinds = [ColumnKind::Integer, ColumnKind::Integer];
    for names in [&["from", "to", "time", "x"][..], &["from"]] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let row = vec!["1".to_owned(), "2".to_owned()];
        let judged = judge(Path::new("t.csv"), Some(&names), &kinds, &[row], &map).unwrap();
        assert_eq!((judged.roles.src, judged.roles.dst), (0, 1), "{names:?}");
    }
}

#[test]
fn a_bad_value_does_not_take_the_time_from_a_column_of_that_name() {
    let text = "src,dst,t\n1,2,5\n1,2,never\n2,3,9\n";
    assert_eq!(roles_of(text).unwrap(), "src dst t - - []");
    let parts = "src,dst,time,date\n1,2,12:00,2020-01-01\n2,3,13:30,2020-01-02\n";
    assert_eq!(roles_of(parts).unwrap(), "src dst date - - []");
}

/// What is asked about a csv text, and the flags that confirm the guess.
fn question_of(text: &str) -> (String, String) {
    match roles_of(text) {
        Err(DataError::Uncertain { what, confirm, .. }) => (what, confirm),
        other => panic!("not asked: {other:?}"),
    }
}

#[test]
fn the_start_and_the_end_of_a_time_are_no_vertices() {
    let row = |row: u64, draw: &dyn Fn(u64, u64) -> u64| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), row / 2 * 60, row / 2 * 60 + draw(2, 60))
    };
    for (header, expected) in [
        ("person1,person2,start,end", "person1 person2 start - - [end]"),
        ("person_a,person_b,from,to", "person_a person_b from - - [to]"),
        ("u,v,start,end", "u v start - - [end]"),
        (
            "person_1,person_2,contact_start,contact_end",
            "person_1 person_2 contact_start - - [contact_end]",
        ),
    ] {
        assert_eq!(roles_of(&table(header, row)).unwrap(), expected);
    }
    assert_eq!(
        roles_of("person1,person2,start,end\n1,2,5,6\n3,4,7,8\n").unwrap(),
        "person1 person2 start - - [end]"
    );
    // Names alone do not say whether employees or starts are the vertices.
    let shuffled = table("employee,project,start,end", |_, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), draw(2, 1000) * 5, draw(3, 1800) * 5)
    });
    let (what, confirm) = question_of(&shuffled);
    assert!(what.contains("`start` and `end` could be the vertices"), "{what}");
    assert_eq!(confirm, "--src employee --dst project --time start");
    // With a time of its own, or without other vertices, they are the ends of an edge.
    let timed = table("from,to,f1,f2,time", |row, draw| {
        format!("{},{},{},{},{row}", draw(0, 30), 30 + draw(1, 30), draw(2, 9), draw(3, 9))
    });
    assert_eq!(roles_of(&timed).unwrap(), "from to time - - [f1 f2]");
    let roads = table("start,end,length", |_, draw| {
        format!("{},{},{}", draw(0, 30), 30 + draw(1, 30), draw(2, 900))
    });
    assert!(roles_of(&roads).unwrap().starts_with("start end - "), "{:?}", roles_of(&roads));
}

#[test]
fn words_that_end_like_a_date_are_no_times_and_two_numbers_are_no_vertices() {
    let votes = table("voter,candidate,vote,ts", |row, draw| {
        let vote = if draw(2, 2) == 0 { -1 } else { 1 };
        format!("{},{},{vote},{}", draw(0, 30), draw(1, 30), 1_600_000_000 + row)
    });
    assert_eq!(roles_of(&votes).unwrap(), "voter candidate ts - - [vote]");
    let since = table("src,dst,time_since_last,amount", |_, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), draw(2, 500), draw(3, 9))
    });
    assert_eq!(roles_of(&since).unwrap(), "src dst - amount - [time_since_last]");
    let births = table("patient_id,doctor_id,birth_date,admitted", |row, draw| {
        let born = 1950 + draw(2, 40);
        format!("{},{},{born}-01-01,{}", draw(0, 30), draw(1, 30), day(row))
    });
    assert_eq!(roles_of(&births).unwrap(), "patient_id doctor_id admitted - - []");
}

#[test]
fn years_months_and_days_make_one_time_and_hours_alone_make_none() {
    let parts = |header: &str| {
        table(header, |row, draw| {
            let (month, day) = (1 + row / 28, 1 + row % 28);
            format!("2013,{month},{day},{},{},{}", row % 24, draw(0, 9), draw(1, 9))
        })
    };
    let text = parts("year,month,day,hour,origin,dest");
    let layout = crate::table::dialect::sniff(text.as_bytes(), true, None, None).unwrap();
    let path = Path::new("t.csv");
    let (header, map) = (layout.header.as_deref(), ColumnMap::default());
    let judged = judge(path, header, &layout.kinds, &layout.sample, &map).unwrap();
    let units = [TimePart::Year, TimePart::Month, TimePart::Day, TimePart::Hour];
    let found: Vec<TimePart> = judged.roles.time_parts.iter().map(|&(_, part)| part).collect();
    assert_eq!(found, units);
    assert_eq!((judged.roles.time, &judged.roles.features[..]), (Some(0), &[][..]));
    assert_eq!(judged.columns[2].role, "time");
    let (what, _) = question_of(&parts("school_year,month,day,shift_hour,origin,dest"));
    assert!(what.contains("`month` and `day` make no time without a year"), "{what}");
    let hours = table("src,dst,hour,amount", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), row % 24, draw(2, 9))
    });
    let (what, confirm) = question_of(&hours);
    assert!(what.contains("`hour` falls again and again"), "{what}");
    assert_eq!(confirm, "--src src --dst dst --no-time --weight amount");
    let dated = table("date,hour,pickup_zone,dropoff_zone", |row, draw| {
        format!("2021-01-{:02},{},{},{}", 1 + row / 24, row % 24, draw(0, 30), draw(1, 30))
    });
    assert_eq!(roles_of(&dated).unwrap(), "pickup_zone dropoff_zone date - - []");
    let counter = table("patient,nurse,minute", |row, draw| {
        format!("{},{},{}", draw(0, 20), draw(1, 20), row / 4)
    });
    assert_eq!(roles_of(&counter).unwrap(), "patient nurse minute - - []");
}

#[test]
fn a_time_that_cannot_be_read_is_asked_about() {
    let text = table("from,to,date", |row, draw| {
        format!("{},{},\"Fri, {} Jan 2021\"", draw(0, 30), draw(1, 30), 1 + row / 10)
    });
    let (what, confirm) = question_of(&text);
    assert!(what.contains("`date` is called a time") && what.contains("31.12.2013"), "{what}");
    assert_eq!(confirm, "--src from --dst to --no-time");
    let slashes = table("from,to,when", |row, draw| {
        format!("{},{},{:02}/01/2021", draw(0, 30), draw(1, 30), 1 + row / 10)
    });
    assert_eq!(roles_of(&slashes).unwrap(), "from to when - - []");
}

#[test]
fn numbers_that_count_rows_are_no_features_and_may_be_the_time() {
    let papers = table("paper_id,author1,author2,year", |row, draw| {
        format!("{row},{},{},{}", draw(0, 30), draw(1, 30), 1990 + row / 30)
    });
    assert_eq!(roles_of(&papers).unwrap(), "author1 author2 year - - []");
    let counted = table("a,b,c,d", |row, draw| {
        format!("{},{},{row},{}", draw(0, 30), draw(1, 30), draw(2, 100))
    });
    assert_eq!(roles_of(&counted).unwrap(), "a b - - - [d]");
    let rising = table("a,b,c,d", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), row * row, draw(2, 100))
    });
    assert_eq!(question_of(&rising).1, "--src a --dst b --time c");
}

#[test]
fn without_a_header_relations_and_constants_are_told_from_ends_and_times() {
    let names = |row: u64, draw: &dyn Fn(u64, u64) -> u64| {
        let relation = ["Meet", "Fight", "Aid"][draw(1, 3) as usize];
        format!("C{},{relation},C{},2021-01-{:02}", draw(0, 30), draw(2, 30), 1 + row / 20)
    };
    assert_eq!(roles_of(&table("", names)).unwrap(), "0 2 3 - - []");
    let numbers = table("", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 6), draw(2, 30), row / 10)
    });
    let (what, confirm) = question_of(&numbers);
    assert!(what.contains("columns 0 and 2 share their values"), "{what}");
    assert_eq!(confirm, "--src 0 --dst 2 --time 3");
    let years = |row: u64, draw: &dyn Fn(u64, u64) -> u64| {
        format!("{} {} 1 {}", draw(0, 30), draw(1, 30), 1990 + row / 30)
    };
    assert_eq!(roles_of(&table("", years)).unwrap(), "0 1 3 2 - []");
    let shuffled = table("", |_, draw| {
        format!("{} {} {} {}", draw(0, 30), draw(1, 30), 1 + draw(2, 5), draw(3, 3000) * 60)
    });
    assert!(question_of(&shuffled).0.contains("column 3 could be the time as well"));
}

#[test]
fn what_the_user_rules_out_is_not_looked_for() {
    let text = table("src,dst,time,weight,label", |row, draw| {
        format!("{},{},{row},{},{}", draw(0, 30), draw(1, 30), draw(2, 9), draw(3, 2))
    });
    let layout = crate::table::dialect::sniff(text.as_bytes(), true, None, None).unwrap();
    let map = ColumnMap {
        time: Some(ColumnRef::Absent),
        weight: Some(ColumnRef::Absent),
        label: Some(ColumnRef::Absent),
        ..ColumnMap::default()
    };
    let header = layout.header.as_deref();
    let judged = judge(Path::new("t.csv"), header, &layout.kinds, &layout.sample, &map).unwrap();
    let Roles { time, weight, label, .. } = judged.roles;
    assert_eq!((time, weight, label), (None, None, None));
}

#[test]
fn weights_behind_two_ends_without_names_are_not_taken_for_times() {
    let few = |draw: &dyn Fn(u64, u64) -> u64| format!("{}", 1 + draw(2, 5));
    let fraction = |draw: &dyn Fn(u64, u64) -> u64| format!("0.{:03}", draw(2, 1000));
    type Third<'a> = &'a dyn Fn(&dyn Fn(u64, u64) -> u64) -> String;
    for third in [&few as Third<'_>, &fraction] {
        let mut text = String::new();
        for row in 0..400_u64 {
            let draw = |salt: u64, below: u64| {
                let mixed = (7 * row + salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % below
            };
            text.push_str(&format!("{},{},{}\n", draw(0, 50), draw(1, 50), third(&draw)));
        }
        let error = roles_of(&text).unwrap_err();
        assert!(error.to_string().contains("as weights have"), "{error}");
    }
}

/// Three hundred times: some repeat, some are consecutive, some are in no order.
const TIMES: [(&str, bool); 4] =
    [("repeated", true), ("steps", true), ("consecutive", true), ("shuffled", false)];

fn time_of(kind: &str, row: u64, draw: &dyn Fn(u64, u64) -> u64) -> u64 {
    match kind {
        "repeated" => 1000 + row / 4 * 3,
        "steps" => row / 10,
        "consecutive" => 5000 + row,
        _ => draw(7, 100_000),
    }
}

#[test]
fn what_rows_are_ordered_by_is_the_time_if_it_rises_and_is_asked_about_otherwise() {
    for ends in ["src,dst", "person1,person2", "caller,callee", "user_id,item_id", "u,v", "a,b"] {
        for name in ["start", "blockNumber", "turn_number", "round", "contact_start"] {
            for (kind, rises) in TIMES {
                let text = table(&format!("{ends},{name},amount"), |row, draw| {
                    let time = time_of(kind, row, draw);
                    format!("{},{},{time},{}", draw(0, 40), draw(1, 40), draw(2, 9))
                });
                let what = format!("{ends} {name} {kind}");
                let (src, dst) = ends.split_once(',').unwrap();
                if rises {
                    let expected = format!("{src} {dst} {name} amount - []");
                    assert_eq!(roles_of(&text).unwrap(), expected, "{what}");
                } else {
                    let (asked, confirm) = question_of(&text);
                    assert!(asked.contains(name), "{what}: {asked}");
                    let flags = format!("--src {src} --dst {dst} --time {name} --weight amount");
                    assert_eq!(confirm, flags, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_few_rows_out_of_order_do_not_make_a_block_a_feature() {
    let blocks = table("from,to,block_number,gas", |row, draw| {
        let late = if row % 40 == 39 { 5 } else { 0 };
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), 700 + row / 3 - late, draw(2, 900))
    });
    assert_eq!(roles_of(&blocks).unwrap(), "from to block_number - - [gas]");
}

#[test]
fn beside_a_time_what_rows_are_ordered_by_is_a_feature() {
    let text = table("src,dst,time,block", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), 1_600_000_000 + row, row / 5)
    });
    assert_eq!(roles_of(&text).unwrap(), "src dst time - - [block]");
    let dated = table("src,dst,col,round", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), day(row), draw(2, 90))
    });
    assert_eq!(roles_of(&dated).unwrap(), "src dst col - - [round]");
    let rising = table("src,dst,col,round", |row, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), row / 3, draw(2, 90))
    });
    assert!(question_of(&rising).0.contains("`round` could be the time as well"));
    // Roads between places have a start and a target, and no time.
    let roads = table("start,target,length", |_, draw| {
        format!("{},{},{}", draw(0, 30), draw(1, 30), draw(2, 900))
    });
    assert_eq!(roles_of(&roads).unwrap(), "start target - - - [length]");
    let counts = table("src,dst,num_rounds,start_lat", |_, draw| {
        format!("{},{},{},{}", draw(0, 30), draw(1, 30), draw(2, 20), draw(3, 90))
    });
    assert_eq!(roles_of(&counts).unwrap(), "src dst - - - [num_rounds start_lat]");
}

#[test]
fn numbers_that_rise_in_groups_are_asked_about() {
    let orders = table("src,dst,order_key", |row, draw| {
        format!("{},{},{}", draw(0, 30), draw(1, 30), 100 + row / 3)
    });
    assert_eq!(question_of(&orders).1, "--src src --dst dst --time order_key");
    // Rows sorted by source: what belongs to the source rises with it.
    let sorted = table("src,dst,index_of_bank", |row, draw| {
        format!("{},{},{}", row / 10, draw(1, 30), row / 50)
    });
    assert_eq!(roles_of(&sorted).unwrap(), "src dst - - - [index_of_bank]");
}

#[test]
fn rows_with_one_vertex_each_are_asked_about() {
    let readings = table("sensor_id,date,value", |row, draw| {
        format!("{},{},{}", draw(0, 40), day(row), draw(1, 9))
    });
    let (asked, confirm) = question_of(&readings);
    assert!(asked.contains("`value`") && asked.contains("one vertex"), "{asked}");
    assert_eq!(confirm, "--src sensor_id --dst value --time date");
    let visits =
        table("user_id,time", |row, draw| format!("{},{}", draw(0, 40), 1_600_000_000 + 60 * row));
    assert!(question_of(&visits).0.contains("`time`"));
    // Names of things are vertices, whatever they are called.
    let spent = table("customer,merchant_category,ts,amount", |row, draw| {
        let kind = ["food", "fuel", "fun", "rent"][draw(1, 4) as usize];
        format!("{},{kind},{},{}", draw(0, 40), 1_600_000_000 + 60 * row, draw(2, 900))
    });
    assert_eq!(roles_of(&spent).unwrap(), "customer merchant_category ts amount - []");
}
