//! Tables with aligned columns.

use crate::terminal::{Style, columns};

/// On which side a column's texts are flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of texts under headings.
#[derive(Debug)]
pub(crate) struct Table {
    headings: Vec<String>,
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows; empty headings print no heading line.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self::with_headings(columns.iter().map(|&(heading, align)| (heading.to_owned(), align)))
    }

    /// The same with headings that are made at run time.
    pub(crate) fn with_headings(columns: impl IntoIterator<Item = (String, Align)>) -> Self {
        let (headings, align) = columns.into_iter().unzip();
        Self { headings, align, rows: Vec::new() }
    }

    /// Adds a row; missing texts at its end stay blank.
    pub(crate) fn row(&mut self, texts: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = texts.into_iter().collect();
        row.resize(self.headings.len(), String::new());
        self.rows.push(row);
    }

    /// The table with two blanks between columns and before the first.
    pub(crate) fn render(&self, style: Style) -> String {
        let width = |column: usize| {
            let texts = self.rows.iter().map(|row| columns(&row[column]));
            texts.chain([columns(&self.headings[column])]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        let line = |texts: &[String]| {
            let mut line = String::new();
            for ((text, &width), align) in texts.iter().zip(&widths).zip(&self.align) {
                let blanks = " ".repeat(width - columns(text));
                line.push_str("  ");
                match align {
                    Align::Left => line.extend([text.as_str(), &blanks]),
                    Align::Right => line.extend([blanks.as_str(), text]),
                }
            }
            format!("{}\n", line.trim_end())
        };
        let mut text = String::new();
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            let headings: Vec<String> =
                self.headings.iter().map(|heading| style.dim(heading)).collect();
            text.push_str(&line(&headings));
        }
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_left_and_numbers_right() {
        let mut table = Table::new(&[("name", Align::Left), ("edges", Align::Right)]);
        table.row(["a".into(), "1,000".into()]);
        table.row(["long".into(), "7".into()]);
        assert_eq!(table.render(Style::PLAIN), "  name  edges\n  a     1,000\n  long      7\n");
    }
}
