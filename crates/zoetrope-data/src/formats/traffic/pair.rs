//! Which two files belong together: a square matrix and a table with as many columns.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::list;
use super::table::{self, is_csv};
use crate::error::{DataError, Location};
use crate::options::ReadOptions;
use crate::progress::Quiet;
use crate::regular_file;
use crate::source::{Source, bare_name};

/// Files beside the given one that are looked at.
const MOST_FILES: usize = 64;

/// The longest line looked at: any file may lie beside the given one, and a row of as many
/// numbers as the limit on columns allows is shorter.
const LONGEST_LINE_BYTES: u64 = 2 << 20;

/// The diagonals of larger matrices are not looked at: nothing else has as many rows as columns.
const MOST_DIAGONAL: usize = 64;

/// A matrix and its table.
pub(super) struct Pair {
    pub(super) adjacency: PathBuf,
    pub(super) values: PathBuf,
    pub(super) vertices: usize,
    /// Whether the edges stand in a list instead of a matrix.
    pub(super) list: bool,
    /// Whether the matrix has a row of names.
    pub(super) named: bool,
}

/// What the start of a file shows.
pub(super) struct Shape {
    pub(super) path: PathBuf,
    /// Columns of numbers: a time in front of them does not count.
    pub(super) columns: usize,
    /// The names of the columns, if the first row has them.
    pub(super) names: Option<Vec<String>>,
    /// Rows, counted no further than two more than there are columns.
    rows: usize,
    /// Whether every entry of the diagonal is the same.
    even_diagonal: bool,
}

impl Shape {
    /// Whether it has as many rows as columns, without a row of names or with one.
    pub(super) fn is_square(&self) -> bool {
        self.is_bare_square() || self.is_named_square()
    }

    fn is_bare_square(&self) -> bool {
        self.rows == self.columns
    }

    fn is_named_square(&self) -> bool {
        self.names.is_some() && self.rows == self.columns + 1
    }

    /// Whether a square is a matrix of a graph: by its name, or because each vertex has the same
    /// weight to itself. Five rows of five columns may be something else.
    pub(super) fn is_matrix(&self) -> bool {
        self.is_square()
            && self.columns >= super::LEAST_SENSORS
            && (self.sounds_like_matrix() || self.even_diagonal || self.columns > MOST_DIAGONAL)
    }

    /// Whether the name speaks of a matrix.
    fn sounds_like_matrix(&self) -> bool {
        let name = bare_name(&self.path).to_ascii_lowercase();
        let words = name.split(|c: char| !c.is_ascii_alphabetic());
        let hints = ["adj", "adjacency", "w", "dist", "distance", "distances", "weights"];
        words.into_iter().any(|word| hints.contains(&word))
    }
}

impl Pair {
    /// Finds the pair in a folder, or the partner of a file.
    ///
    /// # Errors
    /// [`DataError::Invalid`] if there is no such pair, or more than one.
    pub(super) fn find(path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let fail = |error| DataError::io(folder, error);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(fail)? {
            let file = entry.map_err(fail)?.path();
            if path.is_dir() && is_csv(&file) {
                regular_file::refuse_special(&file)?;
            }
            if file.is_file() && is_csv(&file) {
                files.push(file);
            }
        }
        files.sort();
        files.truncate(MOST_FILES);
        let mut shapes: Vec<Shape> =
            files.iter().filter_map(|file| probe(file, options).ok().flatten()).collect();
        if path.is_dir()
            && let Some(pair) = list::find(&files, &shapes, options)
        {
            return Ok(pair);
        }
        if !path.is_dir() {
            let Some(given) =
                shapes.iter().position(|shape| shape.path.file_name() == path.file_name())
            else {
                let expected = "a csv table of numbers";
                return Err(DataError::invalid(Location::file(path), expected, "something else"));
            };
            let columns = shapes[given].columns;
            if shapes.len() > 2 {
                shapes.retain(|shape| shape.columns == columns);
            }
        }
        choose(path, &shapes)
    }

    pub(super) fn reason(&self) -> String {
        if self.list {
            return format!(
                "{} lists edges between the {} columns of {}",
                bare_name(&self.adjacency),
                self.vertices,
                bare_name(&self.values)
            );
        }
        format!(
            "{} is a square matrix of {} rows and {} has as many columns",
            bare_name(&self.adjacency),
            self.vertices,
            bare_name(&self.values)
        )
    }
}

fn choose(path: &Path, shapes: &[Shape]) -> Result<Pair, DataError> {
    let mut pairs = Vec::new();
    let bare = shapes.iter().any(Shape::is_bare_square);
    let square = |shape: &&Shape| if bare { shape.is_bare_square() } else { shape.is_square() };
    for matrix in shapes.iter().filter(square) {
        let partners = shapes.iter().filter(|table| table.path != matrix.path);
        for table in partners.filter(|table| table.columns == matrix.columns) {
            pairs.push((matrix, table));
        }
    }
    // Two squares of one size: only their names can tell which is the matrix.
    if pairs.len() > 1 {
        pairs.retain(|(matrix, table)| matrix.sounds_like_matrix() && !table.sounds_like_matrix());
    }
    if let [(matrix, table)] = pairs[..] {
        return Ok(Pair {
            adjacency: matrix.path.clone(),
            values: table.path.clone(),
            vertices: matrix.columns,
            list: false,
            named: !matrix.is_bare_square(),
        });
    }
    Err(explain(path, shapes))
}

/// Why no two files fit, as precisely as two files allow.
fn explain(path: &Path, shapes: &[Shape]) -> DataError {
    if let [one, two] = shapes {
        let (matrix, table) = match (one.is_square(), two.is_square()) {
            (true, _) => (one, two),
            (false, true) => (two, one),
            _ if one.sounds_like_matrix() => (one, two),
            _ => (two, one),
        };
        if matrix.is_square() {
            let expected = format!("{} columns, one for each row of the matrix", matrix.columns);
            let at = Location::file(&table.path).line(1);
            return DataError::invalid(at, expected, table.columns.to_string());
        }
        let more = if matrix.rows > matrix.columns { "or more " } else { "" };
        let found = format!("{} {more}rows of {} cells", matrix.rows, matrix.columns);
        return DataError::invalid(Location::file(&matrix.path), "a square matrix", found);
    }
    let sizes: Vec<String> = shapes
        .iter()
        .map(|shape| format!("{} with {} columns", bare_name(&shape.path), shape.columns))
        .take(5)
        .collect();
    let found = if sizes.is_empty() {
        "0 tables of numbers".to_owned()
    } else {
        format!("{} tables of numbers that do not pair up ({})", shapes.len(), sizes.join(", "))
    };
    let expected = "one square matrix and one table with as many columns, both csv";
    DataError::invalid(Location::file(path), expected, found)
}

/// The number of columns and rows, or `None` if the file is no table of numbers.
pub(super) fn probe(path: &Path, options: &ReadOptions) -> Result<Option<Shape>, DataError> {
    let source = Source::open(path, &options.limits, &Quiet)?;
    let mut reader = BufReader::new(source);
    let mut shape =
        Shape { path: path.to_owned(), columns: 0, names: None, rows: 0, even_diagonal: true };
    let mut diagonal: Option<String> = None;
    let mut others = table::Others::default();
    let mut ahead: Vec<Vec<String>> = Vec::new();
    let mut first = Vec::new();
    let mut delimiter = b',';
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = reader.by_ref().take(LONGEST_LINE_BYTES);
        let read = limited.read_until(b'\n', &mut line);
        let read = read.map_err(|error| DataError::reading(path, error))?;
        if read == 0 {
            break;
        }
        if read as u64 == LONGEST_LINE_BYTES {
            return Ok(None);
        }
        let text = line.trim_ascii();
        if text.is_empty() || text[0] == b'#' {
            continue;
        }
        if shape.rows == 0 {
            delimiter = options.delimiter.unwrap_or_else(|| table::delimiter(text));
        }
        let wide = || text.iter().filter(|&&byte| byte == delimiter).count();
        if wide() >= options.limits.columns {
            return Ok(None);
        }
        if shape.rows == 0 {
            first = table::split(text, delimiter);
            shape.columns = first.len();
        } else if shape.rows == 1 {
            let cells = table::split(text, delimiter);
            others = table::Others::of(&first, Some(&cells));
            let named = table::is_header(&others, &first, Some(&cells));
            let (names, cells) = (others.sensors(&first), others.sensors(&cells));
            shape.columns = names.len();
            let numeric = cells.iter().filter(|cell| table::number(cell.as_bytes()).is_some());
            // A cell or two may be wrong, which reading will say; text throughout is no table.
            if shape.columns < 2 || 2 * numeric.count() < cells.len() {
                return Ok(None);
            }
            ahead.push(names.clone());
            shape.names = named.then_some(names);
        }
        if ahead.len() < shape.columns + 1 && shape.rows > 0 && shape.columns <= MOST_DIAGONAL {
            ahead.push(others.sensors(&table::split(text, delimiter)));
        }
        shape.rows += 1;
        if shape.rows > shape.columns + 1 {
            break;
        }
    }
    let start = usize::from(shape.is_named_square() && !shape.is_bare_square());
    for (at, row) in ahead.iter().skip(start).enumerate() {
        let Some(entry) = row.get(at) else { break };
        shape.even_diagonal &= diagonal.get_or_insert_with(|| entry.clone()) == entry;
    }
    shape.even_diagonal &= diagonal.is_some();
    Ok((shape.rows > 0).then_some(shape))
}
