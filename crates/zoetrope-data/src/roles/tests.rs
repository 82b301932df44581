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
