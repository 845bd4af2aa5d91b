//! Joined: the tiles of one group, side by side in all its ranks.

use laptime_core::StageId;

use crate::communication::{Group, Meeting, Sample};
use crate::process::Process;
use crate::statistics::median;

/// A rank that kept less than this share of what others kept says too little to be laid beside them.
const FEWEST: f64 = 0.25;
/// A tile this many times as long as the step in the middle happened once: it says nothing about the others.
const ONCE: f64 = 20.0;

/// One rank of a group.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) rank: u32,
    pub(super) process: &'a Process,
    pub(super) group: &'a Group,
}

impl Member<'_> {
    /// What it did in a tile, seconds by stage; stages of the same number may have other names in other processes.
    pub(super) fn work<'b>(&'b self, meeting: &'b Meeting) -> impl Iterator<Item = (StageId, f64)> + use<'b> {
        let tick = self.tick();
        let worked = self.group.slots.stages().zip(meeting.work);
        worked.filter(|(_, ticks)| *ticks > 0.0).map(move |(stage, ticks)| (stage, f64::from(ticks) * tick))
    }

    /// The length of a tick, seconds.
    pub(super) fn tick(&self) -> f64 {
        self.process.timebase().ns_per_tick * 1e-9
    }
}

/// One tile: what all ranks of a group did between two moments at which they went on together.
#[derive(Clone)]
pub(super) struct Tile<'a> {
    /// The step it is in, by the count of the first rank.
    pub(super) step: u32,
    /// The fit of that step.
    pub(super) fit: u32,
    /// Its length, seconds.
    pub(super) length: f64,
    /// How long each rank stood still, seconds.
    pub(super) still: Vec<f64>,
    /// How long each worked, seconds.
    pub(super) worked: Vec<f64>,
    /// The shortest stay in the meeting: the transfer itself, seconds.
    pub(super) transfer: f64,
    /// How long all stayed in it, added up.
    pub(super) stays: f64,
    /// The same as it was kept, in the order of the members.
    pub(super) meetings: Vec<&'a Meeting>,
}

/// The ranks of a group and the tiles that all of them kept, in order.
pub(super) struct Joined<'a> {
    pub(super) members: Vec<Member<'a>>,
    pub(super) tiles: Vec<Tile<'a>>,
}

impl<'a> Joined<'a> {
    /// Lays the ranks of a group side by side; `None` where one is missing, for whom the others may have waited, or
    /// where fewer than two have anything in common.
    pub(super) fn of(members: &[Member<'a>]) -> Option<Self> {
        let world = members.first()?.group.facts.ranks.len();
        if members.len() < world {
            return None;
        }
        let counts: Vec<f64> = members.iter().map(|member| member.group.count as f64).collect();
        let least = FEWEST * median(&counts)?;
        let says = |member: &&Member<'_>| member.group.count as f64 >= least;
        let members: Vec<Member<'a>> = members.iter().filter(says).copied().collect();
        let level = members.iter().map(|member| member.group.sample.level).max()?;
        let first = members.first()?.group;
        let numbers = first.sample.kept.iter().map(|one| one.sequence);
        let found = |number: u32| {
            let kept = members.iter().map(|member| {
                let group: &'a Group = member.group;
                group.sample.find(number)
            });
            kept.collect::<Option<Vec<&'a Meeting>>>()
        };
        let all = numbers.filter(|number| Sample::has(*number, level)).filter_map(found);
        let tiles = all.map(|meetings| tile(&members, meetings)).collect();
        let mut joined = Self { members, tiles };
        joined.leave_out_what_happened_once();
        (joined.members.len() > 1 && !joined.tiles.is_empty()).then_some(joined)
    }

    /// The same of each fit, with its number.
    pub(super) fn by_fit(&self) -> Vec<(u32, Self)> {
        let fits = self.tiles.chunk_by(|a, b| a.fit == b.fit);
        let of = |tiles: &[Tile<'a>]| Self { members: self.members.clone(), tiles: tiles.to_vec() };
        fits.filter_map(|tiles| Some((tiles.first()?.fit, of(tiles)))).collect()
    }

    /// The longest tiles that all ranks kept, whatever their number.
    pub(super) fn longest(&self) -> Vec<Tile<'a>> {
        let Some(first) = self.members.first() else { return Vec::new() };
        let of = |member: &Member<'a>, number| {
            let group: &'a Group = member.group;
            group.sample.longest.iter().find(|one| one.sequence == number)
        };
        let all = first.group.sample.longest.iter().filter_map(|one| {
            self.members.iter().map(|member| of(member, one.sequence)).collect::<Option<Vec<_>>>()
        });
        all.map(|meetings| tile(&self.members, meetings)).collect()
    }

    /// The length of the step in the middle, as far as its tiles were kept; seconds.
    pub(super) fn usual_step(&self) -> f64 {
        let steps = self.tiles.chunk_by(|a, b| a.step == b.step);
        let lengths: Vec<f64> = steps.map(|step| step.iter().map(|tile| tile.length).sum()).collect();
        median(&lengths).unwrap_or(0.0)
    }

    /// Everything between the meetings of this group in its first rank, seconds.
    pub(super) fn covered_s(&self) -> f64 {
        self.members.first().map_or(0.0, |member| member.group.covered as f64 * member.tick())
    }

    fn leave_out_what_happened_once(&mut self) {
        let most = ONCE * self.usual_step();
        self.tiles.retain(|tile| tile.length <= most);
    }
}

fn tile<'a>(members: &[Member<'a>], meetings: Vec<&'a Meeting>) -> Tile<'a> {
    let seconds = |of: fn(&Meeting) -> f32| -> Vec<f64> {
        members.iter().zip(&meetings).map(|(member, one)| f64::from(of(one)) * member.tick()).collect()
    };
    let stays = seconds(|one| one.stay);
    Tile {
        step: meetings.first().map_or(0, |one| one.step),
        fit: meetings.first().map_or(0, |one| one.fit),
        length: median(&seconds(Meeting::length)).unwrap_or(0.0),
        still: seconds(|one| one.still),
        worked: seconds(Meeting::worked),
        transfer: stays.iter().copied().fold(f64::INFINITY, f64::min),
        stays: stays.iter().sum(),
        meetings,
    }
}
