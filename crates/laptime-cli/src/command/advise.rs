//! `laptime advise`: what to change, measured.

mod loader;

use crate::Ending;
use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::screen::Screen;

pub(crate) fn run(args: &AdviseArgs, screen: &Screen) -> Result<Ending, Failure> {
    match args.loader.request(args.place.folder(), args.json) {
        Some(request) => loader::search(&request, screen),
        None => {
            Err(Failure::usage("nothing to advise on").hint("laptime advise --loader train.py:make_loader"))
        }
    }
}
