//! A page or picture as a file.

use std::path::Path;

use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::screen::Screen;

/// Writes it and says where; `-` is standard output. `asked` is what failed where it cannot be written.
pub(crate) fn write_page(content: &str, path: &Path, asked: &str, screen: &Screen) -> Result<(), Failure> {
    if path == Path::new("-") {
        screen.show(content.trim_end());
        return Ok(());
    }
    keep(content, path, asked)?;
    screen.show(&format!("wrote {}   open it in a browser", shown_path(path)));
    Ok(())
}

/// Writes a picture and says where, besides what else is shown.
pub(crate) fn write_picture(content: &str, path: &Path, asked: &str, screen: &Screen) -> Result<(), Failure> {
    keep(content, path, asked)?;
    screen.note(&format!("wrote {}", shown_path(path)));
    Ok(())
}

fn keep(content: &str, path: &Path, asked: &str) -> Result<(), Failure> {
    let written = std::fs::write(path, content);
    written.map_err(|error| Failure::new(asked).because(format!("{error}: {}", path.display())))
}
